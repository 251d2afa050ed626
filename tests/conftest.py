"""Hypothesis without deadlines, since no test asserts a time; in CI its examples are always the same.

Mutation testing runs the tests a thousand times over: it takes fewer examples.
"""

import os

from hypothesis import settings

settings.register_profile("bygones", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.register_profile("mutation", deadline=None, derandomize=True, max_examples=25)
settings.load_profile(os.environ.get("BYGONES_HYPOTHESIS", "bygones"))
