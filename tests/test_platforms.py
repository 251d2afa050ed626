"""Nothing needs POSIX without an alternative, and text is read and written as UTF-8 whatever the system prefers."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import bygones

SOURCES = sorted(Path(bygones.__file__).parent.rglob("*.py"))
MODULES = {"crypt", "curses", "fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"}
NAMES = {
    "os": {
        "O_CLOEXEC", "O_DIRECTORY", "O_DSYNC", "O_NOCTTY", "O_NOFOLLOW", "O_SYNC", "chown", "chroot", "confstr",
        "fchmod", "fchown", "fork", "forkpty", "geteuid", "getegid", "getgid", "getloadavg", "getpgid", "getuid",
        "killpg", "lchown", "mkfifo", "nice", "openpty", "pathconf", "posix_fadvise", "posix_spawn", "pread", "pwrite",
        "sched_getaffinity", "sched_setaffinity", "sendfile", "setsid", "setuid", "statvfs", "sync", "sysconf", "uname",
        "wait", "wait3", "wait4", "waitid",
    },
    "signal": {
        "SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGQUIT", "SIGSTOP", "SIGTSTP", "SIGUSR1", "SIGUSR2", "SIG_BLOCK",
        "SIG_SETMASK", "SIG_UNBLOCK", "alarm", "pause", "pthread_kill", "pthread_sigmask", "setitimer", "siginterrupt",
        "sigpending", "sigwait",
    },
    "time": {"clock_settime", "pthread_getcpuclockid", "tzset"},
}  # fmt: skip
"""What Python has on POSIX only."""
TESTS = ("os.name", "sys.platform", "hasattr(os,", "hasattr(signal,")
"""What a condition asks in order to find out where it runs."""
KNOWN_PATHS = {"/proc/cpuinfo", "/proc/self/maps", "/proc/self/mountinfo"}
"""Files of Linux that are read where they exist."""


def unguarded(source):
    """Uses of what only POSIX has, as `line: name`, unless a condition or an except clause allows for its absence."""
    return sorted(f"{line}: {name}" for line, name in _found(ast.parse(source), guarded=False))


def _found(node, guarded):
    if isinstance(node, ast.If | ast.IfExp) and any(test in ast.unparse(node.test) for test in TESTS):
        guarded = True
    if isinstance(node, ast.Try) and any("ImportError" in ast.unparse(h.type) for h in node.handlers if h.type):
        guarded = True
    if not guarded:
        yield from ((node.lineno, name) for name in _uses(node))
    # What follows `if not hasattr(signal, …): return` is guarded as well.
    body = getattr(node, "body", None)
    for child in ast.iter_child_nodes(node):
        later = isinstance(body, list) and child in body and _returned_before(body, body.index(child))
        yield from _found(child, guarded or later)


def _returned_before(body, index):
    return any(
        isinstance(each, ast.If)
        and any(test in ast.unparse(each.test) for test in TESTS)
        and isinstance(each.body[-1], ast.Return | ast.Raise)
        for each in body[:index]
    )


def _uses(node):
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name.partition(".")[0] in MODULES)
    elif isinstance(node, ast.ImportFrom) and node.module:
        if node.module in MODULES:
            yield node.module
        yield from (f"{node.module}.{a.name}" for a in node.names if a.name in NAMES.get(node.module, ()))
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        if node.attr in NAMES.get(node.value.id, ()):
            yield f"{node.value.id}.{node.attr}"
    elif isinstance(node, ast.Constant) and str(node.value).startswith(("/proc/", "/sys/", "/tmp")):
        yield from {str(node.value)} - KNOWN_PATHS


def test_nothing_needs_posix_without_an_alternative():
    found = {path.stem: unguarded(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert not {name: uses for name, uses in found.items() if uses}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import fcntl", ["1: fcntl"]),
        ("def f():\n    from fcntl import flock", ["2: fcntl"]),
        ("from os import fork", ["1: os.fork"]),
        ("import os\nos.fchmod(1, 2)", ["2: os.fchmod"]),
        ("os.kill(1, signal.SIGKILL)", ["1: signal.SIGKILL"]),
        ("open('/tmp/a')", ["1: /tmp/a"]),
        ("if sys.platform == 'win32':\n    import msvcrt\nelse:\n    import fcntl", []),
        ("try:\n    import resource\nexcept ImportError:\n    resource = None", []),
        ("try:\n    import resource\nexcept ValueError:\n    resource = None", ["2: resource"]),
        ("n = len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else 1", []),
        ("def f():\n    if not hasattr(signal, 'alarm'):\n        return\n    signal.alarm(1)", []),
        ("def f():\n    if x:\n        return\n    signal.alarm(1)", ["4: signal.alarm"]),
    ],
)
def test_the_walk_finds_what_it_looks_for(source, found):
    assert unguarded(source) == found


def without_encoding(source):
    """Calls that read or write text without saying how it is encoded, as lines."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or any(keyword.arg == "encoding" for keyword in node.keywords):
            continue
        method = node.func.attr if isinstance(node.func, ast.Attribute) else None
        if method == "read_text" or (method == "write_text" and len(node.args) < 2):
            yield node.lineno
        is_open = isinstance(node.func, ast.Name) and node.func.id == "open"
        owner = ast.unparse(node.func.value) if method == "open" else ""
        if is_open or (method == "open" and owner not in ("os", "Ledger", "gzip", "cls", "recording")):
            modes = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
            if not any("b" in mode for mode in modes[:2]):
                yield node.lineno


