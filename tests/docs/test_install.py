"""The tables of `docs/install.md` are true: what each extra brings and weighs, and what each command imports."""

import importlib.metadata
import re
import shutil
import subprocess
import sys

import pytest

from bygones.cli.commands import PROGRAM
from support.extras import EXTRAS, ROOT, TOOLS, libraries, megabytes

PAGE = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
SIZES = {
    extra: (brought, float(size))
    for extra, brought, size in re.findall(r"^\| (\w+|`[\w-]+`) \| .* \| (.*) \| (\d+) \|$", PAGE, re.MULTILINE)
}
STARTS = re.findall(r"^\| `bygones (.*)` \| [\d.]+ \| (\d+) \| (.*) \|$", PAGE, re.MULTILINE)
LARGE = {
    "DuckDB": "duckdb", "Gymnasium": "gymnasium", "Ibis": "ibis", "JAX": "jax", "Jinja": "jinja2",
    "Matplotlib": "matplotlib", "NumPy": "numpy", "pandas": "pandas", "Plotly": "plotly", "PyArrow": "pyarrow",
    "PyTorch": "torch", "SciPy": "scipy", "SQLAlchemy": "sqlalchemy",
}  # fmt: skip
"""Large libraries, and their names in Python."""
DISTRIBUTIONS = {"Ibis": "ibis-framework", "Jinja": "jinja2", "PyTorch": "torch"}
"""Libraries whose name for pip is another."""


def test_every_extra_is_in_the_table():
    assert {extra.strip("`") for extra in SIZES} == {"none", *EXTRAS} - TOOLS


@pytest.mark.parametrize("extra", SIZES)
def test_an_extra_brings_and_weighs_what_the_table_says(extra):
    named, size = SIZES[extra]
    asked = () if extra == "none" else (extra.strip("`"),)
    try:
        measured = megabytes(*asked)
    except importlib.metadata.PackageNotFoundError as missing:
        pytest.skip(f"{missing.name} is not installed")
    assert size / 2 <= measured <= size * 2
    for name in named.split(", "):
        if name.startswith("`"):
            assert libraries(name.strip("`")) <= libraries(*asked)
        else:
            assert DISTRIBUTIONS.get(name, name).lower() in libraries(*asked)


def test_the_base_install_is_a_fraction_of_what_it_was():
    assert megabytes() < 531 / 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files that the commands of the table read."""
    there = tmp_path_factory.mktemp("starts")
    (there / "needs.csv").write_text("agent,need\nana,5\nben,5\n")
    (there / "past.csv").write_text("agent,time,utility\nana,2026-03-01,8\nben,2026-03-05,6\n")
    (there / "asked.csv").write_text("agent,time,need,served\nana,2026-03-01,5,1\nben,2026-03-01,5,0\n")
    (there / "matrix.csv").write_text("0.5,0.2\n0.1,0.4\n")
    (there / "evidence" / "grid").mkdir(parents=True)
    shutil.copytree(ROOT / "evidence" / "grid" / "tenth", there / "evidence" / "grid" / "tenth")
    for words in (["new", "team.db", "--half-life", "7d"], ["join", "team.db", "ana", "ben"]):
        subprocess.run([sys.executable, "-m", "bygones", "ledger", *words], cwd=there, check=True, capture_output=True)
    return there


def test_every_command_is_in_the_table():
    assert {command.split()[0] for command, *_ in STARTS} == {"--help", *PROGRAM.commands}


@pytest.mark.parametrize(("command", "modules", "named"), STARTS, ids=[command for command, *_ in STARTS])
def test_a_command_imports_what_the_table_says(folder, command, modules, named):
    program = f"""
import sys
from bygones.cli.program import main
try:
    main({command.split()!r})
except SystemExit:
    pass
print("imported", *sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, check=True, capture_output=True, text=True)
    imported = done.stdout.splitlines()[-1].split()[1:]
    assert int(modules) / 2 <= len(imported) <= int(modules) * 2
    wanted = set() if named == "none" else set(named.split(", "))
    # Gymnasium, where it is installed, is told about our environments by whoever imports `bygones.envs`.
    assert {name for name, module in LARGE.items() if module in imported} - {"Gymnasium"} == wanted
