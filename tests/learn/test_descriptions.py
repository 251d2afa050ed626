"""Problems of one's own: any memory, welfare and needs are learned, written down, and told apart."""

from __future__ import annotations

import dataclasses
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

from bygones import (
    Discounted,
    Instantaneous,
    Linear,
    Multiscale,
    PerAgent,
    PerfectRecall,
    Relative,
    Reset,
    SlidingWindow,
    memory,
)
from bygones._arrays import Array, Number, namespace
from bygones._registry import no_imports
from bygones.envs import needs
from bygones.envs.problem import FairProblem, problem_of
from bygones.learn import Run, Settings, TrainedPolicy, evaluate, safetensors, train
from bygones.learn.descriptions import as_run, description, read_description, rebuilt, saved_description
from bygones.learn.runs import digest, params_of, train_batch
from bygones.memory import Around, Memory, MemoryState
from bygones.welfare import functions
from support.sharp_networks import sharp

LEARNER = Settings(total_steps=64, horizon=16, rollout_steps=32, batch_size=16, epochs=1, hidden=(4,))
UNIFORM = needs.uniform(3, 0.25)


def small(**changes: Any) -> FairProblem:
    return problem_of(**{"n_resources": 1, "horizon": 16, "needs": UNIFORM, **changes})


OWN = {
    "discounted": small(memory=Discounted(gamma=0.9, average=True)),
    "instantaneous": small(memory=Instantaneous()),
    "perfect recall": small(memory=PerfectRecall()),
    "linear": small(memory=Linear(0.8 * np.eye(3) + 0.05)),
    "linear with a readout": small(memory=Linear(0.8 * np.eye(6), np.hstack([np.eye(3), np.eye(3)]))),
    "multiscale": small(memory=Multiscale((0.9, 0.5), (0.25, 0.75))),
    "per agent": small(memory=PerAgent(gammas=(0.9, 0.5, 1.0), average=True)),
    "sliding window": small(memory=SlidingWindow(4)),
    "reset": small(memory=Reset(4)),
    "capped": small(memory=memory.Capped(Discounted(gamma=0.9), cap=2.0)),
    "another cap": small(memory=memory.Capped(Discounted(gamma=0.9), cap=1.0)),
    "capped window": small(memory=memory.Capped(SlidingWindow(4), cap=2.0)),
    "relative": small(memory=Relative(PerfectRecall())),
    "egalitarian": small(welfare="egalitarian"),
    "alpha": small(welfare="alpha_fair(alpha=2)"),
    "generalized gini": small(welfare="generalized_gini"),
    "generalized gini, weighted": small(welfare="generalized_gini(weights=[3, 2, 1])"),
    "lognormal needs": small(needs=needs.lognormal([0.0, 0.1, 0.2], 0.5)),
    "correlated needs": small(needs=needs.correlated(UNIFORM, 0.5)),
    "replayed needs": small(needs=needs.replayed([[0.1, 0.2, 0.3], [1, 2, 3]])),
    "other needs": small(needs=needs.uniform(3)),
    "switches": small(observe_denominator=True, observe_memory=False, ends="termination", shaping_discount=0.9),
    "scale": small(observation_scale="fixed", fixed_scale=3.0, weight=0.5, n_resources=2),
    "horizon": small(horizon=8),
}


@dataclass(frozen=True)
class Capped(Memory):
    """Perfect recall up to a cap: what an outsider might write."""

    cap: Number

    def init(self, n_agents: int) -> MemoryState:
        return MemoryState(np.zeros(n_agents), np.zeros(()), np.zeros(n_agents), np.zeros(()))

    def advance(self, state: MemoryState, utilities: Array, elapsed: Number = 1) -> MemoryState:
        total = state.Z + utilities
        return state._replace(Z=namespace(total).minimum(total, self.cap))

    def read(self, state: MemoryState) -> Array:
        return state.Z

    def bound(self, u_max: float, steps: float = np.inf) -> float:
        return min(float(self.cap), u_max * steps)

    @property
    def can_be_negative(self) -> bool:
        return False


class Unknown(Around):
    """A memory that is not registered with JAX."""


class Twice(NamedTuple):
    """Needs of one's own: a named tuple is known to JAX."""

    low: Array

    n_agents = 3
    bounds = (np.zeros(3), np.full(3, 2.0))
    mean = np.ones(3)

    def start(self, uniforms: Array) -> Array:
        return uniforms[..., :0]

    def draw(self, uniforms: Array, state: Array, t: Number) -> tuple[Array, Array]:
        return 2 * uniforms + self.low, state


