"""The sentences that tell a decision, for `allocate` and for the ledger."""

import json
from dataclasses import replace

import numpy as np
import pytest
from bygones.allocation.explain import sentences

from bygones import Discounted, PerfectRecall
from bygones.allocation import Assign, ChooseK, Divide, allocate

FADING = Discounted(half_life=30)
NAMES = ["Ana", "Ben", "Cem", "Dana", "Elif"]


def decide(problem, remembered, elapsed=0, memory=None, **options):
    memory = memory or FADING
    n = len(remembered)
    state = memory.update(memory.init(n), np.asarray(remembered, dtype=float))
    return allocate(replace(problem, agents=NAMES[:n]), memory, state, "egalitarian", elapsed=elapsed, **options)


@pytest.mark.parametrize(
    ("remembered", "rank"),
    [
        ([1, 2, 3, 4, 5], "lowest of 5 agents"),
        ([1, 1, 3, 4, 5], "joint lowest of 5 agents"),
        ([2, 1, 3, 4, 5], "second lowest of 5 agents"),
        ([3, 1, 2, 4, 5], "third lowest of 5 agents"),
        ([4, 1, 2, 3, 5], "4th lowest of 5 agents"),
        ([3, 1, 3, 4, 5], "joint second lowest of 5 agents"),
        ([9, 1, 2, 3, 5], "highest of 5 agents"),
        ([9, 1, 2, 9, 5], "joint highest of 5 agents"),
        ([2, 2, 2, 2, 2], "the same as everybody"),
    ],
)
def test_where_somebody_stood(remembered, rank):
    decision = decide(ChooseK([1, 0, 0, 0, 0], 1), remembered)
    line = f"Ana: remembered {remembered[0]} before ({rank}) and {remembered[0] + 1} after"
    assert decision.reasons()[1] == f"{line}."
    assert sentences(decision, lambda agent: f"note {agent}")[1] == f"{line}; note 0."


def test_an_agent_alone_has_no_rank():
    assert decide(ChooseK([1], 1), [2]).reasons()[1] == "Ana: remembered 2 before and 3 after."


def test_who_had_least_and_is_not_served():
    assert (
        "Ben has the lowest remembered utility, 1, but is not served." in decide(ChooseK([1, 0], 1), [2, 1]).reasons()
    )
    both = decide(ChooseK([1, 0, 0], 1), [2, 1, 1]).reasons()
    assert "Ben and Cem have the lowest remembered utility, 1, but are not served." in both
    assert "but" not in " ".join(decide(ChooseK([1, 1], 1), [1, 2]).reasons())


def test_entitlements_are_named():
    reasons = decide(ChooseK([1, 1], 1), [1, 2], entitlements=[1.0, 4.0]).reasons()
    assert "Ben: remembered 0.5 per unit of entitlement before (lowest of 2 agents) and 0.75 after." in reasons


@pytest.mark.parametrize(
    ("memory", "remembered", "elapsed", "told"),
    [
        (FADING, [1, 2], 30, ["The half-life is 30 days.", "Of what was remembered, 50% still counts."]),
        (FADING, [1, 2], 0, ["The half-life is 30 days."]),
        (FADING, [0, 0], 30, ["The half-life is 30 days.", "Nothing was remembered before."]),
        (PerfectRecall(), [1, 2], 0, ["Past utilities count in full."]),
        (PerfectRecall(), [1, 2], 1, ["Of what was remembered, 100% still counts."]),
    ],
)
def test_how_the_past_fades(memory, remembered, elapsed, told):
    reasons = decide(ChooseK([1, 1], 1), remembered, elapsed, memory, time_unit="day").reasons()
    assert reasons[2 : 2 + len(told)] == told
    assert reasons[2 + len(told)].startswith("Welfare (egalitarian) goes from ")


def test_the_next_best_choice():
    assert decide(ChooseK([1, 1], 1), [1, 2]).reasons()[-1] == (
        "The next best choice (Ben instead of Ana) would lower welfare by 1."
    )
    assert decide(ChooseK([1, 1, 0], 1), [1, 2, 0]).reasons()[-1] == (
        "The next best choice (Ben instead of Ana) has the same welfare, but would leave the second worst-off agent "
        "at 1 instead of 2."
    )
    assert decide(ChooseK([1, 1], 1), [1, 1]).reasons()[-1].endswith("is equally good; a random draw decided.")
    assert decide(Divide(1.0, [1, 1]), [1, 2]).reasons()[-1].startswith("Welfare")


@pytest.mark.parametrize(
    ("gap", "ending"),
    [
        (0.5, "; the best possible is at most 0.5 higher."),
        (np.inf, ", which is not proven to be the best possible."),
    ],
)
def test_what_is_not_proven_is_not_claimed(gap, ending):
    decision = replace(decide(ChooseK([1, 1], 1), [1, 2]), optimal=False, gap=gap)
    (told,) = [reason for reason in decision.reasons() if reason.startswith("Welfare")]
    assert told == f"Welfare (egalitarian) goes from 1 to 2{ending}"


def test_as_data():
    decision = decide(Assign([[3.0, 1.0], [0.5, 2.0]], items=["early", "late"]), [1, 2])
    data = json.loads(json.dumps(decision.to_dict(), allow_nan=False))
    assert data["gets"] == decision.gets == {"Ana": "early", "Ben": "late"}
    assert data["reasons"] == decision.reasons()
    assert data["explanation"] == str(decision) == " ".join(decision.reasons())
    assert (data["served"], data["owners"]) == (["Ana", "Ben"], {"early": "Ana", "late": "Ben"})


def test_names_where_none_are_given():
    memory = PerfectRecall()
    decision = allocate(Assign([[3.0, 1.0]]), memory, memory.init(1), "nash")
    assert (list(decision.agent_names), list(decision.problem.item_names)) == (["agent 0"], ["item 0", "item 1"])
    assert decision.explain().startswith("agent 0 gets item 0 (1 of 1 agent; 1 item left over).")
