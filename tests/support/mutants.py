"""How many small changes do the tests notice? Draws them at random beyond the mathematical core, and tries each.

    make mutants N=300 SEED=1

A mutant is the package with one change (see `support.mutations`). It is made in a temporary copy of `src/`, never in
the checkout, and is noticed if the tests of its area fail or run out of time. Test files that execute the changed line
run, the fastest first, until one fails. Which lines they execute, and how long they take, is measured before anything
is changed, when all must pass.

Every result is appended to `out/mutants.jsonl`. A mutant that is there already is not tried again: a run that was
interrupted goes on where it stood. To try again after tests were added, remove the lines of the mutants in question.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from subprocess import DEVNULL
from typing import NamedTuple

from coverage import CoverageData

from support.mutations import Change, places

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "bygones"
PYTEST = ("-m", "pytest", "-x", "-q", "-m", "not soak", "-p", "no:cacheprovider", "--tb=no")
AT_ONCE = 2
NO_TESTS = 5
"""Pytest's exit code where all tests of a file are long ones, which are left out."""
LONGEST = 600.0
"""Seconds that a test file may take without a change."""


class Area(NamedTuple):
    """Sources, and the tests that should notice a change in them."""

    sources: str
    tests: tuple[str, ...]


AREAS = {
    "learn/ppo.py": Area(
        "learn/ppo.py",
        (
            "learn/test_ppo.py",
            "learn/test_collect.py",
            "learn/test_runs.py",
            "parity/test_sb3_*.py",
        ),
    ),
    "learn/iterations.py": Area(
        "learn/iterations.py", ("learn/test_ppo.py", "learn/test_runs.py", "learn/test_dqn.py")
    ),
    "learn/rollouts.py": Area("learn/rollouts.py", ("learn/test_collect.py", "learn/test_ppo.py")),
    "learn/ggf_ppo.py": Area("learn/ggf_ppo.py", ("learn/test_ggf_ppo.py", "learn/test_learners.py")),
    "learn/recurrent": Area(
        "learn/recurrent*.py", ("learn/test_recurrent.py", "learn/test_learners.py", "parity/test_recurrent_torch.py")
    ),
    "learn/dqn.py": Area("learn/dqn.py", ("learn/test_dqn.py", "learn/test_learners.py", "parity/test_sb3_dqn.py")),
    "learn/reinforce.py": Area("learn/reinforce.py", ("learn/test_reinforce.py", "learn/test_learners.py")),
    "envs/functional.py": Area(
        "envs/functional.py",
        ("learn/test_environment.py", "learn/test_ppo.py", "learn/test_runs.py", "parity/test_environment.py"),
    ),
    "envs/episode.py": Area("envs/episode.py", ("envs/**/test_*.py", "parity/test_environment.py")),
    "allocation": Area(
        "allocation/**/*.py",
        ("allocation/test_*.py", "cli/test_cli_allocate.py", "cli/test_cli_needs.py", "test_cards.py"),
    ),
    "ledger": Area(
        "ledger/**/*.py",
        (
            "ledger/test_*.py",
            "cli/test_cli_ledger.py",
            "cli/test_cli_keeping.py",
            "cli/test_cli_plan.py",
            "cli/test_cli_revision.py",
            "test_cards.py",
        ),
    ),
    "audit": Area(
        "audit/**/*.py",
        (
            "audit/test_*.py",
            "cli/test_cli_audit.py",
            "cli/test_cli_advice.py",
            "cli/test_cli_explain.py",
            "test_cards.py",
        ),
    ),
}


class Mutant(NamedTuple):
    """A changed source."""

    area: str
    path: Path
    line: int
    kind: str
    source: bytes
    diff: str


class Measured(NamedTuple):
    """A test file without any change: how long it takes, and the lines that it executes in each source."""

    seconds: float
    lines: dict[str, set[int]]


def main() -> None:
    """Tries mutants until there are as many results as asked for, then counts."""
    parser = argparse.ArgumentParser(description="Try small random changes against the tests.")
    parser.add_argument("--number", type=int, default=300, help="how many mutants (default: 300)")
    parser.add_argument("--seed", type=int, default=1, help="which ones are drawn (default: 1)")
    parser.add_argument("--area", choices=sorted(AREAS), help="only of this area")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "mutants.jsonl", help="where results are kept")
    options = parser.parse_args()
    areas = {name: area for name, area in AREAS.items() if options.area in (None, name)}
    results = {result["diff"]: result for result in read(options.out)}
    mutants = list(drawn(areas, random.Random(options.seed), options.number))
    todo = [mutant for mutant in mutants if mutant.diff not in results]
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        tests = sorted({test for mutant in todo for test in tests_of(mutant.area)})
        known = dict(zip(tests, pool.map(measure, tests), strict=True))
        options.out.parent.mkdir(parents=True, exist_ok=True)
        for i, trial in enumerate(as_completed([pool.submit(attempt, mutant, known) for mutant in todo]), 1):
            result = trial.result()
            results[result["diff"]] = result
            with options.out.open("a") as file:
                print(json.dumps(result), file=file)
            print(f"{i}/{len(todo)} {result['outcome']} after {result['seconds']} s: {result['path']}", flush=True)
    finally:
        pool.shutdown(cancel_futures=True)
    print(summary([results[mutant.diff] for mutant in mutants]))


