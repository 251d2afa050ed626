"""Hypothesis without deadlines, since no test asserts a time; in CI its examples are always the same.

Mutation testing runs the tests a thousand times over, all in one process: it takes fewer examples, does not look for a
simpler one once a test has failed, and a test method called on several instances of its class is no accident there.

The browser is for all tests that look at pages.
"""

import os

from hypothesis import HealthCheck, Phase, settings

from browser import chromium  # noqa: F401

settings.register_profile("bygones", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.register_profile(
    "mutation",
    deadline=None,
    derandomize=True,
    max_examples=25,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.differing_executors],
)
settings.load_profile(os.environ.get("BYGONES_HYPOTHESIS", "bygones"))
