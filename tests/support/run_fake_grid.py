"""Executes a small grid with the fake trainer, in processes or where the second word says: a program for tests to kill.

It heeds Ctrl-C even if it was started by something that does not, such as a job in the background of a shell.
"""

import os
import signal
import sys
from pathlib import Path

TESTS = str(Path(__file__).parents[1])
sys.path.insert(0, TESTS)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [TESTS, os.environ.get("PYTHONPATH")]))  # for Ray's workers

if __name__ == "__main__":
    from bygones.paper.grid import grid
    from bygones.paper.run import Stopped, execute
    from support import fake_trainer

    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder, on = sys.argv[1], (sys.argv[2:] or ["cpu"])[0]
    try:
        execute(grid("quick", seeds=4).runs(), folder, on=on, workers=2, trainer=fake_trainer.slow)
    except (OSError, ValueError, Stopped) as error:
        sys.exit(str(error))
