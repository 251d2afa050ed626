"""How long an audit of many events takes, beside DuckDB's own plain GROUP BY over the same file in the same run.

python benchmarks/audit.py                                  # 100 million events of 10,000 agents
python benchmarks/audit.py --events 5000000 --repeats 5

Two threads, under 4 GB of memory: what the process ever held is in the last line. The file is made first, in a
temporary folder, and removed again. An audit reads the times and groups by agent and period, since it says what was
when. So it is set beside three plain queries: the sum by agent alone; the same with the latest time of each, which has
to read the times as well; and the sum by the audit's own agents and periods. Every figure is the best of the repeats,
taken in turns. Ratios are of processor time, since on a shared machine the wall clock counts other people's work.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from bygones.audit import audit, expression, read_history
from bygones.audit.sums import periods

YEAR = 365 * 86_400_000_000
BEGAN = 1_735_689_600_000_000
SETTINGS = {"threads": 2, "memory": "3GB"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000_000)
    parser.add_argument("--agents", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--file", type=Path, help="a file made earlier; kept")
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = said.file or Path(folder) / "rides.parquet"
        if not path.exists():
            make(path, said.events, said.agents)
        compare(path, said.repeats)


def make(path: Path, events: int, agents: int) -> None:
    """A year of rides in the order of time, as such files come."""
    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {SETTINGS['threads']}; SET memory_limit = '{SETTINGS['memory']}'")
        connection.execute(f"""
            COPY (
                SELECT 'driver ' || (hash(i) % {agents}) AS driver,
                       make_timestamp({BEGAN} + (i::DOUBLE / {events} * {YEAR})::BIGINT) AS at,
                       5 + (hash(i + {events}) % 4500)::DOUBLE / 100 AS fare
                FROM range({events}) AS rows (i)
            ) TO '{path}' (FORMAT parquet)
        """)


def compare(path: Path, repeats: int) -> None:
    history = read_history(path, agent="driver", time="at", utility="fare", **SETTINGS)
    plain = duckdb.connect()
    plain.execute(f"SET threads = {SETTINGS['threads']}; SET memory_limit = '{SETTINGS['memory']}'")
    cut = periods(history.clock, history.first, history.last, None)
    day = 86_400_000_000.0
    period = f'floor(({history.last} - epoch_us("at"))::DOUBLE / {cut.length})::INTEGER'

    def look(*half_lives: str) -> Callable[[], object]:
        def run() -> object:
            fresh = read_history(path, agent="driver", time="at", utility="fare", **SETTINGS)
            with fresh:
                return audit(fresh, half_lives)

        return run

    def ask(*half_lives: float) -> Callable[[], object]:
        return lambda: history.fetch(expression(history.events, cut, half_lives))

    tasks: dict[str, Callable[[], object]] = {
        "plain sum by agent": lambda: plain.sql(
            f"SELECT driver, sum(fare) FROM '{path}' GROUP BY driver"
        ).to_arrow_table(),
        "plain sum and latest time by agent": lambda: plain.sql(
            f"SELECT driver, sum(fare), max(\"at\") FROM '{path}' GROUP BY driver"
        ).to_arrow_table(),
        "plain sum by agent and period": lambda: plain.sql(
            f"SELECT driver, {period} AS period, sum(fare) FROM '{path}' GROUP BY ALL"
        ).to_arrow_table(),
        "the audit's expression, one half-life (7d)": ask(7 * day),
        "the audit's expression, four half-lives (1d, 7d, 30d, inf)": ask(day, 7 * day, 30 * day, float("inf")),
        "the whole audit, one half-life": look("7d"),
        "the whole audit, four half-lives": look("1d", "7d", "30d", "inf"),
    }
    wall, processor = dict.fromkeys(tasks, float("inf")), dict.fromkeys(tasks, float("inf"))
    for _ in range(repeats):
        for name, task in tasks.items():
            start, began = time.perf_counter(), time.process_time()
            task()
            wall[name] = min(wall[name], time.perf_counter() - start)
            processor[name] = min(processor[name], time.process_time() - began)
    by_agent, _, by_both, *_ = processor.values()
    print(f"{history.n_events:,} events, {cut.count} periods, {path.stat().st_size / 2**20:,.0f} MiB of Parquet")
    print(f"{'':<60} {'seconds':>9} {'processor':>10} {'× by agent':>11} {'× by agent and period':>22}")
    for name, seconds in processor.items():
        ratios = f"{seconds / by_agent:>11.2f} {seconds / by_both:>22.2f}"
        print(f"{name:<60} {wall[name]:>9.3f} {seconds:>10.3f} {ratios}")
    print(f"largest memory of the process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()
