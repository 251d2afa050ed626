"""Where the evidence is: the runs and measurements that the repository ships."""

from __future__ import annotations

from pathlib import Path

EVIDENCE = Path("evidence/grid")
"""The runs that the repository ships: one folder for each set of them."""


def evidence_folder() -> Path:
    """The folder of the shipped runs: in the current directory, or else in the checkout that this code is part of."""
    checkout = Path(__file__).parents[3] / EVIDENCE
    return checkout if checkout.is_dir() and not EVIDENCE.is_dir() else EVIDENCE
