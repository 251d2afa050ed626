"""Proofs that a ledger is unchanged: hashes, draws, decisions made again, signed heads."""