def read(path: Path) -> Iterator[dict[str, object]]:
    """The results so far."""
    if path.exists():
        yield from map(json.loads, path.read_text().splitlines())


def drawn(areas: dict[str, Area], rng: random.Random, number: int) -> Iterator[Mutant]:
    """Mutants in random order: places are drawn alike, and at each place one of the changes possible there."""
    found = [
        (name, path, place)
        for name, area in areas.items()
        for path in sorted(PACKAGE.glob(area.sources))
        for place in places(path.read_bytes())
    ]
    rng.shuffle(found)
    for name, path, place in found:
        change, before = rng.choice(place), path.read_bytes()
        if change.matters(before):
            line = before.count(b"\n", 0, change.start) + 1
            yield Mutant(name, path, line, change.kind, change.applied(before), difference(path, change))
            number -= 1
        if number == 0:
            return


def difference(path: Path, change: Change) -> str:
    """A change as a unified diff."""
    before = path.read_bytes()
    name = str(path.relative_to(ROOT))
    old, new = (source.decode().splitlines() for source in (before, change.applied(before)))
    return "\n".join(difflib.unified_diff(old, new, name, name, lineterm="", n=1))


def tests_of(area: str) -> list[str]:
    """The test files of an area."""
    tests = ROOT / "tests"
    return sorted({str(path.relative_to(ROOT)) for name in AREAS[area].tests for path in tests.glob(name)})


def measure(test: str) -> Measured:
    """A test file without a change; it must pass."""
    with scratch() as folder:
        outcome, seconds = run(folder, [test, "--cov=bygones", "--cov-report="], LONGEST)
        if outcome != "survived":
            raise SystemExit(f"{test} must pass without a change, but it failed or ran out of time: mend it first")
        print(f"{seconds:6.1f} s {test}", flush=True)
        executed = CoverageData(str(folder / "coverage"))
        executed.read()
        files = {str(Path(name).relative_to(folder / "src")): name for name in executed.measured_files()}
        return Measured(seconds, {path: set(executed.lines(name) or ()) for path, name in files.items()})


def attempt(mutant: Mutant, known: dict[str, Measured]) -> dict[str, object]:
    """What came of one mutant."""
    path = str(mutant.path.relative_to(PACKAGE.parent))
    all_tests = tests_of(mutant.area)
    # Lines that continue a statement are not counted as executed; then every test may notice.
    nearest = [test for test in all_tests if mutant.line in known[test].lines.get(path, ())] or all_tests
    tests = sorted(nearest, key=lambda test: known[test].seconds)
    with scratch() as folder:
        (folder / "src" / path).write_bytes(mutant.source)
        outcome, seconds = run(folder, tests, 60 + 3 * sum(known[test].seconds for test in tests))
    return {
        "area": mutant.area, "path": path, "kind": mutant.kind, "outcome": outcome, "seconds": seconds,
        "diff": mutant.diff,
    }  # fmt: skip


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder with a copy of `src/`; compiled files come along, and Python sees which source has changed."""
    with tempfile.TemporaryDirectory(prefix="bygones-mutant-", ignore_cleanup_errors=True) as folder:
        shutil.copytree(PACKAGE, Path(folder, "src", "bygones"))
        yield Path(folder)


def run(folder: Path, arguments: list[str], most_seconds: float) -> tuple[str, float]:
    """What tests make of the package in a scratch folder, and how long it took."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "COVERAGE_FILE": str(folder / "coverage"),
        "BYGONES_HYPOTHESIS": "mutation",
    }
    began = time.monotonic()
    outcome = outcome_of([sys.executable, *PYTEST, f"--basetemp={folder}/tests", *arguments], environment, most_seconds)
    return outcome, round(time.monotonic() - began, 1)


def outcome_of(command: list[str], environment: dict[str, str], most_seconds: float) -> str:
    """Noticed, survived, or out of time; whatever the tests started ends with them."""
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True
    )
    try:
        return "survived" if process.wait(most_seconds) in (0, NO_TESTS) else "noticed"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGINT)  # pytest then stops the servers that it started
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        return "out of time"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def summary(results: list[dict[str, object]]) -> str:
    """Counts for each area and kind of change, and the survivors as diffs."""
    lines = [f"{'':24}{'noticed':>9}{'out of time':>13}{'survived':>10}{'of':>6}"]
    for group in ("area", "kind"):
        lines += [_row(name, [r for r in results if r[group] == name]) for name in sorted({r[group] for r in results})]
    lines += [_row("all", results), ""]
    lines += [f"{result['diff']}\n" for result in results if result["outcome"] == "survived"]
    return "\n".join(lines)


def _row(name: object, results: list[dict[str, object]]) -> str:
    noticed, late, survived = (
        sum(result["outcome"] == outcome for result in results) for outcome in ("noticed", "out of time", "survived")
    )
    share = (noticed + late) / len(results)
    return f"{name!s:24}{noticed:>9}{late:>13}{survived:>10}{len(results):>6}  {share:.0%}"


if __name__ == "__main__":
    main()
