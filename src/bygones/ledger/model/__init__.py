"""What a ledger says, apart from where it is kept: events, rules, who takes part, and the fold over them."""