jax.tree_util.register_dataclass(Capped, data_fields=["cap"], meta_fields=[])
CAPPED = small(memory=Capped(2.0))
FOREIGN = {
    "capped": CAPPED,
    "another cap": small(memory=Capped(3.0)),
    "bygones' own around another's": small(memory=Relative(Capped(2.0))),
    "needs": small(needs=Twice(np.zeros(3))),
    "other needs": small(needs=Twice(np.full(3, 0.5))),
}


@pytest.mark.parametrize("problem", OWN.values(), ids=OWN)
def test_what_is_bygones_own_is_rebuilt(problem: FairProblem) -> None:
    again = rebuilt(json.loads(json.dumps(description(problem))))
    assert description(again) == description(problem)
    ours, theirs = params_of(problem), params_of(again)
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("kind", "gamma"), [("PerfectRecall", 1.0), ("Instantaneous", 0.0)])
def test_the_ends_of_the_scale_had_names_of_their_own_in_older_files(kind: str, gamma: float) -> None:
    numbers = {"average": False} if gamma else {}
    today = description(small(memory=Relative(Discounted(gamma=gamma))))
    older = {**today, "memory": {"kind": "Relative", "numbers": {"memory": {"kind": kind, "numbers": numbers}}}}
    assert read_description(json.dumps(older)) == today
    alone = {**today, "memory": {"kind": kind, "numbers": numbers}}
    assert rebuilt(read_description(json.dumps(alone))).memory == Discounted(gamma=gamma)


def test_different_problems_have_different_names() -> None:
    problems = [*OWN.values(), *FOREIGN.values()]
    names = {digest([Run(LEARNER, problem)]) for problem in problems}
    assert len(names) == len(problems)
    assert digest([Run(LEARNER, small())]) == digest([Run(LEARNER.replace(gamma=0.5), small())])
    assert digest([Run(LEARNER, small())]) != digest([Run(LEARNER.replace(seed=1), small())])


def test_the_names_of_the_papers_runs_stay_as_they_are() -> None:
    assert digest([Settings()]) == digest([Run(Settings())]) == "9b07f3293f707c57"
    assert digest([Settings(policy="symmetric")]) != digest([Settings()])
    assert digest([Settings(policy="symmetric", agent_units=8)]) != digest([Settings(policy="symmetric")])


def test_of_the_settings_only_the_learners_count() -> None:
    """Every other setting is one that describes the paper's problem, and is the default."""
    kept, usual = Run(Settings(**UNUSUAL), small()).settings.to_dict(), Settings().to_dict()
    assert kept.pop("horizon") == 16
    for name in kept:
        describes = description(Settings(**{name: UNUSUAL[name]}).problem()) != description(Settings().problem())
        assert (kept[name] == usual[name]) == describes, name


UNUSUAL: dict[str, Any] = {
    "gamma": 0.5, "aggregation": "averaged", "welfare": "egalitarian", "weight": 0.5, "horizon": 50, "seed": 3,
    "total_steps": 10_000, "n_agents": 5, "n_resources": 1, "n_advantaged": 1, "observation_scale": "fixed",
    "fixed_scale": 3.0, "observe_memory": False, "observe_denominator": True, "ends": "termination",
    "shaping_discount": 0.5, "last_share": 0.5, "rollout_steps": 1024, "batch_size": 32, "epochs": 3, "discount": 0.5,
    "gae_lambda": 0.5, "clip": 0.1, "value_weight": 0.1, "entropy_weight": 0.1, "max_grad_norm": 1.0,
    "learning_rate": 0.1, "adam_eps": 0.1, "hidden": (3,), "policy": "symmetric", "agent_units": 8,
    "agent_features": "plain", "learner": "reinforce", "gini_ratio": 0.9, "recurrent_units": 8, "sequence": 8,
    "replay_size": 1000, "update_every": 2, "target_every": 10, "exploration_share": 0.5, "exploration_end": 0.2,
    "counterfactuals": 2,
}  # fmt: skip


def test_every_setting_is_tried_there() -> None:
    assert [field.name for field in dataclasses.fields(Settings)] == list(UNUSUAL)


def test_a_run_is_given_in_one_way() -> None:
    assert as_run(LEARNER).problem.n_agents == 10
    assert as_run(CAPPED).settings == Settings(horizon=16)
    with pytest.raises(ValueError, match="give a problem once"):
        train(CAPPED, problem=CAPPED)
    with pytest.raises(ValueError, match="a run must be Settings, a FairProblem or a Run, got 3"):
        train(3)
    with pytest.raises(ValueError, match=r"horizon must be at most total_steps \(1000000\), or no .*, got 2000000"):
        Run(Settings(horizon=2_000_000))
    with pytest.raises(ValueError, match=r"horizon must be at most total_steps \(64\)"):
        train(LEARNER, problem=small(horizon=65))


