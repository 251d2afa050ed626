"""Which half-life and rule to choose, with reasons, from a history."""
