"""What `make dist` builds: the same bytes each time, complete, and working where there is no checkout."""

import hashlib
import os
import subprocess
import sys
import tarfile
import zipfile

import pytest

import bygones
from support.extras import ROOT

pytestmark = pytest.mark.soak
BUILD = """
import os, sys
from hatchling import build
os.chdir(sys.argv[1])
build.build_wheel(sys.argv[2])
build.build_sdist(sys.argv[2])
"""
TRIAL = """
import bygones, pathlib
from bygones.cli.program import main
assert pathlib.Path(bygones.__file__).is_relative_to({site!r}), bygones.__file__
main(["decay", "--half-life", "7"])
main(["ledger", "new", "team.db", "--half-life", "7d"])
main(["ledger", "join", "team.db", "ana", "ben"])
main(["audit", "past.csv", "--half-life", "7d", "--page", "audit.html"])
main(["figure", "1"])
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Two folders with what was built, one after the other."""
    pytest.importorskip("hatchling", reason="hatchling is not installed (pip install 'bygones[dev]')")
    folders = [tmp_path_factory.mktemp("dist") for _ in range(2)]
    for folder in folders:
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
        command = [sys.executable, "-c", BUILD, str(ROOT), str(folder)]
        subprocess.run(command, check=True, capture_output=True, env=environment)
    return folders


def test_building_twice_gives_the_same_bytes(built):
    hashes = [{file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in there.iterdir()} for there in built]
    assert hashes[0] == hashes[1]
    assert {name.rpartition(".")[2] for name in hashes[0]} == {"whl", "gz"}


def test_the_wheel_has_everything_that_the_package_reads(built):
    (wheel,) = built[0].glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    package = ROOT / "src"
    sources = [path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert "bygones/py.typed" in names
    assert any(name.endswith(".html.jinja") for name in names)
    assert {path.relative_to(package).as_posix() for path in sources} <= names
    assert not any(name.startswith(("tests", "benchmarks", "evidence")) for name in names)


def test_the_sdist_has_the_evidence_and_the_tests(built):
    (sdist,) = built[0].glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "docs/install.md", "evidence/README.md"} <= names
    assert any(name.startswith("evidence/grid/none/") for name in names)
    assert "tests/test_dist.py" in names
    assert not any(".mypy_cache" in name or name.endswith(".pyc") for name in names)


def test_the_installed_package_works_outside_a_checkout(built, tmp_path):
    (wheel,) = built[0].glob("*.whl")
    site, folder = tmp_path / "site", tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "past.csv").write_text("agent,time,utility\nana,2026-03-01,8\nben,2026-03-05,6\n")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(site)]
    subprocess.run([*install, str(wheel)], check=True, capture_output=True)
    # The libraries are those of this environment; the package itself is the one that was just installed.
    environment = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, "-c", TRIAL.format(site=str(site))]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert (folder / "audit.html").stat().st_size > 100_000
    assert (folder / "out" / "figure-1.png").exists()
    script = [str(site / "bin" / "bygones"), "--version"]
    done = subprocess.run([sys.executable, *script], cwd=folder, capture_output=True, text=True, env=environment)
    assert done.stdout == f"bygones {bygones.__version__}\n"
    claims = [sys.executable, "-m", "bygones", "claims"]
    refused = subprocess.run(claims, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    assert refused.returncode == 2
    assert "it comes with the repository" in refused.stderr
