"""How a ledger shows that it is what was recorded: hashes, draws, decisions made again, signed heads."""
