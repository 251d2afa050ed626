"""Results of runs: a folder of Parquet files with one row per run, to which any number of batches can be added.

A row holds the run's name (`grid.identity`), every setting, the final metrics (over the last 10% of episodes), thinned
curves, and the run's provenance: software, hardware, date, command, commit. The layout, and how it may grow without
losing old files, is `bygones.paper.columns`.

A batch is one file. It is written under another name and renamed once it is complete and on disk, so after a power cut
or a `kill -9` a batch is either there or not. One process at a time writes to a folder; a second one is refused. Files
have checksums, and the names of runs are computed again on reading, so damage is reported instead of read.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from bygones import __version__
from bygones._arrays import Json, check_one_of
from bygones._csv import shield
from bygones._files import UNFINISHED, replacing
from bygones._locks import locked
from bygones._registry import no_imports
from bygones._text import counted
from bygones.document.document import Answer, Cell, Column, Document, Table
from bygones.learn.settings import Settings
from bygones.paper import parquet
from bygones.paper.columns import CURVE_POINTS, CURVES, FORMAT, METRICS, SCHEMA, SETTINGS, WAYS, in_this_layout
from bygones.paper.grid import identities, identity, memory_label
from bygones.paper.provenance import Provenance

if TYPE_CHECKING:
    import pandas
    import polars

    from bygones.learn.evaluation import Played

GRID_COLUMNS = ("observation_scale", "welfare", "aggregation", "horizon", "gamma", "weight")
"""The settings that the paper's grid varies, in the order of tables."""

HEADINGS = {"observation_scale": "observation scale", "horizon": "T", "gamma": "memory", "weight": "λ"}
"""The headings of settings in tables, where these are not their names."""
_MEANS = {
    "final_gini": "Gini", "final_welfare": "fairness", "final_utility_per_step": "utility",
    "sampled_gini": "sampled", "deterministic_gini": "greedy",
}  # fmt: skip
"""The columns whose means a document shows, first of training, then of evaluation."""
_OF_TRAINING = "Gini, fairness score and utility per step are means over the last episodes of training."
_OF_THE_POLICY = "Sampled and greedy: the Gini of the trained policy with such actions."

SAME_RUNS = ("0.1", "0.2")
"""Versions whose runs are the same, seed by seed: the evidence was run before the number was raised to 0.2."""

_WRITING = "is writing to this folder: wait for it to finish or choose another folder"


@dataclass(frozen=True)
class RunResult:
    """The stored result of a run.

    Attributes:
        settings: the settings of the run.
        metrics: the final value of every metric in `METRICS`.
        curves: `steps`, and the values at these steps of every other curve in `CURVES`.
        seconds: how long the run took; in a batch, its share of the batch's time.
        stopped_at: the step at which the loss was no longer finite; None if it always was.
        played: the final policy's results in separate episodes; None if it played none.
    """

    settings: Settings
    metrics: Mapping[str, float]
    curves: Mapping[str, np.ndarray]
    seconds: float
    stopped_at: int | None = None
    played: Played | None = None


def thinned(curves: Mapping[str, np.ndarray], points: int = CURVE_POINTS) -> dict[str, np.ndarray]:
    """Curves of one entry per rollout, averaged over stretches: each episode counts once, NaN where none ended.

    Takes the `curves` of a `bygones.learn` result and returns the stored ones.
    """
    episodes = np.asarray(curves["episodes"])
    stretches = [s for s in np.array_split(np.arange(len(episodes)), points) if len(s)]
    thin: dict[str, np.ndarray] = {"steps": np.array([curves["steps"][s[-1]] for s in stretches], np.int32)}
    for name in CURVES:
        if name != "steps":
            sums = np.where(episodes > 0, np.asarray(curves[name], float) * episodes, 0.0)
            pairs = ((sums[s].sum(), episodes[s].sum()) for s in stretches)
            thin[name] = np.array([total / count if count else np.nan for total, count in pairs], np.float32)
    return thin


