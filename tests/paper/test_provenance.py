import importlib.util
import platform
import subprocess

import jax

from bygones.paper import provenance


def git(checkout, *arguments):
    names = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(checkout), *names, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_it_says_what_and_where():
    here = provenance.here("cpu", "bygones reproduce")
    assert here.command == "bygones reproduce"
    assert here.software["python"] == platform.python_version()
    assert set(provenance.PACKAGES) < set(here.software)
    assert here.hardware.endswith("cores")


def test_the_hardware_is_that_of_the_place():
    processor = provenance.hardware("cpu")
    assert provenance.hardware("ray") == f"Ray cluster, driven from {processor}"
    device = jax.devices()[0].device_kind
    assert provenance.hardware("accelerator") == f"{len(jax.devices())} × {device}, beside {processor}"


def test_the_command_is_this_process_own_by_default(monkeypatch):
    monkeypatch.setattr("sys.argv", ["/some/where/bygones", "reproduce", "--out", "my results"])
    monkeypatch.setattr("__main__.__spec__", None)
    assert provenance.here("cpu").command == "bygones reproduce --out 'my results'"


def test_a_module_is_named_as_it_is_run(monkeypatch):
    monkeypatch.setattr("sys.argv", ["/some/where/run.py", "--size", "paper"])
    monkeypatch.setattr("__main__.__spec__", importlib.util.find_spec("bygones.paper.run"))
    assert provenance.here("cpu").command == "python -m bygones.paper.run --size paper"


def test_the_commit_is_that_of_the_checkout(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "code.py").write_text("x = 1\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    head = git(tmp_path, "rev-parse", "HEAD")
    assert provenance.commit(tmp_path) == head
    (tmp_path / "results.txt").write_text("written by a run")
    assert provenance.commit(tmp_path) == head
    (tmp_path / "src" / "code.py").write_text("x = 2\n")
    assert provenance.commit(tmp_path) == f"{head}+changes"
    git(tmp_path, "checkout", "--quiet", "src")
    (tmp_path / "src" / "new.py").write_text("y = 1\n")
    assert provenance.commit(tmp_path) == f"{head}+changes"


def test_an_installed_package_has_no_commit(tmp_path, monkeypatch):
    git(tmp_path, "init", "--quiet")
    assert provenance.commit(tmp_path) is None  # nothing has been committed
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "first")
    installed = tmp_path / ".venv" / "lib" / "python3"
    installed.mkdir(parents=True)
    assert provenance.commit(installed) is None  # although a folder above is a checkout
    assert provenance.commit(tmp_path) is not None
    monkeypatch.setenv("PATH", "")
    assert provenance.commit(tmp_path) is None  # there is no git


def test_the_commit_is_kept_beside_what_is_computed():
    assert provenance.here("cpu", "x").commit == provenance.commit()
