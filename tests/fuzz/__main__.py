"""`python -m fuzz SEED NUMBER`, in `tests`: looks for inputs that fail, and prints each as an entry of the corpus."""

import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from fuzz.generator import cases
from fuzz.harness import Harness, fast_folder


def main() -> None:
    """Runs inputs, and prints those that fail as JSON lines, with the slowest commands at the end."""
    seed, number = int(sys.argv[1]), int(sys.argv[2])
    seconds: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(dir=fast_folder()) as folder:
        harness = Harness(Path(folder))
        for case in cases(seed, number):
            begun = time.perf_counter()
            problems = harness.problems(case)
            seconds[" ".join(case.words[:2] if case.words[0] == "ledger" else case.words[:1])] += (
                time.perf_counter() - begun
            )
            if problems:
                print(json.dumps({"words": case.words, "files": case.files, "why": problems[0]}))
    print({name: round(spent, 1) for name, spent in seconds.most_common(12)}, file=sys.stderr)


if __name__ == "__main__":
    main()
