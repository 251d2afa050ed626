"""What a newcomer relies on: light imports, one list of public names, and a README and a citation that are correct."""

import ast
import importlib
import importlib.metadata
import inspect
import pkgutil
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

import bygones

ROOT = Path(__file__).parents[1]
HEAVY = {
    "duckdb", "gymnasium", "ibis", "jax", "jinja2", "matplotlib", "pandas", "plotly", "pyarrow", "scipy",
    "sqlalchemy", "torch", "tyro",
}  # fmt: skip


def fresh(code):
    """What a program prints in a fresh interpreter."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_bygones_imports_nothing_heavy():
    assert not HEAVY & set(fresh("import sys, bygones; print(*sys.modules)").split())


def test_memories_and_welfare_need_numpy_only():
    code = "import sys, bygones; bygones.Discounted(gamma=0.5); bygones.nash([1, 2]); print(*sys.modules)"
    modules = set(fresh(code).split())
    assert "numpy" in modules
    assert not HEAVY & modules


@pytest.mark.parametrize(("missing", "lacks"), [((), set()), (("jax", "ibis"), {"evaluate", "read_history", "train"})])
def test_a_star_gives_every_name_that_works(missing, lacks):
    program = f"""if True:
        import sys
        sys.modules.update(dict.fromkeys({missing}))
        from bygones import *
        print(*dir())
    """
    assert set(bygones.__all__) - set(fresh(program).split()) == lacks


def test_help_imports_nothing_heavy():
    assert not (HEAVY - {"tyro"}) & set(fresh("import sys, bygones.cli.program; print(*sys.modules)").split())


@pytest.mark.parametrize("name", bygones.__all__)
def test_every_public_name_is_imported_on_first_use_and_documented(name):
    if name == "__version__":
        assert bygones.__version__
        return
    value = getattr(bygones, name)
    assert value.__doc__
    assert not (inspect.ismodule(value) and name in NAMES)
    assert value is getattr(bygones, name)


NAMES = [name for names in bygones._NAMES.values() for name in names]


def test_there_is_one_list_of_public_names():
    assert sorted(bygones.__all__) == sorted(set(bygones.__all__))
    modules = {path.stem for path in Path(bygones.__file__).parent.iterdir()}
    assert set(bygones.__all__) == {*NAMES, "__version__", *modules.intersection(bygones.__all__)}
    assert not modules & set(NAMES), "a name is both a module and something else"
    assert set(bygones.__all__) <= set(dir(bygones))


def test_no_name_is_both_a_module_and_something_else():
    """Or else `import bygones.allocation.pricing as pricing` would give what the package exports under that name."""
    packages = [
        importlib.import_module(each.name) for each in pkgutil.walk_packages(bygones.__path__, "bygones.") if each.ispkg
    ]
    assert len(packages) > 10
    for package in [bygones, *packages]:
        for module in pkgutil.iter_modules(package.__path__):
            assert isinstance(vars(package).get(module.name, package), types.ModuleType), (package, module.name)


def test_type_checkers_see_the_same_names():
    tree = ast.parse(Path(bygones.__file__).read_text())
    imports = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module not in ("typing", "bygones._parts")
    ]
    seen = [alias.name for node in imports for alias in node.names]
    assert sorted([*seen, "__version__"]) == sorted(bygones.__all__)
    homes = {alias.name: node.module for node in imports for alias in node.names}
    for module, names in bygones._NAMES.items():
        assert {homes[name] for name in names} == {f"bygones.{module}"}


def test_the_first_decision_needs_one_import():
    code = """
import bygones
memory = bygones.PerfectRecall()
state = memory.update(memory.init(3), [1, 0, 2])
print(bygones.allocate(bygones.ChooseK([1.0, 1.0, 1.0], k=1), memory, state, "egalitarian").served.tolist())
"""
    assert fresh(code) == "[1]\n"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("alocate", "; did you mean 'allocate'?"), ("Discount", "; did you mean 'Discounted'?"), ("xyzzy", "")],
)
def test_a_wrong_name_suggests_the_nearest(name, hint):
    with pytest.raises(AttributeError) as wrong:
        getattr(bygones, name)
    assert str(wrong.value) == f"module 'bygones' has no attribute {name!r}{hint}"
    assert not hasattr(bygones, name)


def test_python_adds_no_second_suggestion():
    code = "import bygones; bygones.alocate"
    error = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr
    assert error.lower().count("did you mean") == 1


def test_the_version_is_the_same_everywhere():
    assert importlib.metadata.version("bygones") == bygones.__version__
    assert f"version: {bygones.__version__}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {bygones.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_example_in_the_readme_prints_what_it_says():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        assert len(block.strip().splitlines()) <= 15
        program, printed = block, re.findall(r"^print\(.*\)  # (.*)$", block, re.MULTILINE)
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines() == printed
        assert printed


def test_links_in_the_readme_lead_somewhere():
    targets = re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text())
    assert targets
    for target in targets:
        assert target.startswith("http") or (ROOT / target).exists(), target
