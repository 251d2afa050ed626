"""No input, however bad, ends in a traceback, takes for ever, prints raw control characters or shows a password.

To find more, run `python -m fuzz SEED NUMBER` in `tests`: it prints what fails as entries for `corpus.json`.
"""

import tempfile
from pathlib import Path

import pytest

from fuzz.generator import Case, cases, commands, corpus
from fuzz.harness import Harness, fast_folder

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def harness():
    with tempfile.TemporaryDirectory(dir=fast_folder()) as folder:
        yield Harness(Path(folder))


def failures(harness, some):
    found = ((case, harness.problems(case)) for case in some)
    return [f"{case.words} {sorted(case.files)}: {problems}" for case, problems in found if problems]


def test_what_failed_once_fails_no_more(harness):
    assert not failures(harness, corpus())


def test_generated_inputs(harness):
    assert not failures(harness, cases(seed=13, number=100))


@pytest.mark.soak
def test_thousands_of_generated_inputs(harness):
    assert not failures(harness, cases(seed=3, number=3000))


def test_the_generator_knows_every_command():
    from bygones.cli.commands import PROGRAM

    assert {words[0] for words in commands()} == set(PROGRAM.commands)
    tried = [case.words for case in cases(seed=3, number=3000)]
    for words in commands():
        assert any(case[: len(words)] == words for case in tried), words


def test_the_same_seed_gives_the_same_inputs():
    assert list(cases(seed=1, number=50)) == list(cases(seed=1, number=50))


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("raise TypeError", "reported a bug"),
        ("raise KeyboardInterrupt", "exit code 130"),
        ("print('\\x1b[31m')", "printed '\\x1b'"),
        ("print('hunter2-geheim')", "showed a password"),
        ("while True: pass", "took longer"),
    ],
)
def test_the_harness_notices(harness, monkeypatch, code, problem):
    from bygones.cli import program

    monkeypatch.setattr("fuzz.harness.SECONDS", 0.2)
    monkeypatch.setattr(program, "_run", lambda words: exec(code))
    (found,) = harness.problems(Case(("decay",)))
    assert found.startswith(problem)
