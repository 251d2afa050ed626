"""What all tests share: Hypothesis's profiles, the browser, and a place for compiled programs.

Programs that JAX compiles are kept for this process and those it starts, not for the tests beside it or the user: a
file that another is just writing is read as broken, with a warning. Too many at a time crash the process, so some are
let go between files.

Tables are as wide as they need to be, whatever terminal the tests run in: readline tells child processes its size.
"""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from support.browser import chromium  # noqa: F401
from support.examples import (  # noqa: F401
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_report_header,
    pytest_terminal_summary,
)

_compiled = os.environ["JAX_COMPILATION_CACHE_DIR"] = tempfile.mkdtemp(prefix="bygones-compiled-")
atexit.register(shutil.rmtree, _compiled, ignore_errors=True)
for _size in ("COLUMNS", "LINES"):
    os.environ.pop(_size, None)


@pytest.fixture(autouse=True, scope="module")
def _room_for_programs():
    """Lets go of compiled programs before the process has as many memory mappings as Linux allows: 65,530."""
    yield
    maps, jax = Path("/proc/self/maps"), sys.modules.get("jax")
    if jax is not None and maps.exists() and maps.read_bytes().count(b"\n") > 15_000:
        jax.clear_caches()
