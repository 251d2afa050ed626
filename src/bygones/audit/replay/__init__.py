"""Replays of a history under another memory, rule or half-life."""
