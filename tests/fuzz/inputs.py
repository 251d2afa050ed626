# ruff: noqa: E501 (lists of values)
"""What the fuzz gives to commands: a folder of files, good and bad, and values, likely and hostile."""

import os
from pathlib import Path

SECRET = "hunter2-geheim"
"""The password in every URL; it must never be seen again."""

TEXTS = (
    "", " ", "ana", "zed", "a", "A", "\x1b[31mred", "\x9b31m", "a\u202eb", "a\u200bb", "\ufeffa", "a\nb", "a\tb", "a\rb", "\x07",
    "[bold]x[/bold]", "[/]", "[link=x]", "=cmd()", "@x", "x" * 5000, "👩‍💻", "\udcff", "a\0b", "-", "--", "*", "[a", "%s", "{0}", "'", '"',
    "ana=1", "ana=nan", "ana=inf", "=1", "ana=\x1b[31m", "a,b", "team.db", "not a name", "C6", "c6", "welfare=nash", "hidden=[1]",
)  # fmt: skip
NUMBERS = (
    "0", "-0.0", "1", "2", "3", "7", "-1", "0.5", "1e-9", "5e-324", "1e308", "1.7976931348623157e308", "1e999", "-1e308", "inf",
    "-inf", "nan", "9007199254740993", "99999999999999999999", "9" * 5000, "1_000", "0x10", "٣", "½", "1,5", "", "one", "\x1b[31m",
    "2147483648", "4294967296", "9223372036854775807", "9223372036854775808", "100000000",
)  # fmt: skip
TIMES = (
    "2026-02-01", "2026-03-02T22:00+01:00", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "9999-12-31", "0001-01-01",
    "10000-01-01", "2026-02-30", "02.03.2026", "now", "inf", "nan", "1e308", "5", "-5", "", "99999999999999999999", "a\x1b[31mb",
)  # fmt: skip
DURATIONS = (
    "30d", "7d", "12h", "inf", "never", "0d", "-1d", "5e-324s", "1e308y", "1e9y", "nan", "d", "7", "1d,7d,inf", "7d,7d", ",", "",
    "1d," * 50, "3", "0.5", "1e-300d", "a\x1b[31mb",
)  # fmt: skip
WELFARES = (
    "egalitarian", "nash", "utilitarian", "alpha_fair(alpha=2)", "alpha_fair(alpha=1e308)", "alpha_fair(alpha=nan)",
    "alpha_fair(alpha=-1)", "generalized_gini", "power_burden(p=2)", "power_burden(p=1e308)", "log_nash(epsilon=0)", "nash(",
    "__import__('os')", "\x1b[31m", "",
)  # fmt: skip
URLS = (
    f"postgresql://u:{SECRET}@127.0.0.1:9/db", f"postgresqlx://u:{SECRET}@127.0.0.1:9/db", f"postgres://u:{SECRET}@127.0.0.1:x/db",
    f"postgresql://127.0.0.1:9/db?user=u&password={SECRET}", f"postgresql://127.0.0.1:9/db?user=u&pass%77ord={SECRET}",
    f"mysql://u:{SECRET}@127.0.0.1:9/db", f"http://u:{SECRET}@127.0.0.1:9/", "sqlite:///etc/passwd",
    "sqlite://", "sqlite:////etc/passwd", "sqlite:///team.db", "duckdb:///etc/passwd", "duckdb://", "://", "x://", "file:team.db",
    f"host=127.0.0.1 port=9 user=u password={SECRET}", f"postgresql://u:{SECRET} x@127.0.0.1:9/db", f"postgresql://u:{SECRET}@[::1/db",
    f"postgresql://u:%ZZ{SECRET}@127.0.0.1:9/db", f"snowflake://u:{SECRET}@h/db", f"sqlite:///x.db?password={SECRET}",
)  # fmt: skip
FILES = (
    "needs.csv", "items.csv", "rates.csv", "history.csv", "dated.csv", "requests.csv", "past.csv", "shares.csv", "matrix.csv",
    "team.db", "burdens.db", "damaged.db", "empty.csv", "header.csv", "binary.bin", "latin.csv", "nul.csv", "deep.json", "folder",
    "missing.csv", "strange.csv", "sacct.txt", "not.parquet", "broken.gz", "pipe", "/dev/null", "/dev/zero", "/etc/passwd", "*.csv",
    "[", "a\x1b[31mb.csv", "", "names\nin lines.csv",
)  # fmt: skip
OUTPUTS = (
    "out", "new.csv", "new.json", "new.html", "deep/er/new.csv", "team.db", "history.csv", "needs.csv", "folder", "/dev/null",
    "/dev/full", "", "x" * 300, "a\x1b[31mb.csv", "needs.csv/x.csv", "team.db-wal",
)  # fmt: skip


