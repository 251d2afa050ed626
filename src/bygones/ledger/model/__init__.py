"""The contents of a ledger, apart from their storage: events, rules, who takes part, and the fold over them."""
