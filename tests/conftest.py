"""Hypothesis without deadlines or complaints of slowness, since no test asserts a time; in CI its examples are always
the same.

Mutation testing runs the tests a thousand times over, all in one process: it takes fewer examples, does not look for a
simpler one once a test has failed, and a test method called on several instances of its class is no accident there.

Programs that JAX compiles are kept for this process and those it starts, not for the tests beside it or the user: a
file that another is just writing is read as broken, with a warning.

The browser is for all tests that look at pages.
"""

import atexit
import os
import shutil
import tempfile

from hypothesis import HealthCheck, Phase, settings

from support.browser import chromium  # noqa: F401

_compiled = os.environ["JAX_COMPILATION_CACHE_DIR"] = tempfile.mkdtemp(prefix="bygones-compiled-")
atexit.register(shutil.rmtree, _compiled, ignore_errors=True)

settings.register_profile(
    "bygones",
    deadline=None,
    derandomize=os.environ.get("CI") == "true",
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "mutation",
    deadline=None,
    derandomize=True,
    max_examples=25,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors],
)
settings.load_profile(os.environ.get("BYGONES_HYPOTHESIS", "bygones"))
