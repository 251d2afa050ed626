"""Learning to allocate: PPO as one pure function, and trained policies.

The names below are looked up where they live when they are first used, so the settings of a run can be read without
JAX.
"""

from typing import TYPE_CHECKING

from bygones._parts import on_first_use

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

_NAMES = {
    "backends": ("cache_compilations", "train_many"),
    "evaluation": ("Evaluation", "evaluate"),
    "policy": ("TrainedPolicy",),
    "descriptions": ("Run",),
    "runs": ("RunProgress", "TrainResult", "train", "train_batch"),
    "settings": ("Settings",),
}
"""The module that defines each name."""

if not TYPE_CHECKING:
    # Type checkers read the imports above instead, and so report a name that does not exist.
    __getattr__ = on_first_use(__name__, _NAMES, "learn")
