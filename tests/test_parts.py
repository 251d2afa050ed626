"""What is installed on request: the base install is enough for its part, and a missing part is named with its extra."""

import ast
import importlib.metadata
import sys
from pathlib import Path

import pytest

import bygones
from bygones._parts import LIBRARIES, missing, needed_by
from support.extras import EXTRAS, ROOT, command_with, libraries, modules, run_with

SOURCES = sorted(Path(bygones.__file__).parent.rglob("*.py"))
EVIDENCE = ROOT / "evidence" / "grid" / "tenth"
OWN = {"IPython", "pandas", "polars"}
"""Libraries of the caller's own: a notebook that shows things, tables to hand results over in. No extra brings them."""

NEEDED = {
    "bygones.allocation.solvers.": "solvers",
    "bygones.audit.": "audit",
    "bygones.cli.evaluation_commands": "learn",
    "bygones.cli.learning_commands": "learn",
    "bygones.cli.research.leaderboard_commands": "learn,report",
    "bygones.cli.research.reproduce_commands": "learn",
    "bygones.envs.functional": "learn",
    "bygones.envs.env": "envs",
    "bygones.envs.render": "envs",
    "bygones.envs.vector_env": "envs",
    "bygones.envs.view": "envs",
    "bygones.envs.separate": "multi-agent",
    "bygones.envs.wrappers": "envs",
    "bygones.envs.wrappers.marl": "jaxmarl",
    "bygones.envs.wrappers.parallel": "multi-agent",
    "bygones.envs.wrappers.turns": "multi-agent",
    "bygones.leaderboard.": "learn,report",
    "bygones.learn.": "learn",
    "bygones.learn.sb3": "sb3",
    "bygones.ledger.proof.signing": "sign",
    "bygones.paper.": "results",
    "bygones.paper.evaluated_policy": "learn",
    "bygones.paper.run": "learn,report",
    "bygones.pytrees": "learn",
    "bygones.report.figures.": "report",
    "bygones.report.page": "report",
    "bygones.report.paper.": "report",
    "bygones.scenario_policies.": "learn",
}
"""The extras that modules may need when they are imported, by the longest beginning of their name; others need none."""

NEED_NOTHING = {
    "bygones.allocation.solvers.carry", "bygones.allocation.solvers.choose", "bygones.allocation.solvers.divide",
    "bygones.allocation.solvers.enumerate", "bygones.allocation.solvers.whole", "bygones.audit.read.formats",
    "bygones.learn.descriptions", "bygones.learn.policy", "bygones.learn.settings", "bygones.paper.evidence",
    "bygones.paper.examples", "bygones.paper.grid", "bygones.report.paper.example_figures",
    "bygones.report.figures.newcomer_figures", "bygones.report.figures.plan_figures",
    "bygones.report.figures.policy_figures",
}  # fmt: skip
"""Modules below these beginnings that the base install can import all the same."""

IMPORT_ALL = """
import importlib
for name in {names!r}:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        print(name, "needs", error.name)
"""


def name_of(path):
    parts = path.relative_to(Path(bygones.__file__).parents[1]).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def needs_of(name):
    starts = [] if name in NEED_NOTHING else [start for start in NEEDED if name.startswith(start)]
    return NEEDED[max(starts, key=len)] if starts else ""


def skip_unless_installed(*extras):
    try:
        gone = sorted(name for name in libraries(*extras) if name not in modules())
    except importlib.metadata.PackageNotFoundError as missing:
        gone = [missing.name]
    if gone:
        pytest.skip(f"{', '.join(gone)} not installed")


NAMES = [name_of(path) for path in SOURCES if path.stem != "__main__"]


@pytest.mark.parametrize(
    "extras",
    [
        pytest.param(extras, marks=[pytest.mark.soak] if extras == "sb3" else [])
        for extras in sorted({"", *NEEDED.values()})
    ],
)
def test_modules_import_with_their_extra_alone(extras):
    asked = extras.split(",") if extras else []
    skip_unless_installed(*asked)
    names = [name for name in NAMES if needs_of(name) in ("", extras)]
    done = run_with(asked, IMPORT_ALL.format(names=names))
    assert (done.stdout, done.stderr) == ("", "")


def test_what_needs_nothing_is_there():
    assert set(NAMES) >= NEED_NOTHING
    for start in NEEDED:
        assert any(map(lambda name, start=start: name.startswith(start), NAMES)), start


