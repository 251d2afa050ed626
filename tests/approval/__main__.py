"""`make approve`: whether commands print what they printed when the recordings were made.

python -m approval                    compares everything, and prints what differs; the exit code is 1 if anything does
python -m approval --accept           keeps what is printed now
python -m approval night-shifts       only the scenes whose names contain one of the words
"""

import argparse
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from approval import recordings, scenes


def main() -> None:
    parser = argparse.ArgumentParser(prog="approval", description=__doc__)
    parser.add_argument("scenes", nargs="*", help="words that the names of scenes contain; all scenes if left out")
    parser.add_argument("--accept", action="store_true", help="keep what is printed now")
    parser.add_argument("--jobs", type=int, default=1, help="scenes at a time")
    arguments = parser.parse_args()
    found, number = [], 0
    with ProcessPoolExecutor(arguments.jobs, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
        words = arguments.scenes or [""]
        wanted = [name for name in scenes.scenes() if any(word in name for word in words)]
        begun = time.monotonic()
        for name, entries in zip(wanted, pool.map(scenes.play, wanted), strict=True):
            number += len(entries)
            changed = list(recordings.differences(recordings.read(name), entries))
            print(
                f"{time.monotonic() - begun:4.0f} s  {name}: {len(entries)} outputs, {len(changed)} differ", flush=True
            )
            found += [(name, *each) for each in changed]
            if arguments.accept:
                recordings.write(name, entries)
    print(f"{number} outputs, {len(found)} differ{' and were accepted' if arguments.accept and found else ''}")
    if found and not arguments.accept:
        print(*recordings.report(recordings.grouped(found)), sep="\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
