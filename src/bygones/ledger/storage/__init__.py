"""Where a ledger is kept: tables, files and databases, and one transaction at a time."""