def imported(path):
    """The libraries that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield str(node.module).partition(".")[0]


def test_every_library_comes_with_the_base_or_with_an_extra():
    base = set().union(*(modules()[name] for name in libraries()))
    known = base | OWN | set().union(*LIBRARIES.values()) | set(sys.stdlib_module_names) | {"bygones"}
    unknown = {f"{name_of(path)}: {library}" for path in SOURCES for library in imported(path) if library not in known}
    assert not unknown


@pytest.mark.parametrize("extra", LIBRARIES)
def test_an_extra_brings_what_it_is_said_to_bring(extra):
    assert extra in EXTRAS
    skip_unless_installed(extra)
    ours = set().union(*LIBRARIES.values())
    brought = set().union(*(modules()[name] for name in libraries(extra)))
    base = set().union(*(modules()[name] for name in libraries()))
    # What comes along without being asked for, such as Ray's jinja2, is nothing to rely on.
    assert LIBRARIES[extra] <= (brought & ours) - base


def test_the_first_extra_that_brings_a_library_is_the_smallest():
    for library in set().union(*LIBRARIES.values()):
        sizes = [len(libraries) for libraries in LIBRARIES.values() if library in libraries]
        assert sizes[0] == min(sizes), library


def test_old_names_of_extras_still_work():
    old = {
        "audit", "calendar", "dev", "envs", "jax", "learn", "ledger", "parity", "ray", "report", "sb3", "sign", "soak",
        "spark", "tensorboard", "wandb",
    }  # fmt: skip
    assert old <= set(EXTRAS)
    assert {"sqlalchemy", "psycopg", "scipy"} <= libraries("ledger")
    assert {"jax", "matplotlib", "pyarrow", "plotly"} <= libraries("learn", "report")


def test_the_base_install_decides_and_keeps_a_ledger(tmp_path):
    (tmp_path / "needs.csv").write_text("agent,need\nana,5\nben,5\ncem,5\n")
    (tmp_path / "past.csv").write_text("agent,time,utility\nana,2026-03-01,8\nben,2026-03-05,6\n")
    program = """
from bygones.cli.program import main
main(["decay", "--half-life", "7", "--json"])
main(["allocate", "needs.csv", "--history", "past.csv", "--half-life", "7", "--kind", "burden"])
main(["ledger", "new", "team.db", "--half-life", "7d"])
main(["ledger", "join", "team.db", "ana", "ben", "cem"])
main(["ledger", "decide", "team.db", "needs.csv"])
main(["ledger", "standing", "team.db"])
main(["ledger", "verify", "team.db"])
main(["simulate", "example-2"])
main(["table", "1"])
"""
    done = run_with([], program, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "no figure: drawing a figure needs matplotlib, which is not installed: pip install 'bygones[figures]'" in (
        done.stderr
    )
    assert "cem" in done.stdout


def test_a_plan_is_published_although_its_figure_cannot_be_drawn(tmp_path):
    (tmp_path / "people.csv").write_text("agent,need\nana,1\nben,1\n")
    program = """
from datetime import date, timedelta
from bygones.cli.program import main
main(["ledger", "new", "team.db", "--half-life", "7d"])
main(["ledger", "join", "team.db", "ana", "ben"])
first, last = (str(date.today() + timedelta(days=days)) for days in (2, 5))
main(["ledger", "plan", "team.db", "people.csv", "--from", first, "--until", last, "--publish"])
main(["ledger", "planned", "team.db", "--out", "plan.csv"])
"""
    done = run_with([], program, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "no figure" in done.stderr
    assert not list(tmp_path.glob("**/plan.png"))
    assert len((tmp_path / "plan.csv").read_text().splitlines()) == 1 + 3


def test_claims_and_results_need_no_jax(tmp_path):
    program = f"""
