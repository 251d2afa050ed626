r"""The fair allocation now: $\operatorname{argmax}_{\mathcal{A}} W(Z \mid \mathcal{A})$, exactly, with its reasons.

For example:

    memory = bygones.Discounted(half_life=30)
    decision = allocate(ChooseK(needs, k=2), memory, memory.init(len(needs)), "egalitarian")
    print(decision)
    state = decision.state_after
"""

from bygones.allocation.calibration import calibrate
from bygones.allocation.decide import allocate
from bygones.allocation.decision import Decision, RunnerUp
from bygones.allocation.policies import (
    DynamicMaxMin,
    OneStep,
    Prices,
    ProportionalFair,
    Random,
    RoundRobin,
    Utilitarian,
)
from bygones.allocation.policy_contract import AllocationPolicy, RankingPolicy, Setting
from bygones.allocation.pricing import learning, prices
from bygones.allocation.problem_contract import Problem
from bygones.allocation.problems import Assign, ChooseK, Divide
from bygones.allocation.reports import normalised, usual_reports

__all__ = [
    "AllocationPolicy",
    "Assign",
    "ChooseK",
    "Decision",
    "Divide",
    "DynamicMaxMin",
    "OneStep",
    "Prices",
    "Problem",
    "ProportionalFair",
    "Random",
    "RankingPolicy",
    "RoundRobin",
    "RunnerUp",
    "Setting",
    "Utilitarian",
    "allocate",
    "calibrate",
    "learning",
    "normalised",
    "prices",
    "usual_reports",
]
