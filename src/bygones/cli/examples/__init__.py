"""Example files by subject, which `bygones example` copies."""
