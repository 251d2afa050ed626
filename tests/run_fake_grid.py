"""Executes a small grid with the fake trainer in processes: a program for tests to kill."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

if __name__ == "__main__":
    import fake_trainer
    from bygones.experiments.grid import grid
    from bygones.experiments.run import Stopped, execute

    try:
        execute(grid("quick", seeds=4).runs(), sys.argv[1], on="cpu", workers=2, trainer=fake_trainer.slow)
    except (OSError, ValueError, Stopped) as error:
        sys.exit(str(error))
