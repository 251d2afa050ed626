"""Permissions concern everybody but root, as whom tests may run."""

import os
from contextlib import contextmanager

NOBODY = 65534


@contextmanager
def without_privileges():
    """As somebody whom permissions concern."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)