@dataclass(frozen=True, repr=False)
class Results(Answer):
    """A read-only table of runs.

    `results["final_gini"]` is a column, `results.where(gamma=1.0)` a subset of the runs.
    """

    table: pa.Table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __repr__(self) -> str:
        return f"<Results of {counted(len(self), 'run')}>"

    def document(self) -> Document:
        """Means over seeds, with one row for each combination of settings."""
        title = counted(len(self), "run")
        if not len(self):
            return Document(title, label="Results")
        settings = self.table.select([name for name in SETTINGS if name != "seed"]).to_pylist()
        cells: dict[tuple[str, ...], list[int]] = {}
        for run, row in enumerate(settings):
            cells.setdefault(tuple(map(setting_text, row.values())), []).append(run)
        order = [*GRID_COLUMNS, *(name for name in settings[0] if name not in GRID_COLUMNS)]
        varied = [name for name in order if len({setting_text(row[name]) for row in settings}) > 1]
        shown = [name for name in _MEANS if self._column(name).null_count < len(self)]
        metrics = [self[name].astype(float) for name in shown]
        rows = [
            [
                *(setting_cell(name, settings[runs[0]][name]) for name in varied),
                len(runs),
                *(float(values[runs].mean()) for values in metrics),
            ]
            for runs in sorted(cells.values(), key=lambda runs: [_sortable(settings[runs[0]][name]) for name in varied])
        ]
        shared = [f"{name}={setting_text(settings[0][name])}" for name in GRID_COLUMNS if name not in varied]
        note = " ".join([_OF_TRAINING, *([_OF_THE_POLICY] if "sampled_gini" in shown else [])])
        # On a narrow terminal the metrics give way before the settings, and the last settings before the first.
        ways = [len(shown) + len(varied) - j if j > 2 else 0 for j in range(len(varied))]
        columns = [
            *(Column(HEADINGS.get(name, name), way) for name, way in zip(varied, ways, strict=True)),
            Column("runs"),
            *(Column(_MEANS[name], len(shown) - j if j else 0) for j, name in enumerate(shown)),
        ]
        return Document(", ".join([title, *shared]), [Table("", columns, rows, note=note)], "Results")

    def __getitem__(self, name: str) -> np.ndarray:
        values: np.ndarray = self._column(name).to_numpy()
        return values

    def where(self, **wanted: Any) -> Results:
        """The runs whose columns have these values; a list, tuple, set or range matches any of its values.

        In a column of lists, such as `hidden`, a list is a single value.
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

    def finished(self) -> Results:
        """The runs whose loss was always finite; the others stopped early."""
        return Results(self.table.filter(pc.is_null(self._column("stopped_at"))))

    def cells(self) -> Iterator[tuple[Settings, Results]]:
        """The runs that differ only in their seeds, together, and the settings of the first of them."""
        places: dict[str, list[int]] = {}
        columns = [self.table.column(name).to_pylist() for name in SETTINGS if name != "seed"]
        for place, values in enumerate(zip(*columns, strict=True)):
            places.setdefault(repr(values), []).append(place)
        for together in places.values():
            runs = Results(self.table.take(together))
            yield Results(runs.table.slice(0, 1)).settings()[0], runs

    def distinct(self, name: str) -> list[Any]:
        """The distinct values of a column, sorted."""
        return sorted(set(self[name].tolist()))

    def curves(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The steps, and the curve of that name with one row per run.

        Raises:
            ValueError: the curves have different lengths, or there are no runs.
        """
        check_one_of("curve", name, [curve for curve in CURVES if curve != "steps"])
        steps = [tuple(row) for row in self["curve_steps"]]
        if len(set(steps)) != 1:
            raise ValueError(
                f"curves must all have the same length, got {len(set(steps))} lengths among {len(self)} runs"
            )
        return np.array(steps[0]), np.stack(list(self[f"curve_{name}"]))

    def settings(self) -> list[Settings]:
        """The settings of every run."""
        rows = self.table.select(list(SETTINGS)).to_pylist()
        with no_imports():
            return [Settings.from_dict({**row, "hidden": tuple(row["hidden"])}) for row in rows]

    def _column(self, name: str) -> pa.ChunkedArray:
        check_one_of("column", name, self.table.column_names)
        return self.table.column(name)

    def to_csv(self, path: Path) -> None:
        """Writes all columns except the curves as CSV; creates the folder if necessary."""
        flat = self.table.select([field.name for field in self.table.schema if not pa.types.is_list(field.type)])
        for i, field in enumerate(flat.schema):
            if pa.types.is_string(field.type):
                cells = [None if cell is None else shield(cell) for cell in flat.column(i).to_pylist()]
                flat = flat.set_column(i, field, pa.array(cells, field.type))
        with replacing(path) as file:
            pyarrow.csv.write_csv(flat, file)

    def to_pandas(self) -> pandas.DataFrame:
        """All columns as a pandas data frame; curves are one array per run.

        Raises:
            ImportError: pandas is not installed.
        """
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise ImportError("to_pandas needs pandas, which is not installed: pip install pandas") from None
        return self.table.to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """All columns as a Polars data frame; curves are one list per run.

        Raises:
            ImportError: Polars is not installed.
        """
        try:
            import polars
        except ImportError:
            raise ImportError("to_polars needs Polars, which is not installed: pip install polars") from None
        return polars.DataFrame(self.table)