def _table(*lines: str) -> str:
    return "\n".join(lines) + "\n"


TABLES = {
    "needs.csv": _table("agent,need", "ana,1", "ben,2", "cem,0.5"),
    "items.csv": _table("agent,cake,tea", "ana,1,2", "ben,2,1", "cem,,1"),
    "rates.csv": _table("agent,rate,cap", "ana,1,5", "ben,2,", "cem,1,1"),
    "history.csv": _table(
        "agent,time,utility", *(f"{('ana', 'ben', 'cem')[i % 3]},{i},{1 + i % 4}" for i in range(12))
    ),
    "dated.csv": _table("agent,time,utility", *(f"{('ana', 'ben')[i % 2]},2026-01-{i + 1:02},{i}" for i in range(9))),
    "requests.csv": _table(
        "agent,time,need,served",
        *(f"{name},{i},{1 + i % 3},{int(name == 'ana')}" for i in range(4) for name in ("ana", "ben", "cem")),
    ),
    "past.csv": _table("ana,ben,cem", "1,2,3", "2,1,1", "1,,2"),
    "shares.csv": _table("agent,entitlement", "ana,1", "ben,2", "cem,1"),
    "matrix.csv": _table("0.5,0.2", "0.1,0.4"),
    "header.csv": _table("agent,need,time,utility"),
    "strange.csv": _table(
        "agent,need,time,utility", '"\x1b[31mred",1,1,1', '"=cmd()",1,2,1', '"a\u202eb",1,3,1', '"[bold]x",1,4,1'
    ),
    "sacct.txt": _table(
        "User|JobID|Submit|Start|End|AllocTRES|State",
        "ana|1|2026-01-01T00:00:00|2026-01-01T01:00:00|2026-01-01T02:00:00|cpu=2|COMPLETED",
    ),
    "names\nin lines.csv": _table("agent,need", "ana,1"),
    "a\x1b[31mb.csv": _table("agent,need", "ana,1"),
}
"""Tables by their names."""


def fill(folder: Path) -> None:
    """Makes the files that commands are given."""
    from bygones.ledger import Entry, Ledger, Rules

    for name, text in TABLES.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "empty.csv").write_bytes(b"")
    (folder / "binary.bin").write_bytes(bytes(range(256)) * 40)
    (folder / "latin.csv").write_bytes("agent,need\nJosé,1\n".encode("latin-1"))
    (folder / "nul.csv").write_bytes(b"agent,need\nan\0a,1\nben,\0\n")
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "not.parquet").write_bytes(b"PAR1 and nothing else PAR1")
    (folder / "broken.gz").write_bytes(b"\x1f\x8b\x08 and nothing else")
    (folder / "folder").mkdir()
    for name, kind in (("team.db", "good"), ("burdens.db", "burden")):
        welfare = "egalitarian"
        with Ledger.new(folder / name, Rules(kind=kind, welfare=welfare), began="2026-01-01") as ledger:
            ledger.join_all(["ana", "ben", "cem"], at="2026-01-01")
            ledger.record_all(
                [Entry(who, 1.0 + day % 3, f"2026-01-{2 + day:02}") for day, who in enumerate(["ana", "ben"] * 4)]
            )
            ledger.hold("cem", at="2026-01-20", note="ill")
    whole = (folder / "team.db").read_bytes()
    (folder / "damaged.db").write_bytes(whole[:5000] + bytes(3000) + whole[8000:])


def complete(folder: Path) -> None:
    """Makes what a copy of the folder lacks: a pipe that nobody writes to."""
    os.mkfifo(folder / "pipe")


WIDE = ",".join(f"c{i}" for i in range(1_000_000))
"""The header of a table with a million columns; in the corpus, a file of this name is it."""
