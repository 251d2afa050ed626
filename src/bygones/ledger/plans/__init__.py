"""Dates ahead: plans, changes of plans, and the tables they are read from and written to."""
