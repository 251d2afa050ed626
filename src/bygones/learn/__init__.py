"""Learning to allocate: PPO as one pure function, and what it has learned.

The names below are looked up where they live when they are first used, so that the settings of a run can be read
without JAX.
"""

import importlib
from typing import TYPE_CHECKING, Any

from bygones._parts import needed_by

if TYPE_CHECKING:
    from bygones.learn.backends import cache_compilations, train_many
    from bygones.learn.descriptions import Run
    from bygones.learn.evaluation import Evaluation, evaluate
    from bygones.learn.policy import TrainedPolicy
    from bygones.learn.runs import RunProgress, TrainResult, train, train_batch
    from bygones.learn.settings import Settings

__all__ = [
    "Evaluation",
    "Run",
    "RunProgress",
    "Settings",
    "TrainResult",
    "TrainedPolicy",
    "cache_compilations",
    "evaluate",
    "train",
    "train_batch",
    "train_many",
]

_HOMES = {
    "backends": ("cache_compilations", "train_many"),
    "evaluation": ("Evaluation", "evaluate"),
    "policy": ("TrainedPolicy",),
    "descriptions": ("Run",),
    "runs": ("RunProgress", "TrainResult", "train", "train_batch"),
    "settings": ("Settings",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            with needed_by(f"{__name__}.{name}", "learn"):
                return getattr(importlib.import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
