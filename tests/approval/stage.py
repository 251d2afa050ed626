"""A place where commands print the same every time: one folder, a clock that stands still, draws from a known seed.

`set_up` has to be called before anything of bygones is imported, since modules keep the names that they import.
Commands run in this process, through `bygones.cli.program.main`, so that nothing here knows how bygones is built.
"""

import contextlib
import csv
import datetime
import functools
import hashlib
import importlib
import io
import os
import re
import shlex
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

REPOSITORY = Path(__file__).parents[2]

NOW = "2026-11-18T09:00:00+00:00"
"""What the clock says at first; it goes on by one second with every command, and stands still while one runs."""

ENVIRONMENT = {
    "COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb", "TZ": "UTC", "LOGNAME": "approver", "MPLBACKEND": "agg",
    "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu",
}  # fmt: skip

FOREIGN = ("sqlalchemy", "pandas", "pyarrow", "duckdb", "ibis", "icalendar", "matplotlib.dates", "numpy")
"""What looks up values by their type, and has to do so by the real `datetime`."""

INNER = re.compile(r"\.db(-\w+)?$|(^|/)checkpoints/|\.lock$")
"""Files that are nobody's business but the program's."""

MACHINE = ("seconds", "bygones", "software", "hardware", "command", "finished", "commit")
"""The columns of a table of runs that say how and where each was made."""

TIMED = ("leaderboard.html",)
"""Pages that tell how long things took, in the midst of all else."""

LONGEST = 50_000
"""The most characters of a file that are recorded; the pages of experiments are longer."""

_DATETIME = datetime.datetime


class Output(NamedTuple):
    """How a command ended: its exit code, what it printed, and the files that it wrote, by their names."""

    code: int
    out: str
    err: str = ""
    files: tuple[tuple[str, str], ...] = ()


class _Clock:
    now = _DATETIME.fromisoformat(NOW)
    secrets = 0  # that were asked for since the clock was set


class _Instances(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _DATETIME)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, _DATETIME)


class _StandingStill(_DATETIME, metaclass=_Instances):
    """`datetime` with a clock that stands still; all that it makes are plain datetimes."""

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        return _DATETIME(*arguments, **named)

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Any:
        return _Clock.now.astimezone(tz) if tz else _Clock.now.replace(tzinfo=None)


def set_up() -> None:
    """Makes this process repeatable: environment, clock, secrets and draws; once, before bygones is imported."""
    if datetime.datetime is _StandingStill:
        return
    assert not any(name.partition(".")[0] == "bygones" for name in sys.modules), "bygones is imported already"
    for name in ("BYGONES_LEDGER", "BYGONES_AUTHOR", "PYTHONWARNINGS"):
        os.environ.pop(name, None)
    os.environ.update(ENVIRONMENT)
    for name in FOREIGN:
        importlib.import_module(name)
    _seed_draws()
    datetime.datetime = _StandingStill  # type: ignore[misc]


def _seed_draws() -> None:
    """Secrets follow from the time and from how many there were since; draws without a seed get one."""
    import secrets

    import numpy as np

    default_rng = np.random.default_rng

    def token_bytes(nbytes: int | None = None) -> bytes:
        _Clock.secrets += 1
        return hashlib.shake_256(f"{_Clock.now} {_Clock.secrets}".encode()).digest(nbytes or 32)

    secrets.token_bytes = token_bytes
    np.random.default_rng = lambda seed=None: default_rng(0 if seed is None else seed)


