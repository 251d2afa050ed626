"""The actions on a ledger, one module for each kind."""
