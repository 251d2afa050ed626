"""`make docs` works in a fresh clone: the site builds in an environment with the extra `docs` and nothing else."""

import os
import subprocess
import sys
import venv

import pytest

from support.extras import ROOT

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The Python of a new environment into which `bygones[docs]` was installed, as the Makefile does it."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    executable = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    install = [str(executable), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    install += ["--constraint", "constraints.txt", "--editable", ".[docs]"]
    done = subprocess.run(install, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"pip cannot install the extra docs here: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    return executable


def test_the_site_builds_from_its_extra_alone(python, tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(python), "-m", "docs.site.build", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "reference" / "learn.html").exists()
    probe = "import importlib.util as util; print(util.find_spec('torch') or util.find_spec('pytest'))"
    assert subprocess.check_output([str(python), "-c", probe], text=True).strip() == "None", "nothing else is installed"
