"""Learning to allocate: PPO as one pure function, and what it has learned."""

from bygones.learn.many import cache_compilations, train_many
from bygones.learn.policy import Policy
from bygones.learn.runs import Progress, TrainResult, train, train_batch
from bygones.learn.settings import Settings

__all__ = [
    "Policy",
    "Progress",
    "Settings",
    "TrainResult",
    "cache_compilations",
    "train",
    "train_batch",
    "train_many",
]