from bygones.cli.program import main
main(["claims", {str(EVIDENCE)!r}, "--why", "C1"])
main(["results", {str(EVIDENCE)!r}, "--csv", "runs.csv"])
"""
    done = run_with(["results"], program, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "C1" in done.stdout
    assert (tmp_path / "runs.csv").exists()


@pytest.mark.soak
def test_the_page_needs_no_jax(tmp_path):
    done = command_with(["report"], "report", EVIDENCE, "--out", "page.html", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "page.html").stat().st_size > 100_000


def sentence(what, library, extras):
    return f"{what} needs {library}, which is not installed: pip install 'bygones[{extras}]'"


COMMANDS = {
    (): [
        ("train", "this command", "jax", "learn"),
        ("evaluate x.safetensors", "this command", "jax", "learn"),
        ("reproduce", "this command", "jax", "learn,report"),
        ("claims", "this command", "pyarrow", "results"),
        ("report", "this command", "pyarrow", "report"),
        ("audit needs.csv", "this command", "pyarrow", "audit"),
        ("what-if needs.csv", "this command", "pyarrow", "audit"),
        ("figure 1", "drawing a figure", "matplotlib", "figures"),
        ("figure 3a", "a figure of results", "pyarrow", "figures,results"),
        ("leaderboard", "this command", "pyarrow", "learn,report"),
        ("advise needs.csv", "this command", "ibis", "audit"),
        ("allocate items.csv --half-life 7", "Assign", "scipy", "solvers"),
        ("ledger key new a.key", "this command", "cryptography", "sign"),
        ("ledger standing postgresql://host/name", "a ledger in PostgreSQL", "psycopg", "postgresql"),
    ],
    ("learn",): [
        ("reproduce", "this command", "pyarrow", "learn,report"),
        ("results x", "this command", "pyarrow", "results"),
    ],
    ("results",): [
        ("report", "this command", "jinja2", "report"),
        ("figure 3a", "drawing a figure", "matplotlib", "figures"),
        ("leaderboard", "this command", "jax", "learn,report"),
    ],
}
"""What commands say, by what is installed: the command, what needs a library, the library, the extras to install."""

REFUSED = """
from bygones.cli.program import main
for command in {commands!r}:
    try:
        main(command.split())
    except SystemExit as stop:
        print(stop.code)
"""


@pytest.mark.parametrize("installed", COMMANDS)
def test_a_command_names_the_extra_that_it_needs(tmp_path, installed):
    (tmp_path / "needs.csv").write_text("agent,time,utility\nana,2026-03-01,8\n")
    (tmp_path / "items.csv").write_text("agent,early,late\nana,5,1\nben,5,2\n")
    expected = [f"bygones: {sentence(*missing)}" for _, *missing in COMMANDS[installed]]
    done = run_with(installed, REFUSED.format(commands=[command for command, *_ in COMMANDS[installed]]), tmp_path)
    assert [line for line in done.stderr.splitlines() if line.startswith("bygones:")] == expected, done.stderr
    assert done.stdout.split() == ["2"] * len(expected)


NAMES_OF_PYTHON = {
    "bygones.train": ("bygones.learn.train", "jax", "learn"),
    "bygones.read_history": ("bygones.audit.read_history", "ibis", "audit"),
    "__import__('bygones.envs.wrappers')": ("bygones.envs.wrappers", "gymnasium", "envs"),
    "__import__('bygones.envs.separate').envs.separate": ("bygones.envs.separate", "gymnasium", "multi-agent"),
    "bygones.allocate(bygones.Assign([[1.0]]), M, M.init(1), 'nash')": ("Assign", "scipy", "solvers"),
    "bygones.Linear([[0.5]]).update(M.init(1), [1.0], elapsed=0.5)": (
        "a linear memory that fades over a fraction of a step",
        "scipy",
        "solvers",
    ),
}


@pytest.mark.parametrize("name", ["FairParallel", "FairAEC"])
def test_a_wrapper_for_many_agents_names_the_extra_that_it_needs(name):
    done = run_with(
        ["envs"], f"import bygones.envs.wrappers as w\ntry:\n    w.{name}\nexcept ImportError as e: print(e)"
    )
    assert done.stdout.splitlines() == [sentence(f"bygones.envs.wrappers.{name}", "pettingzoo", "multi-agent")], done


def test_a_name_or_function_names_the_extra_that_it_needs():
    program = f"""
import bygones
M = bygones.PerfectRecall()
for code in {list(NAMES_OF_PYTHON)!r}:
    try:
        eval(code)
    except ModuleNotFoundError as error:
        print(error)
"""
    done = run_with([], program)
    assert done.stdout.splitlines() == [sentence(*names) for names in NAMES_OF_PYTHON.values()], done.stderr


def test_what_is_missing_is_named_once_and_exactly():
    assert str(missing("A figure", "matplotlib.figure")) == (
        "A figure needs matplotlib, which is not installed: pip install 'bygones[figures]'"
    )
    assert str(missing("It", "unheard_of")) == "It needs unheard_of, which is not installed"
    assert str(missing("It", "unheard_of", "mine")).endswith("pip install 'bygones[mine]'")
    # Spark is no part of an audit of files.
    assert str(missing("It", "pyspark", "audit")).endswith("pip install 'bygones[spark]'")
    with (
        pytest.raises(ModuleNotFoundError, match=r"^inner needs scipy") as refused,
        needed_by("outer"),
        needed_by("inner"),
    ):
        raise ModuleNotFoundError("No module named 'scipy'", name="scipy.optimize")
    assert refused.value.name == "scipy.optimize"
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'mine'"), needed_by("outer"):
        raise ModuleNotFoundError("No module named 'mine'", name="mine")
