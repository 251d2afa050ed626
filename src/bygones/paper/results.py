"""What came out: a data set of Parquet files, one row per run, in a folder that any number of batches may add to.

A row holds the run's name (`grid.identity`), every setting, the final metrics (over the last 10% of episodes), thinned
curves, and where it came from: software, hardware, date, command. `bygones.paper.columns` is the layout.

A batch is one file, written beside its place and moved there when it is whole and on disk: after a power cut or a
`kill -9` a batch is there or it is not. One process at a time writes to a folder; a second is told so.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import socket
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from bygones import __version__
from bygones._arrays import Array, check_one_of
from bygones.learn.settings import Settings
from bygones.paper.columns import CURVE_POINTS, CURVES, FORMAT, METRICS, SCHEMA, SETTINGS
from bygones.paper.grid import identity
from bygones.paper.provenance import Provenance

EVIDENCE = Path("evidence/grid")
"""Where the runs lie that bygones ships: a folder for each set of them."""


@dataclass(frozen=True)
class RunResult:
    """What is kept of a run.

    Attributes:
        settings: what was run.
        metrics: the final value of everything in `METRICS`.
        curves: `steps` and the values at these steps of everything else in `CURVES`.
        seconds: the time it took; in a batch, its share of the batch's.
        stopped_at: the step at which the loss was no longer finite, None if it always was.
    """

    settings: Settings
    metrics: Mapping[str, float]
    curves: Mapping[str, Array]
    seconds: float
    stopped_at: int | None = None


def thinned(curves: Mapping[str, Array], points: int = CURVE_POINTS) -> dict[str, Array]:
    """Curves with one entry per rollout, cut into stretches: each episode counts once, NaN where none ended.

    Takes the `curves` of a `bygones.learn` result and gives those that are kept.
    """
    episodes = np.asarray(curves["episodes"])
    stretches = [s for s in np.array_split(np.arange(len(episodes)), points) if len(s)]
    thin = {"steps": np.array([curves["steps"][s[-1]] for s in stretches], np.int32)}
    for name in CURVES:
        if name != "steps":
            sums = np.where(episodes > 0, np.asarray(curves[name], float) * episodes, 0.0)
            pairs = ((sums[s].sum(), episodes[s].sum()) for s in stretches)
            thin[name] = np.array([total / count if count else np.nan for total, count in pairs], np.float32)
    return thin


@dataclass(frozen=True)
class Results:
    """A table of runs that is only read. `results["final_gini"]` is a column, `results.where(gamma=1.0)` a part."""

    table: pa.Table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __getitem__(self, name: str) -> Array:
        return self._column(name).to_numpy()

    def where(self, **wanted: Any) -> Results:
        """The runs whose columns have these values; a list, tuple, set or range accepts any of its values.

        Of a column of lists, such as `hidden`, a list is the one value that is accepted.
        """
        keep: Any = None
        for name, value in wanted.items():
            column = self._column(name)
            if pa.types.is_list(column.type):
                matches = pa.array([row is not None and row == list(value) for row in column.to_pylist()], pa.bool_())
            else:
                accepted = value if isinstance(value, Collection) and not isinstance(value, str) else [value]
                matches = pc.is_in(column, _values(name, accepted, column.type))
            keep = matches if keep is None else pc.and_(keep, matches)
        return self if keep is None else Results(self.table.filter(keep))

    def distinct(self, name: str) -> list[Any]:
        """The values of a column, each once, in order."""
        return sorted(set(self[name].tolist()))

    def curves(self, name: str) -> tuple[Array, Array]:
        """Steps, and one row per run of the curve of that name; runs of unequal length are refused."""
        check_one_of("curve", name, [curve for curve in CURVES if curve != "steps"])
        steps = [tuple(row) for row in self["curve_steps"]]
        if len(set(steps)) != 1:
            raise ValueError(f"curves must be of runs of equal length, at least one, got {len(set(steps))} lengths")
        return np.array(steps[0]), np.stack(list(self[f"curve_{name}"]))

    def settings(self) -> list[Settings]:
        """The settings of every run."""
        rows = self.table.select(list(SETTINGS)).to_pylist()
        return [Settings.from_dict({**row, "hidden": tuple(row["hidden"])}) for row in rows]

    def _column(self, name: str) -> pa.ChunkedArray:
        check_one_of("column", name, self.table.column_names)
        return self.table.column(name)

    def to_csv(self, path: Path) -> None:
        """Writes every column but the curves as CSV, into a folder that is made if need be."""
        path.parent.mkdir(parents=True, exist_ok=True)
        flat = self.table.select([field.name for field in self.table.schema if not pa.types.is_list(field.type)])
        pyarrow.csv.write_csv(flat, path)


def read(*places: Path | str) -> Results:
    """The results in these folders or files; where two hold the same run, the first named counts.

    Of a folder that holds none itself, those one level below are meant: of `out/paper` those in `out/paper/results`.
    """
    files: list[Path] = []
    for place in map(Path, places):
        if not place.exists():
            raise FileNotFoundError(errno.ENOENT, "no such file or folder of results", str(place))
        inside = sorted(place.glob("*.parquet")) or sorted(place.glob("*/*.parquet"))
        files += inside if place.is_dir() else [place]
    tables = [_read_file(file) for file in files]
    table = pa.concat_tables(tables) if tables else SCHEMA.empty_table()
    _, first = np.unique(table.column("run").to_numpy(), return_index=True)
    return Results(table.take(np.sort(first)))


def _values(name: str, accepted: Collection[Any], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(accepted, type=kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        said = ", ".join(map(repr, accepted))
        raise ValueError(f"{name} is a column of type {kind}, and cannot be {said}") from None


def evidence_folder() -> Path:
    """Where the shipped runs lie: beside where one stands, or else in the checkout that this code is part of."""
    checkout = Path(__file__).parents[3] / EVIDENCE
    return checkout if checkout.is_dir() and not EVIDENCE.is_dir() else EVIDENCE


def merge(places: Sequence[Path | str], out: Path | str, **wanted: Any) -> Results:
    """Joins results, or those with the wanted values, into one file of a new folder."""
    results = read(*places).where(**wanted)
    _check_versions(results, "the results to merge")
    with writing(out) as writer:
        if writer.done:
            raise FileExistsError(errno.EEXIST, "already holds results; merge into a new folder", str(out))
        writer.add_table(results.table)
    return results


@dataclass
class ResultsWriter:
    """Adds batches of runs to a folder; made by `writing`."""

    folder: Path
    done: set[str]
    """The names of the runs that the folder holds."""

    def add(self, batch: Sequence[RunResult], provenance: Provenance) -> None:
        """Adds a batch as one file: it is there as a whole, or, if this raises, not at all."""
        finished = datetime.now(UTC).replace(microsecond=0)
        rows = [_row(run, provenance, finished) for run in batch]
        self.add_table(pa.Table.from_pylist(rows, schema=SCHEMA))

    def add_table(self, table: pa.Table) -> None:
        """Adds the rows of a table that has the layout of this version."""
        names = table.column("run").to_pylist()
        repeated = self.done.intersection(names)
        if repeated or len(set(names)) != len(names):
            raise ValueError(f"a run is written once; {sorted(repeated) or names} would be there twice")
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        batch = hashlib.sha256("".join(sorted(names)).encode()).hexdigest()[:12]
        _write_whole(self.folder / f"batch-{batch}.parquet", sink.getvalue())
        self.done.update(names)


@contextlib.contextmanager
def writing(folder: Path | str) -> Iterator[ResultsWriter]:
    """The right to add to a folder, made if need be, for the length of a `with` block.

    Raises:
        BlockingIOError: another process is writing to it.
        ValueError: it holds results of another version, or a file that cannot be read.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        results = read(folder)
        _check_versions(results, str(folder))
        for unfinished in folder.glob(".*.unfinished"):
            unfinished.unlink()
        yield ResultsWriter(folder, set(results["run"].tolist()))


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Holds the folder's lock, which the system lets go of however the process ends."""
    import fcntl

    with (folder / ".lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "another process"
            raise BlockingIOError(
                errno.EWOULDBLOCK, f"being written to by {holder}: wait for it or choose another folder", str(folder)
            ) from None
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
        file.flush()
        yield
        file.truncate(0)


def _write_whole(path: Path, content: Any) -> None:
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        with unfinished.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.rename(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        reason = f"this batch could not be written ({error.strerror}); earlier batches are safe"
        raise OSError(error.errno, reason, str(path)) from error
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _read_file(path: Path) -> pa.Table:
    try:
        table = pq.read_table(path, partitioning=None)
    except (pa.ArrowInvalid, OSError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"{path} cannot be read as Parquet ({reason}); move it away to go on without it") from None
    said = (table.schema.metadata or {}).get(b"bygones.format")
    if said is None:
        raise ValueError(f"{path} is a Parquet file, but not of bygones results")
    if said != str(FORMAT).encode():
        raise ValueError(f"{path} has layout {said.decode()}, this version of bygones reads layout {FORMAT}")
    return table.select(SCHEMA.names).cast(SCHEMA)


def _check_versions(results: Results, where: str) -> None:
    """Results of versions that may differ in what they compute are not mixed: major and minor number must agree."""
    for version in results.distinct("bygones"):
        if version.split(".")[:2] != __version__.split(".")[:2]:
            raise ValueError(
                f"{where} holds results of bygones {version}, this is {__version__}: use that version or another folder"
            )


def _row(run: RunResult, provenance: Provenance, finished: datetime) -> dict[str, Any]:
    return {
        "run": identity(run.settings),
        **run.settings.to_dict(),
        **{f"final_{name}": float(run.metrics[name]) for name in METRICS},
        **{f"curve_{name}": run.curves[name] for name in CURVES},
        "stopped_at": run.stopped_at,
        "seconds": run.seconds,
        "bygones": __version__,
        "software": json.dumps(provenance.software, sort_keys=True),
        "hardware": provenance.hardware,
        "command": provenance.command,
        "finished": finished,
    }
