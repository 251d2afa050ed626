"""Installs bygones into a fresh environment for each Python that is here, and tries it there: `make matrix`.

uv makes the environments where it is installed, and fetches Pythons that are missing; else `venv` and pip do. Extras to
install and try as well are arguments: `make matrix EXTRAS='figures audit'`, or `EXTRAS=all`.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
ROOT = Path(__file__).parents[2]
TRIAL = """
import bygones
from bygones.cli.program import main

memory = bygones.Discounted(half_life=7)
state = memory.update(memory.init(3), [8, 0, 0])
shift = bygones.ChooseK(needs=[5, 5, 5], k=2, kind="burden")
assert bygones.allocate(shift, memory, state, "egalitarian").served.tolist() == [1, 2]
main(["ledger", "new", "team.db", "--half-life", "7d"])
main(["ledger", "join", "team.db", "ana", "ben"])
main(["ledger", "verify", "team.db"])
"""

OF_EXTRAS = {
    "solvers": """
items = bygones.Assign([[1.0, 2.0], [3.0, 5.0]])
assert bygones.allocate(items, memory, memory.init(2), "nash").given.tolist() == [1, 0]
""",
    "figures": 'main(["figure", "1", "--out", "figures"])',
    "audit": """
open("past.csv", "w").write("agent,time,utility\\nana,2026-03-02,8\\nben,2026-03-03,2\\n")
main(["audit", "past.csv", "--page", "audit.html"])
""",
    "learn": 'main(["train", "--n-agents", "3", "--total-steps", "4096", "--hidden", "8", "--out", "learned"])',
    "envs": """
import bygones.envs, gymnasium
from gymnasium.utils.env_checker import check_env
check_env(gymnasium.make("bygones/Allocation-v0").unwrapped)
""",
    "sign": 'main(["ledger", "key", "new", "team.key"])',
}
"""What is tried of an extra; of the others, that they can be installed."""


def python_of(version: str) -> str | None:
    """The interpreter of a version, where it is on the path, in pyenv, or the one that runs this."""
    if f"{sys.version_info.major}.{sys.version_info.minor}" == version:
        return sys.executable
    # pyenv puts stand-ins on the path that work only for versions which are switched on.
    pyenv = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(f"versions/{version}.*/bin/python"))
    return str(pyenv[-1]) if pyenv else shutil.which(f"python{version}")


def tried(version: str, extras: Sequence[str]) -> str:
    """What came of one version, in a few words."""
    uv, python = shutil.which("uv"), python_of(version)
    if python is None and uv is None:
        return "not found (uv would fetch it)"
    what = f"{ROOT}[{','.join(extras)}]" if extras else str(ROOT)
    trial = "\n".join([TRIAL, *(of_it for extra, of_it in OF_EXTRAS.items() if extra in extras)])
    with tempfile.TemporaryDirectory() as folder:
        inside = Path(folder) / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
        if uv:
            make = [[uv, "venv", "--quiet", "--python", python or version, f"{folder}/venv"]]
            make += [[uv, "pip", "install", "--quiet", "--python", str(inside), what]]
        else:
            make = [[str(python), "-m", "venv", f"{folder}/venv"]]
            make += [[str(inside), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", what]]
        for command in [*make, [str(inside), "-c", trial]]:
            clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
            done = subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, check=False)
            if done.returncode and python is None and command is make[0]:
                return "not found, and uv could not fetch it"
            if done.returncode:
                return f"FAILED: {' '.join(command[:2])} …\n{done.stdout}{done.stderr}"
    return "works"


def main() -> None:
    """Tries every version, and fails if one of them does."""
    extras = list(OF_EXTRAS) if sys.argv[1:] == ["all"] else sys.argv[1:]
    outcomes = {}
    for version in VERSIONS:
        outcomes[version] = tried(version, extras)
        print(f"Python {version}: {outcomes[version]}", flush=True)
    if not any(outcome == "works" for outcome in outcomes.values()) or any("FAILED" in o for o in outcomes.values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
