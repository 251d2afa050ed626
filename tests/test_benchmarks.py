"""Benchmarks name what is missing instead of failing, and one extra brings everything that they compare with."""

import ast
import importlib
import subprocess
import sys
import types

import pytest
from benchmarks.peers import peer

from support.extras import EXTRAS, ROOT

NAMES = {
    "cvxpy": "cvxpy",
    "fairpyx": "fairpyx",
    "rejax": "rejax",
    "sbx": "sbx-rl",
    "stable_baselines3": "stable-baselines3",
}
"""The libraries that benchmarks compare with, and what brings them."""


def test_a_missing_peer_is_named(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "fairpyx", None)
    assert peer("fairpyx") is None
    printed = capsys.readouterr().err
    assert printed == "fairpyx is left out: fairpyx is not installed: pip install 'bygones[benchmarks]'\n"
    assert peer("json").dumps(1) == "1"


def test_the_extra_brings_every_peer():
    brought = " ".join([*EXTRAS["benchmarks"], *EXTRAS["parity"]])
    asked = set()
    for path in (ROOT / "benchmarks").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "peer":
                asked.add(node.args[0].value)
    assert asked == set(NAMES)
    for name in asked:
        assert NAMES[name] in brought


def test_a_benchmark_without_its_library_says_what_to_install():
    without = "import sys, runpy; sys.modules['fairpyx'] = None; runpy.run_module('benchmarks.fairpyx_chores')"
    done = subprocess.run([sys.executable, "-c", without], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == ("this benchmark needs fairpyx, which is not installed: pip install 'bygones[benchmarks]'\n")


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda path: path.stem)
def test_a_benchmark_uses_names_that_exist(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "bygones":
            for each in node.names:
                part = _imported(node.module, each.name)
                if isinstance(part, types.ModuleType):
                    modules[each.asname or each.name] = part
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            assert hasattr(modules[node.value.id], node.attr), f"{ast.unparse(node)} does not exist"


def _imported(module, name):
    inside = importlib.import_module(module)
    return getattr(inside, name) if hasattr(inside, name) else importlib.import_module(f"{module}.{name}")
