"""The scenarios, one per file: see `bygones.envs.catalogue`."""
