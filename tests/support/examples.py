"""Which examples Hypothesis tries: a pytest plugin that `tests/conftest.py` takes up.

`BYGONES_HYPOTHESIS` chooses one of three profiles. None has deadlines or complains of slowness, since no test asserts a
time, and none keeps a database of examples, so a run never depends on the one before.

- `bygones`, the default: the same examples in every run.
- `explore` (`make explore`): ten times the examples of each test's own setting, from the seed that is given. The same
  seed gives the same examples, also to a test run alone.
- `mutation`: the tests run thousands of times, so they take fewer examples and do not look for a simpler one once a
  test has failed. mutmut runs them all in one process, where a test method called on several instances of its class
  is no accident.

Hypothesis also tries the constants of the modules imported so far, which depend on the tests that ran before and so,
with two workers, on chance. That is switched off.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, is_hypothesis_test, settings
from hypothesis.internal.conjecture import providers

TIMES = 10
PROFILE = os.environ.get("BYGONES_HYPOTHESIS", "bygones")
EXPLORES = PROFILE == "explore"

settings.register_profile(
    "bygones",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "explore",
    deadline=None,
    derandomize=False,
    database=None,
    print_blob=True,
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
settings.load_profile(PROFILE)

_no_constants = providers._local_constants
providers._get_local_constants = lambda: _no_constants


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to explore without a seed: each worker would draw its own, and nothing could be replayed."""
    if EXPLORES and config.option.hypothesis_seed is None:
        raise pytest.UsageError("exploring needs a seed: use `make explore`, or give --hypothesis-seed")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say the seed at the start."""
    return f"exploring with seed {config.option.hypothesis_seed}" if EXPLORES else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Take ten times the examples, also where a test sets their number itself."""
    if EXPLORES:
        # Cases of a parametrized test are one function, which is changed once.
        for test in {item.function for item in items if is_hypothesis_test(getattr(item, "obj", None))}:
            own = test._hypothesis_internal_use_settings
            test._hypothesis_internal_use_settings = settings(own, max_examples=TIMES * own.max_examples)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how to run each test that failed again."""
    failed = terminalreporter.getreports("failed") + terminalreporter.getreports("error")
    if EXPLORES and failed:
        terminalreporter.section("replay")
        for report in failed:
            terminalreporter.line(f"make explore SEED={config.option.hypothesis_seed} TEST='{report.nodeid}'")
        terminalreporter.line(
            "or put the @reproduce_failure that is printed with the failure above the test, and run the test alone"
        )
