"""Runs a command line in this process, in a fresh folder, and says what was wrong with how it ended."""

import io
import itertools
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from fuzz import inputs
from fuzz.generator import Case

SECONDS = 20
"""No input may take longer; a machine that is busy with other things still has room."""

LARGEST = 10**8
"""The most parameters of a network that training may be asked for."""

_CODES = (0, 1, 2)
_RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def fast_folder() -> str | None:
    """Where files cost no disk, if there is such a place."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class TooSlowError(BaseException):
    """An input took too long; not an Exception, so that no command catches it."""


class Harness:
    """A folder of files that every input gets a copy of."""

    def __init__(self, place: Path) -> None:
        self._template, self._folder = place / "template", place / "here"
        self._template.mkdir()
        inputs.fill(self._template)

    def problems(self, case: Case) -> list[str]:
        """What is wrong with how an input ended: nothing, if all is well."""
        shutil.rmtree(self._folder, ignore_errors=True)
        shutil.copytree(self._template, self._folder)
        inputs.complete(self._folder)
        for name, text in case.files.items():
            (self._folder / name).write_bytes(text.encode("utf-8", "surrogateescape"))
        streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
        with _in(self._folder), _alarm(), _short_cuts(), _streams(*streams):
            code, found = _run(case)
        out, err = (stream.buffer.getvalue().decode("utf-8", "replace") for stream in streams)
        found += [f"exit code {code}"] if code not in _CODES else []
        found += ["reported a bug"] if "this is a bug" in err or "Traceback" in out + err else []
        found += ["refused without a sentence"] if code == 2 and not _ends_in_a_sentence(err) else []
        is_export = case.words[:2] == ("ledger", "export")
        found += [f"printed {raw[0]!r}"] if (raw := _RAW.search(err + ("" if is_export else out))) else []
        found += ["showed a password"] if inputs.SECRET in out + err + self._written() else []
        found += _wrong_json(out) if code == 0 and "--json" in case.words and out.startswith(("{", "[")) else []
        return [f"{problem}: {(err.strip() or out)[-1500:]}" for problem in found]

    def _written(self) -> str:
        """Everything in files that were not there before."""
        new = (path for path in self._folder.rglob("*") if path.is_file())
        old = {path.name for path in self._template.iterdir()}
        return "".join(path.read_text("utf-8", "replace") for path in new if path.name not in old)


def _run(case: Case) -> tuple[Any, list[str]]:
    from bygones.cli import program

    try:
        program.main(list(case.words))
    except SystemExit as stop:
        return stop.code or 0, []
    except TooSlowError:
        return 0, [f"took longer than {SECONDS} seconds"]
    except BaseException as error:
        return 0, [f"raised {type(error).__name__}"]
    return 0, []


def _ends_in_a_sentence(err: str) -> bool:
    """Whether the last line is a sentence of ours; a progress bar may stand above it."""
    return err.endswith("\n") and err.splitlines()[-1].startswith("bygones: ")


def _wrong_json(out: str) -> list[str]:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        json.loads(out, parse_constant=refuse)
    except ValueError as error:
        return [f"printed invalid JSON ({error})"]
    return []


@contextmanager
def _in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def _alarm() -> Iterator[None]:
    def late(*_: object) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGALRM, late)
    # Again and again: a library may swallow the first.
    signal.setitimer(signal.ITIMER_REAL, SECONDS, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _streams(out: io.TextIOWrapper, err: io.TextIOWrapper) -> Iterator[None]:
    with (
        mock.patch.object(sys, "stdout", out),
        mock.patch.object(sys, "stderr", err),
        mock.patch.object(sys, "stdin", io.StringIO("")),
    ):
        yield


@contextmanager
def _short_cuts() -> Iterator[None]:
    """Training and drawing are not what is tried here, so they end where they would begin."""
    from matplotlib.figure import Figure

    from bygones._files import write_text
    from bygones.cli import learning_commands
    from bygones.leaderboard.players import settings_of
    from bygones.learn.descriptions import as_run

    def train(runs: Any, **_: object) -> None:
        for run in (as_run(each).settings for each in runs):
            sizes = [2 * run.n_agents + 1, *run.hidden, run.n_agents]
            assert sum(a * b for a, b in itertools.pairwise(sizes)) <= LARGEST, "too large to train"
        raise ValueError("training would begin here")

    def fill(folder: Path, wanted: Any, *_: object) -> None:
        train([settings_of(entry.player, entry.steps, entry.seed) for entry in wanted if entry.steps])

    def write(path: Path, *_: object) -> Path:
        write_text(path, "page")
        return path

    with (
        mock.patch.object(Figure, "savefig", lambda self, file, **_: file.write(b"figure")),
        mock.patch.object(learning_commands, "train_many", train),
        mock.patch("bygones.paper.run.execute", lambda runs, *_, **__: train(runs)),
        mock.patch("bygones.leaderboard.board.fill", fill),
        mock.patch("bygones.paper.run.estimate", return_value="soon"),
        mock.patch("bygones.report.paper.paper_page.write_report", write),
    ):
        yield