def test_a_memory_that_jax_does_not_know_is_refused() -> None:
    sentence = "memory must be registered with JAX .*: decorate the class Unknown with bygones.pytrees.register"
    with pytest.raises(ValueError, match=sentence):
        train(LEARNER, problem=small(memory=Unknown(PerfectRecall())))


@pytest.mark.soak
def test_a_memory_of_ones_own_is_learned_saved_and_loaded(tmp_path: Path) -> None:
    file = tmp_path / "capped.safetensors"
    result = train(LEARNER, problem=CAPPED, unroll=1)
    assert result.final["welfare_memory"] <= 3 * np.log(2.0 + 1e-5)
    result.policy.save(file)
    assert description(TrainedPolicy.load(file).problem) == description(CAPPED)
    with pytest.raises(ValueError, match=r"was trained on another problem, which differs in memory$"):
        TrainedPolicy.load(file, problem=FOREIGN["another cap"])
    loaded = TrainedPolicy.load(file, problem=small(memory=Capped(2.0)))
    assert evaluate(loaded, episodes=3).mean == evaluate(result.policy, episodes=3).mean


def test_a_memory_around_one_of_ones_own_is_not_rebuilt() -> None:
    with pytest.raises(ValueError, match=r"the memory bygones\.memory\.bounded\.Relative cannot be rebuilt"):
        rebuilt(description(FOREIGN["bygones' own around another's"]))


@pytest.mark.soak
def test_a_checkpoint_of_another_problem_is_refused(tmp_path: Path) -> None:
    train(LEARNER, problem=small(), checkpoint=tmp_path / "one.npz", unroll=1)
    with pytest.raises(ValueError, match="belongs to other settings"):
        train(LEARNER, problem=OWN["egalitarian"], checkpoint=tmp_path / "one.npz", unroll=1)


def test_problems_of_different_kinds_are_no_batch() -> None:
    with pytest.raises(ValueError, match="kinds of memory, welfare and needs"):
        train_batch([Run(LEARNER, small()), Run(LEARNER, CAPPED)])


def test_a_policy_knows_its_problem_when_it_is_loaded(tmp_path: Path) -> None:
    file = tmp_path / "policy.safetensors"
    run = Run(LEARNER, OWN["multiscale"])
    TrainedPolicy(run.settings, sharp(0, 6, 3, (4,)), run.custom_problem).save(file)
    loaded = TrainedPolicy.load(file)
    assert loaded.settings == run.settings
    assert description(loaded.problem) == description(OWN["multiscale"])


STEPS = """
from dataclasses import dataclass
from bygones.memory import Around
from bygones.pytrees import register

@register("memory", "cap")
@dataclass(frozen=True)
class Shown(Around):
    keeps = ("can_be_negative", "keeps_agents_apart")
    cap: float

    def read(self, state):
        return self.memory.read(state).clip(None, self.cap)

def least(Z, share=1.0):
    return share * Z.min(axis=-1)
"""


def test_a_saved_policy_holds_the_names_of_its_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_shown.py").write_text(STEPS, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    file, text = tmp_path / "policy.safetensors", "own_shown:Shown(discounted(gamma=0.5), cap=2.0)"
    problem = small(memory=memory.parse_memory(f"relative({text})"), welfare="own_shown:least(share=0.5)")
    run = Run(LEARNER, problem)
    TrainedPolicy(run.settings, sharp(0, 6, 3, (4,)), run.custom_problem).save(file)
    _, metadata = safetensors.load(file)
    described = json.loads(metadata["problem"])
    assert described["memory"]["text"] == (
        "relative(memory=own_shown:Shown(memory=discounted(gamma=0.5, average=False), cap=2.0))"
    )
    assert described["welfare"]["text"] == "own_shown:least(share=0.5)"
    assert description(TrainedPolicy.load(file).problem) == description(problem)

    for registry in (memory.memories, functions):
        monkeypatch.setattr(registry, "_trusted", set())
    monkeypatch.delitem(sys.modules, "own_shown")
    unknown = r"own_shown:Shown is not imported, since only a file names it: .*BYGONES_PARTS=own_shown:Shown"
    with pytest.raises(ValueError, match=unknown):
        TrainedPolicy.load(file)
    assert "own_shown" not in sys.modules
    monkeypatch.setenv("BYGONES_PARTS", "own_shown:Shown,own_shown:least")
    assert description(TrainedPolicy.load(file).problem) == description(problem)
    (tmp_path / "own_shown.py").unlink()
    monkeypatch.delitem(sys.modules, "own_shown")
    with pytest.raises(ValueError, match=r"there is no own_shown\.py in the current folder.*give the problem"):
        TrainedPolicy.load(file)


