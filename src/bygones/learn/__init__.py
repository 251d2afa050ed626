"""Learning to allocate: PPO as one pure function, and what it has learned."""

from bygones.learn.runs import Progress, TrainResult, train, train_batch
from bygones.learn.settings import Settings

__all__ = ["Progress", "Settings", "TrainResult", "train", "train_batch"]
