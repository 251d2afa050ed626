"""Stand-ins for the authors' environment, written from the paper with NumPy alone, each with a choice of its own."""

import itertools
import re

import gymnasium
import numpy as np
import pytest
from benchmarks.authors_environment import compared

from bygones.document import terminal
from bygones.learn.settings import Settings
from support.extras import ROOT

N, K, T, EPSILON = 10, 2, 100, 1e-6
SETTINGS = Settings(gamma=1.0, horizon=T)


class StandIn(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2 * N,))
    action_space = gymnasium.spaces.Discrete(45)

    def __init__(
        self, *, divisor=1.0, start=0.0, shaping=1.0, terminates=False, gamma=1.0, advantaged=(0, 1), first=None
    ):
        self.choices = (divisor, start, shaping, terminates, gamma, advantaged)
        self.first = first

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.z, self.t = np.full(N, self.choices[1]), 0
        return self._observe(), {}

    def step(self, action):
        _, _, shaping, terminates, gamma, _ = self.choices
        u = np.zeros(N)
        for i in list(itertools.combinations(range(N), K))[action]:
            u[i] = self.needs[i]
        before, self.z = self.z, gamma * self.z + u
        before = np.log(before + EPSILON).sum() if self.first is None or self.t else self.first
        gain = shaping * np.log(self.z + EPSILON).sum() - before
        self.t += 1
        over = self.t == T
        return self._observe(), 0.1 * u.sum() + 0.9 * gain, over and terminates, over and not terminates, {}

    def _observe(self):
        self.needs = self.np_random.uniform(size=N)
        some = list(self.choices[5])
        self.needs[some] = self.np_random.uniform(0.8, 1, size=len(some))
        return np.concatenate([self.needs, (self.z - (self.choices[1] if self.t == 0 else 0)) / self.choices[0]])


def theirs(settings=None, **choices):
    answer = compared(lambda: StandIn(**choices), settings or SETTINGS)
    return {row.row: row.theirs for row in answer.rows}


def test_an_environment_with_our_choices_agrees_in_every_row():
    answer = compared(StandIn, SETTINGS)
    assert [row.theirs for row in answer.rows] == [row.ours for row in answer.rows]
    assert answer.n_steps == 20 * T


@pytest.mark.parametrize(
    ("choice", "row", "told"),
    [
        ({"divisor": 250.0}, 6, "divided by 250"),
        ({"shaping": 0.99}, 10, "0.1 U + 0.891 W(Zᵗ) − 0.9 W(Zᵗ⁻¹)"),
        ({"terminates": True}, 14, "termination after 100 steps"),
        ({"advantaged": (8, 9)}, 17, "9, 10"),
    ],
)
def test_a_choice_of_their_own_is_told(choice, row, told):
    told_of, ours = theirs(**choice), theirs()
    assert told_of[row] == told
    others = set(ours) - {row, 11 if row == 10 else row}
    assert {other: told_of[other] for other in others} == {other: ours[other] for other in others}


def test_the_welfare_before_the_first_step_is_told():
    assert theirs(first=0.0)[11] == "from a welfare of 0"
    assert theirs(start=1.0)[11].startswith("differs, such as")


def test_another_discount_is_seen_in_the_memory_and_in_the_reward():
    with_half = theirs(gamma=0.5)
    assert with_half[6].startswith("divided by a number that varies")
    assert with_half[10].startswith("differs, most at step")
    assert theirs(SETTINGS.replace(gamma=0.5), gamma=0.5)[6] == "unscaled"


def test_an_environment_without_end_is_refused():
    with pytest.raises(ValueError, match="did not end within 90 steps"):
        compared(StandIn, SETTINGS.replace(horizon=9))


def test_the_example_in_the_docs_prints_what_they_show():
    page = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8").partition("### Compare another environment")[2]
    code, console = re.findall(r"^```(?:python|text)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[:2]
    theirs = {}
    exec(code, theirs)
    answer = compared(theirs["make"], Settings(gamma=0.99, welfare="nash", horizon=100))
    shown = [line.rstrip() for line in terminal.text(answer.document(), 120).splitlines()]
    assert [line for line in shown if line.strip(" ─")] == [
        line for line in console.splitlines()[1:] if line.strip(" ─")
    ]


def test_switches_are_for_our_environment():
    answer = compared(StandIn, SETTINGS.replace(observation_scale="fixed", ends="termination"))
    differ = {row.row: (row.theirs, row.ours) for row in answer.rows if row.theirs != row.ours}
    assert differ == {
        6: ("unscaled", "divided by 100"),
        14: ("truncation after 100 steps", "termination after 100 steps"),
    }
