"""What a history would have been under another memory, rule or half-life."""
