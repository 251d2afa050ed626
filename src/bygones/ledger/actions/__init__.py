"""What can be done to a ledger, one module for each kind of action."""