def read(*places: Path | str) -> Results:
    """The results in these folders or files. If a run occurs twice, the first occurrence counts.

    If a folder itself holds no results, the folders directly below it are read: for `out/paper`, `out/paper/results`.
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


def _values(name: str, accepted: Collection[object], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(accepted, type=kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        values = ", ".join(map(repr, accepted))
        raise ValueError(f"{name} is a column of type {kind}, so it cannot be {values}") from None


def setting_text(value: object) -> str:
    """A setting as written on the command line."""
    return f"{value:g}" if isinstance(value, float) else (value if isinstance(value, str) else json.dumps(value))


def setting_cell(name: str, value: Any) -> Cell:
    """A setting in a table; weights and lists are exact, as on the command line."""
    if name == "gamma":
        return memory_label(value)
    return value if isinstance(value, int | str) else setting_text(value)


def _sortable(value: object) -> tuple[bool, Any]:
    return (value is None, str(value) if isinstance(value, list) or value is None else value)


def merge(places: Sequence[Path | str], out: Path | str, **wanted: object) -> Results:
    """Joins results, or those with the wanted values, into one file in a new folder."""
    results = read(*places).where(**wanted)
    _check_versions(results, "the results to merge")
    with writing(out) as writer:
        if writer.done:
            raise FileExistsError(errno.EEXIST, "already holds results; merge into a new folder", str(out))
        writer.add_table(results.table)
    return results


@dataclass
class ResultsWriter:
    """Adds batches of runs to a folder; created by `writing`."""

    folder: Path
    done: set[str]
    """The names of the runs in the folder."""

    def add(self, batch: Sequence[RunResult], provenance: Provenance) -> None:
        """Adds a batch as one file, completely or, if this raises, not at all."""
        finished = datetime.now(UTC).replace(microsecond=0)
        rows = [_row(run, provenance, finished) for run in batch]
        self.add_table(pa.Table.from_pylist(rows, schema=SCHEMA))

    def add_table(self, table: pa.Table) -> None:
        """Adds the rows of a table in the layout of this version."""
        names = table.column("run").to_pylist()
        repeated = self.done.intersection(names)
        if repeated or len(set(names)) != len(names):
            raise ValueError(
                f"a run can be written only once, got again: {', '.join(sorted(repeated) or _repeated(names))}"
            )
        batch = hashlib.sha256("".join(sorted(names)).encode()).hexdigest()[:12]
        _write_whole(self.folder / f"batch-{batch}.parquet", parquet.packed(table))
        self.done.update(names)


@contextlib.contextmanager
def writing(folder: Path | str) -> Iterator[ResultsWriter]:
    """A writer with exclusive access to a folder for the duration of a `with` block; creates the folder if necessary.

    Raises:
        BlockingIOError: another process is writing to the folder.
        ValueError: the folder holds results of another version, or a file that cannot be read.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".lock", folder, _WRITING):
        results = read(folder)
        _check_versions(results, str(folder))
        for pattern in (UNFINISHED, ".*.unfinished"):
            for unfinished in folder.glob(pattern):
                unfinished.unlink()
        yield ResultsWriter(folder, set(results["run"].tolist()))


def _write_whole(path: Path, content: Any) -> None:
    try:
        with replacing(path) as file:
            file.write(content)
    except OSError as error:
        reason = f"this batch could not be written ({error.strerror}); earlier batches are safe"
        raise OSError(error.errno, reason, str(path)) from error


def _read_file(path: Path) -> pa.Table:
    table = parquet.unpacked(path)
    layout = (table.schema.metadata or {}).get(b"bygones.format")
    if layout is None:
        raise ValueError(f"{path} is a Parquet file, but does not contain bygones results")
    if layout != str(FORMAT).encode():
        raise ValueError(
            f"{path} has layout {layout.decode(errors='replace')}, but this version of bygones reads layout {FORMAT}"
        )
    try:
        table = in_this_layout(table)
    except (ValueError, pa.ArrowException) as error:
        raise ValueError(f"{path} {error}") from None
    _check_names(path, table)
    return table


def _check_names(path: Path, table: pa.Table) -> None:
    """Refuses runs whose name does not follow from their settings: one of the two was changed."""
    expected = identities({name: table.column(name).to_pylist() for name in SETTINGS})
    for row, (name, right) in enumerate(zip(table.column("run").to_pylist(), expected, strict=True), start=1):
        if name != right:
            raise ValueError(
                f"{path}, row {row}: the run is named {name}, but its settings make it {right}; "
                "the file was changed: restore it, or move it away to continue without it"
            )


def _check_versions(results: Results, where: str) -> None:
    """Versions that may compute different results are not mixed: their major and minor numbers must agree."""
    own = _major_and_minor(__version__)
    same = SAME_RUNS if own in SAME_RUNS else (own,)
    for version in results.distinct("bygones"):
        if _major_and_minor(version) not in same:
            raise ValueError(
                f"{where} holds results of bygones {version}, but this is {__version__}: "
                "use that version or another folder"
            )


def _major_and_minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _row(run: RunResult, provenance: Provenance, finished: datetime) -> Json:
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
        "commit": provenance.commit,
        **(_played(run.played) if run.played else {}),
    }


def _played(played: Played) -> dict[str, float]:
    metrics = {f"{way}_{name}": float(getattr(played, way)[name]) for way in WAYS for name in METRICS}
    return {"evaluation_episodes": played.episodes, **metrics}


def _repeated(names: Sequence[str]) -> list[str]:
    return sorted(name for name in set(names) if names.count(name) > 1)
