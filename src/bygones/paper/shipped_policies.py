"""The trained policies that the repository ships: the cells of the paper that its argument rests on, ready to play.

Each was trained with the paper's settings and a horizon of 10,000, and plays as most seeds do. Its name has the welfare
function, the memory and, if it is not the paper's network, the network: `nash-perfect-recall`,
`egalitarian-discounted-symmetric`.
"""

from __future__ import annotations

from pathlib import Path

from bygones.learn.policy import TrainedPolicy
from bygones.learn.settings import Settings
from bygones.paper.evidence import evidence_folder

HORIZON = 10_000

GAMMAS = {"perfect-recall": 1.0, "discounted": 0.99}
"""γ of the memories by name."""

NAMES: dict[str, Settings] = {
    f"{welfare}-{memory}{'' if policy == 'mlp' else '-symmetric'}": Settings(
        gamma=gamma, welfare=welfare, policy=policy, horizon=HORIZON
    )
    for welfare in ("nash", "egalitarian")
    for memory, gamma in GAMMAS.items()
    for policy in ("mlp", "symmetric")
}
"""The settings that each policy was trained with, but for the seed, by its name."""


def file_of(name: str) -> Path:
    """The file of a shipped policy.

    Raises:
        ValueError: no policy with this name is shipped.
        FileNotFoundError: this installation has no shipped policies.
    """
    if name not in NAMES:
        raise ValueError(f"policy must be one of {', '.join(NAMES)}, got {name!r}")
    path = evidence_folder().parent / "policies" / f"{name}.safetensors"
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is missing: policies are shipped with the repository, so run this in a clone of it"
        )
    return path


def shipped_policy(name: str) -> TrainedPolicy:
    """A shipped policy, such as `shipped_policy("nash-perfect-recall")`.

    Raises:
        ValueError: no policy with this name is shipped.
        FileNotFoundError: this installation has no shipped policies.
    """
    return TrainedPolicy.load(file_of(name))
