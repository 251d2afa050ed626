"""Every agent's standing under every half-life, and which conclusions hold: the audit."""
