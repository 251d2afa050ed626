"""Policies that need no training, as they play in every scenario."""
