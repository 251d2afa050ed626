"""The runs of a leaderboard: every scenario, with every memory, played by every rule and learner, for several seeds.

An entry is one of these runs. It is plain text and numbers, so it names its row in the results, and a second call knows
which rows are missing. A player that does not use the memory has one entry, with the memory `none`.

Problems are imported when they are made, so the command line can list memories and sizes at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from bygones.envs.problem import FairProblem

WelfareName: TypeAlias = Literal["nash", "egalitarian", "utilitarian"]

NONE = "none"
MEMORIES: dict[str, Callable[[int], str]] = {
    NONE: lambda T: "instantaneous",
    "discounted T/50": lambda T: f"discounted(half_life={_part(T, 50)})",
    "discounted T/10": lambda T: f"discounted(half_life={_part(T, 10)})",
    "discounted T/2": lambda T: f"discounted(half_life={_part(T, 2)})",
    "window T/10": lambda T: f"sliding_window(length={_part(T, 10)})",
    "reset T/10": lambda T: f"reset(every={_part(T, 10)})",
    "perfect": lambda T: "perfect_recall",
}
"""The memories by name: none, three half-lives as parts of the episode, a window, a reset, and perfect recall."""


class BoardEntry(NamedTuple):
    """One run of the map."""

    scenario: str
    """The scenario with its parameters, such as `donut(horizon=100)`."""
    welfare: str
    memory: str
    """One of `MEMORIES`, or any other by its name."""
    player: str
    """A rule, with its length if it has one, or a learner, by its name in `bygones.leaderboard.players`."""
    steps: int
    """How many steps a learner learns from; 0 for a rule."""
    seed: int

    @property
    def world(self) -> str:
        """The scenario without its parameters."""
        return self.scenario.partition("(")[0]

    def problem(self) -> FairProblem:
        """The problem that is played and learned."""
        from bygones.envs import catalogue
        from bygones.envs.problem import FairProblem
        from bygones.memory import parse_memory

        world = catalogue.parse_scenario(self.scenario)
        named = MEMORIES.get(self.memory)
        memory = parse_memory(self.memory if named is None else named(world.horizon))
        return FairProblem(world, memory, welfare=self.welfare, observation_scale="expected")


class Size(NamedTuple):
    """How large a map is."""

    worlds: tuple[str, ...]
    """The scenarios; all if there are none."""
    learners: tuple[str, ...]
    """The learners; all if there are none. The rules are always there."""
    horizon: int | None
    """T of every scenario; None for the scenario's own."""
    steps: int
    seeds: int


SIZES = {
    "quick": Size(
        worlds=("donut", "job_scheduling", "lending", "queues", "allocation"),
        learners=("ppo", "ppo-symmetric"),
        horizon=100,
        steps=20_480,
        seeds=5,
    ),
    "full": Size(worlds=(), learners=(), horizon=None, steps=1_000_000, seeds=10),
}
"""Some minutes on two cores, and a day of them or a GPU."""


def scenarios(size: Size, names: Sequence[str] = ()) -> list[str]:
    """The scenarios of a map with their parameters: those that are named, or the size's."""
    from bygones.envs import catalogue

    return [_scaled(name, size.horizon) for name in names or size.worlds or catalogue.names()]


def check_entries(memories: Sequence[str], seeds: int, steps: int) -> None:
    """Refuses a leaderboard that cannot be played."""
    from bygones._arrays import check_count
    from bygones.memory import parse_memory

    for memory in memories:
        if memory not in MEMORIES:
            parse_memory(memory)
    check_count("seeds", seeds, most=1000)
    check_count("steps", steps)


def _scaled(name: str, horizon: int | None) -> str:
    """A scenario with that horizon, unless it has parameters already; whole weeks of the table that is replayed."""
    if horizon is None or "(" in name:
        return name
    return f"{name}(horizon={horizon - horizon % 7 if name == 'replay' else horizon})"


def _part(horizon: int, of: int) -> int:
    return max(1, round(horizon / of))
