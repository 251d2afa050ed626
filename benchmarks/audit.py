"""The time of an audit of many events, compared with DuckDB's plain GROUP BY over the same file in the same run.

python -m benchmarks.audit                                  # 100 million events of 10,000 agents
python -m benchmarks.audit --events 5000000 --repeats 5
python -m benchmarks.audit --folder /tmp/rides              # made where it does not exist, and kept

Two threads, under 4 GB of memory: the last column is the most that the process held during a task. The events are made
first, in parts, in a temporary folder, and removed again. An audit reads the times and groups by agent and period,
since it reports amounts over time. So it is compared with three plain queries: the sum by agent alone; the same with
the latest time of each, which has to read the times as well; and the sum by the audit's own agents and periods ("by
both"). Times are the best of the repeats. Ratios are of processor time, since on a shared machine the wall clock counts
other people's work, and are medians over the repeats of the ratio within one: what else runs slows both.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
from rich.progress import track

from bygones.audit import audit, expression, read_history
from bygones.audit.measure.sums import periods

YEAR = 365 * 86_400_000_000
BEGAN = 1_735_689_600_000_000
SETTINGS = {"threads": 2, "memory": "3GB"}
PART = 5_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000_000)
    parser.add_argument("--agents", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the events are, or are made and kept")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        if not any(folder.glob("*.parquet")):
            make(folder, options.events, options.agents)
        compare(folder, options.repeats)


def make(folder: Path, events: int, agents: int) -> None:
    """A year of rides in the order of time, as such files come, in parts."""
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {SETTINGS['threads']}; SET memory_limit = '{SETTINGS['memory']}'")
        for first in track(range(0, events, PART), "Making events"):
            connection.execute(f"""
                COPY (
                    SELECT 'driver ' || (hash(i) % {agents}) AS driver,
                           make_timestamp({BEGAN} + (i::DOUBLE / {events} * {YEAR})::BIGINT) AS at,
                           5 + (hash(i + {events}) % 4500)::DOUBLE / 100 AS fare
                    FROM range({first}, {min(first + PART, events)}) AS rows (i)
                ) TO '{folder / f"part-{first // PART:04}.parquet"}' (FORMAT parquet)
            """)


def compare(folder: Path, repeats: int) -> None:
    history = read_history(folder, agent="driver", time="at", utility="fare", **SETTINGS)
    plain = duckdb.connect()
    plain.execute(f"SET threads = {SETTINGS['threads']}; SET memory_limit = '{SETTINGS['memory']}'")
    cut = periods(history.clock, history.first, history.last, None)
    day = 86_400_000_000.0
    rides, period = f"'{folder}/*.parquet'", f'floor(({history.last} - epoch_us("at"))::DOUBLE / {cut.length})::INTEGER'

    def look(*half_lives: str) -> Callable[[], object]:
        def run() -> object:
            fresh = read_history(folder, agent="driver", time="at", utility="fare", **SETTINGS)
            with fresh:
                return audit(fresh, half_lives)

        return run

    def ask(*half_lives: float) -> Callable[[], object]:
        return lambda: history.fetch(expression(history.events, cut, half_lives))

    def sql(query: str) -> Callable[[], object]:
        return lambda: plain.sql(query).to_arrow_table()

    tasks: dict[str, Callable[[], object]] = {
        "plain sum by agent": sql(f"SELECT driver, sum(fare) FROM {rides} GROUP BY driver"),
        "plain sum and latest time by agent": sql(f'SELECT driver, sum(fare), max("at") FROM {rides} GROUP BY driver'),
        "plain sum by agent and period": sql(f"SELECT driver, {period} AS period, sum(fare) FROM {rides} GROUP BY ALL"),
        "the audit's expression, one half-life (7d)": ask(7 * day),
        "the audit's expression, four half-lives (1d, 7d, 30d, inf)": ask(day, 7 * day, 30 * day, float("inf")),
        "the whole audit, one half-life": look("7d"),
        "the whole audit, four half-lives": look("1d", "7d", "30d", "inf"),
    }
    wall: dict[str, list[float]] = {name: [] for name in tasks}
    processor: dict[str, list[float]] = {name: [] for name in tasks}
    most = dict.fromkeys(tasks, 0.0)
    turns = [(name, task) for _ in range(repeats) for name, task in tasks.items()]
    for name, task in track(turns, "Measuring"):
        forget_peak()
        start, began = time.perf_counter(), time.process_time()
        task()
        wall[name].append(time.perf_counter() - start)
        processor[name].append(time.process_time() - began)
        most[name] = max(most[name], peak())
    by_agent, _, by_both, *_ = processor.values()
    size = sum(part.stat().st_size for part in folder.glob("*.parquet"))
    print(f"{history.n_events:,} events, {cut.count} periods, {size / 2**20:,.0f} MiB of Parquet")
    print(f"{'':<60} {'seconds':>9} {'processor':>10} {'× by agent':>11} {'× by both':>10} {'peak GB':>8}")
    for name, seconds in processor.items():
        ratios = f"{ratio(seconds, by_agent):>11.2f} {ratio(seconds, by_both):>10.2f}"
        print(f"{name:<60} {min(wall[name]):>9.3f} {min(seconds):>10.3f} {ratios} {most[name]:>8.2f}")


def ratio(seconds: list[float], others: list[float]) -> float:
    """The median of the ratios within each repeat."""
    return statistics.median(one / other for one, other in zip(seconds, others, strict=True))


def forget_peak() -> None:
    """Lets the kernel reset the largest memory of this process (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")


def peak() -> float:
    """The largest resident memory of this process since then, in GB."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e9


if __name__ == "__main__":
    main()