def test_a_class_that_is_imported_may_be_named_in_a_file_and_nothing_else_may() -> None:
    with no_imports():
        assert memory.parse_memory(f"{__name__}:Capped(cap=2.0)") == Capped(2.0)
        for text in ("os:system(command=true)", f"{__name__}:Twice(low=0)", f"{__name__}:small"):
            with pytest.raises(ValueError, match="is not imported, since only a file names it"):
                memory.parse_memory(text)


def test_a_part_that_has_changed_since_is_refused() -> None:
    described = saved_description(CAPPED)
    described["memory"]["numbers"] = [3.0]
    with pytest.raises(ValueError, match="the memory of that name differs from the one described"):
        rebuilt(described)


FROZEN = (
    '{"weight": 0.9, "observation_scale": "none", "fixed_scale": 100.0, "observe_memory": null, '
    '"observe_denominator": false, "ends": "truncation", "shaping_discount": 1.0, "memory": {"kind": "Relative", '
    '"numbers": {"memory": {"kind": "Discounted", "numbers": {"gamma": 1.0, "average": false}}}}, "welfare": '
    '{"kind": "alpha_fair", "numbers": {"alpha": 1.0, "eps": 1e-06}}, "needs": {"kind": "Uniform", "numbers": '
    '{"low": [0.25, 0.25, 0.25], "span": [0.75, 0.75, 0.75]}}, "scenario": {"kind": "allocation", "numbers": '
    '{"horizon": 16, "n_resources": 1}}}'
)
"""The problem in the header of a policy, saved before parts that are not bygones' own had their text there."""


def test_older_files_are_read_as_before(tmp_path: Path) -> None:
    assert json.dumps(description(OWN["relative"])) == FROZEN
    run, file = Run(LEARNER, CAPPED), tmp_path / "policy.safetensors"
    policy = TrainedPolicy(run.settings, sharp(0, 6, 3, (4,)), run.custom_problem)
    policy.save(file)
    tensors, metadata = safetensors.load(file)
    safetensors.save(file, tensors, metadata | {"problem": FROZEN})
    assert TrainedPolicy.load(file).problem.memory == OWN["relative"].memory
    safetensors.save(file, tensors, metadata | {"problem": json.dumps(description(CAPPED))})
    with pytest.raises(ValueError, match=r"the memory .*Capped cannot be rebuilt .*: give the problem that .*problem="):
        TrainedPolicy.load(file)
    assert TrainedPolicy.load(file, problem=CAPPED).custom_problem is CAPPED


OLD = (
    '{"gamma": 0.9, "aggregation": "averaged", "welfare": "egalitarian", "weight": 0.9, "horizon": 1000, "seed": 0, '
    '"total_steps": 1000000, "n_agents": 3, "n_resources": 1, "n_advantaged": 2, "observation_scale": "none", '
    '"fixed_scale": 100.0, "observe_memory": null, "observe_denominator": false, "ends": "truncation", '
    '"shaping_discount": 1.0, "last_share": 0.1, "rollout_steps": 2048, "batch_size": 64, "epochs": 10, '
    '"discount": 0.99, "gae_lambda": 0.95, "clip": 0.2, "value_weight": 0.5, "entropy_weight": 0.0, '
    '"max_grad_norm": 0.5, "learning_rate": 0.0003, "adam_eps": 1e-05, "hidden": [4]}'
)
"""The header of a policy that was saved when only the paper's problem could be learned."""


def test_the_papers_policies_are_saved_as_they_always_were(tmp_path: Path) -> None:
    settings = Settings(
        gamma=0.9, aggregation="averaged", welfare="egalitarian", n_agents=3, n_resources=1, hidden=(4,)
    )
    file = tmp_path / "policy.safetensors"
    policy = TrainedPolicy(settings, sharp(0, 6, 3, (4,)))
    policy.save(file)
    _, metadata = safetensors.load(file)
    assert metadata == {"settings": OLD}
    assert TrainedPolicy.load(file).settings == settings
    assert TrainedPolicy.load(file, problem=settings.problem()).custom_problem is None
    with pytest.raises(ValueError, match=r"was trained on another problem, which differs in memory, .* and scenario$"):
        TrainedPolicy.load(file, problem=small())
