"""What all tests share: Hypothesis's profiles, the browser, and a place for compiled programs.

Programs that JAX compiles are kept for this process and those it starts, not for the tests beside it or the user: a
file that another is just writing is read as broken, with a warning.

Tables are as wide as they need to be, whatever terminal the tests run in: readline tells child processes its size.
"""

import atexit
import os
import shutil
import tempfile

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