def test_text_has_an_encoding():
    found = {path.stem: list(without_encoding(path.read_text(encoding="utf-8"))) for path in SOURCES}
    assert not {name: lines for name, lines in found.items() if lines}


def test_calls_without_an_encoding_are_found():
    assert list(without_encoding("p.read_text()\nopen(p)\np.open('w')\np.write_text('a')")) == [1, 2, 3, 4]
    assert not list(without_encoding("p.read_text(encoding='utf-8')\nopen(p, 'rb')\nos.open(p, os.O_RDONLY)"))


def test_without_posix_files_are_written_and_a_folder_is_locked(tmp_path):
    """As on Windows, as far as that can be tried elsewhere: its lock is a stand-in that notes what is asked of it."""
    program = """
import multiprocessing.connection, os, signal, sys, types

for module, names in ((os, ["fchmod", "fchown", "O_NOFOLLOW", "O_CLOEXEC", "sched_getaffinity"]),
                      (signal, ["pthread_sigmask"])):
    for name in names:
        delattr(module, name)
asked, held = [], set()

def locking(descriptor, mode, count):
    where = (os.fstat(descriptor).st_ino, os.lseek(descriptor, 0, os.SEEK_CUR))
    asked.append((mode, count))
    if where in held:
        raise PermissionError(13, "Permission denied")
    held.add(where)

sys.modules["msvcrt"] = types.SimpleNamespace(locking=locking, LK_NBLCK=2)
sys.modules["fcntl"] = None
real, sys.platform = sys.platform, "win32"
import bygones._locks
sys.platform = real

from pathlib import Path
from bygones._files import replacing, write_text
from bygones.learn.processes import usable_cores
from bygones._locks import locked

write_text("a.txt", "first"); write_text("a.txt", "second")
print(Path("a.txt").read_text(encoding="utf-8"), usable_cores() > 0)
with locked(Path("lock"), Path("place"), "is writing"):
    try:
        with locked(Path("lock"), Path("place"), "is writing"):
            print("twice")
    except BlockingIOError as error:
        print(error.strerror.startswith(f"process {os.getpid()} on"), error.filename)
print(asked, Path("lock").read_text(encoding="utf-8") == "")
from bygones.ledger import Ledger, Rules
with Ledger.new("team.db", Rules(half_life="7d")) as ledger:
    ledger.join_all(["ana", "ben"])
    print(ledger.verify().problems)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "second True",
        "True place",
        "[(2, 1), (2, 1)] True",
        "()",
    ], done.stderr
