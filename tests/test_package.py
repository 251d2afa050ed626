"""What a newcomer relies on: light imports, one list of public names, a README and a citation that are true."""

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import bygones

ROOT = Path(__file__).parents[1]
HEAVY = ("jax", "torch", "matplotlib", "gymnasium", "scipy", "pandas", "tyro", "ibis", "duckdb", "plotly", "jinja2")


def test_importing_bygones_imports_nothing_heavy():
    code = "import sys, bygones; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not set(HEAVY) & set(modules)


def test_help_imports_nothing_heavy():
    code = "import sys, bygones.cli.program; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not (set(HEAVY) - {"tyro"}) & set(modules)


def test_every_public_name_exists_and_says_what_it_is():
    for name in bygones.__all__:
        value = getattr(bygones, name)
        assert name == "__version__" or value.__doc__


def test_the_version_is_said_once_and_the_same_everywhere():
    assert importlib.metadata.version("bygones") == bygones.__version__
    assert f"version: {bygones.__version__}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {bygones.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_example_in_the_readme_runs_as_it_says():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        assert len(block.strip().splitlines()) <= 15
        program, printed = block, re.findall(r"^print\(.*\)  # (.*)$", block, re.MULTILINE)
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines() == printed
        assert printed


def test_links_in_the_readme_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text()):
        assert target.startswith("http") or (ROOT / target).exists(), target