class Stage:
    """A folder in which commands are run one after the other."""

    def __init__(self, folder: Path, now: str = NOW) -> None:
        self.folder = folder
        self.set_clock(now)

    def set_clock(self, now: str) -> None:
        """Says what time it is."""
        _Clock.now, _Clock.secrets = _DATETIME.fromisoformat(now).replace(tzinfo=datetime.UTC), 0

    def run(self, words: Sequence[str]) -> Output:
        """What a command does to the folder and prints; the clock goes on by a second."""
        from bygones.cli import program

        with mock.patch.object(sys, "argv", ["bygones", *words]):
            output = self.call(lambda: program.main(list(words)))
        if words[:1] == ["leaderboard"]:  # the last column of its table is how long each took
            output = output._replace(out=re.sub(r"(?m)(?<=\d) +[\d.]+ *$", " …", output.out))
        self.set_clock(str(_Clock.now + datetime.timedelta(seconds=1)))
        return output

    def rehearse(self, words: Sequence[str]) -> Output:
        """What a command would print: it runs in a copy of the folder, and no time goes by."""
        return self.rehearse_all([words])[0]

    def rehearse_all(self, commands: Iterable[Sequence[str]]) -> list[Output]:
        """What commands would print, one after the other."""
        before, copy = _Clock.now, self.folder.with_name(f"{self.folder.name}-copy")
        shutil.copytree(self.folder, copy)
        try:
            stage = Stage(copy, str(before))
            return [stage.run(words) for words in commands]
        finally:
            self.set_clock(str(before))
            shutil.rmtree(copy)

    def call(self, action: Callable[[], object]) -> Output:
        """What some Python does to the folder and prints."""
        before = _stamps(self.folder)
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
        with (
            contextlib.chdir(self.folder),
            mock.patch.object(sys, "stdout", out),
            mock.patch.object(sys, "stderr", err),
            mock.patch.object(sys, "stdin", io.StringIO("")),
            mock.patch.object(sys, "path", [str(self.folder), *sys.path]),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            code = _code(action)
        printed = [self._masked(stream.buffer.getvalue().decode("utf-8", "replace")) for stream in (out, err)]
        return Output(code, *printed, tuple(self._written(before)))

    def _written(self, before: dict[str, tuple[int, int]]) -> Iterator[tuple[str, str]]:
        for name, stamp in _stamps(self.folder).items():
            if before.get(name) != stamp and not INNER.search(name):
                yield name, self._masked(_content(self.folder / name))[:LONGEST]

    def _masked(self, text: str) -> str:
        from bygones import __version__

        for path, name in ((self.folder, "<folder>"), (self.folder.parent, "<folders>"), (REPOSITORY, "<repository>")):
            text = text.replace(str(path), name)
        text = re.sub(r"(Traceback \(most recent call last\):\n)(?:[ \t].*\n)+", r"\1", text)
        text = re.sub(r'"seconds": [\d.e-]+', '"seconds": "…"', text)
        return text.replace(f"bygones {__version__}", "bygones <version>")


def command(words: Sequence[str]) -> str:
    """A command on one line, as one would type it."""
    return f"$ {shlex.join(['bygones', *words])}"


def has_json(words: Sequence[str]) -> bool:
    """Whether a command also prints JSON, and was not asked to."""
    name = words[: 1 if words[0] != "ledger" else 3 if words[1:2] == ["key"] else 2]
    return "--json" not in words and _help_has_json(tuple(name))


@functools.cache
def _help_has_json(name: tuple[str, ...]) -> bool:
    from bygones.cli import program

    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), contextlib.suppress(SystemExit):
        program.main([*name, "--help"])
    return "--json" in out.getvalue()


def _code(action: Callable[[], object]) -> int:
    try:
        action()
    except SystemExit as stop:
        return int(stop.code or 0)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return -1
    return 0


def _stamps(folder: Path) -> dict[str, tuple[int, int]]:
    """The size and time of every plain file, by its name."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns) for path in paths}


def _content(path: Path) -> str:
    """The text of a file, of a page only what can be read, and the checksum of networks; nothing of pictures."""
    if path.suffix == ".safetensors":
        content = path.read_bytes()
        networks = content[8 + int.from_bytes(content[:8], "little") :]  # behind the header, which names the time
        return f"networks {hashlib.sha256(networks).hexdigest()[:32]}"
    if path.suffix == ".csv":
        return _without_machine(path.read_text(encoding="utf-8", errors="replace"))
    if path.suffix in (".json", ".jsonl", ".ics", ".txt", ".pub"):
        return path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".html" and path.name not in TIMED:
        text = re.sub(r"(?s)<(script|style|svg)\b.*?</\1>", "", path.read_text(encoding="utf-8"))
        lines = (re.sub(r"\s+", " ", line).strip() for line in re.split(r"<[^>]*>", text))
        return "\n".join(line for line in lines if line)
    return ""


def _without_machine(table: str) -> str:
    """A table without what it says about the machine that wrote it."""
    rows = list(csv.reader(io.StringIO(table)))
    told = [i for i, name in enumerate(rows[0] if rows else ()) if name in MACHINE]
    if len(told) < len(MACHINE):
        return table
    return "\n".join(",".join("…" if i in told else cell for i, cell in enumerate(row)) for row in rows)
