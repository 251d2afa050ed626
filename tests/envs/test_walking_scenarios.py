"""The scenarios in which agents move: job scheduling, the plant and Matthew play as matthieu637/DFRL does.

The numbers were recorded by running the original on the same uniform numbers, with its rows and columns counted from 0.
"""

from __future__ import annotations

import numpy as np
import pytest

from bygones.envs import walking
from bygones.envs.problem import FairProblem
from bygones.envs.scenarios.job_scheduling import JobScheduling, Queueing
from bygones.envs.scenarios.matthew import Hunters, Matthew
from bygones.envs.scenarios.plant import Plant, ShopFloor


def test_job_scheduling_with_five_moves_plays_as_the_original() -> None:
    actions = np.random.default_rng(1).integers(0, 5, (14, 4))
    actions[0] = [2, 2, 3, 1]
    last = [[0, 2], [2, 1], [1, 4], [1, 3]]
    halfway = [[0, 2], [1, 1], [1, 4], [4, 3]]
    it, total = JobScheduling(14, n=4, control="moves"), np.zeros(4)
    state = Queueing(np.array([[0.0, 0], [0, 1], [1, 2], [3, 3]]), np.array([1.0, 1]))
    for t, action in enumerate(actions):
        state, utilities = it.advance(np.zeros(it.n_noise), state, action.astype(float))
        total += utilities
        if t == 6:
            assert state.places.tolist() == halfway
    assert state.places.tolist() == last
    assert total.tolist() == [0, 5, 0, 0]


def test_job_scheduling_with_agents_who_wander_plays_as_the_original() -> None:
    noise, actions = np.random.default_rng(2).random((14, 3)).round(3), np.random.default_rng(3).integers(0, 2, (14, 3))
    places = [
        [[1, 0], [4, 4], [2, 2]], [[0, 0], [4, 3], [2, 2]], [[1, 0], [3, 3], [3, 2]], [[1, 0], [3, 3], [2, 2]],
        [[2, 0], [3, 2], [2, 2]], [[2, 0], [3, 2], [2, 2]], [[3, 0], [3, 2], [2, 2]], [[3, 0], [3, 2], [2, 2]],
        [[4, 0], [3, 3], [2, 2]], [[3, 0], [2, 3], [2, 2]], [[2, 0], [2, 3], [2, 2]], [[2, 1], [2, 3], [2, 2]],
        [[2, 1], [2, 3], [2, 2]], [[3, 1], [2, 3], [2, 2]],
    ]  # fmt: skip
    it, total = JobScheduling(14), np.zeros(3)
    state = Queueing(np.array([[0.0, 0], [4, 4], [2, 1]]), np.array([2.0, 2]))
    for row, action, expected in zip(noise, actions, places, strict=True):
        state, utilities = it.advance(row, state, action.astype(float))
        total += utilities
        assert state.places.tolist() == expected
    assert total.tolist() == [0, 0, 13]


def test_taking_turns_at_the_machine_costs_a_step() -> None:
    it = JobScheduling(control="moves", n=2)
    state = Queueing(np.array([[2.0, 2], [2, 1]]), np.array([2.0, 2]))
    served = []
    for action in ([2.0, 4.0], [0.0, 4.0]):
        state, utilities = it.advance(np.zeros(it.n_noise), state, np.array(action))
        served.append(utilities.tolist())
    assert served == [[0, 0], [0, 1]]


def test_the_plant_plays_as_the_original() -> None:
    noise, actions = (
        np.random.default_rng(4).random((60, 24)).round(3),
        np.random.default_rng(5).integers(1, 5, (60, 5)),
    )
    it, total = Plant(60, control="moves", bonus="any"), np.zeros(5)
    parts = np.array([[1.0, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 1], [1, 6], [6, 6]])
    kinds = np.array([0.0, 1, 2, 0, 1, 2, 0, 1])
    state = ShopFloor(np.array([[i, i] for i in range(1, 6)], float), parts, kinds, np.zeros((5, 3)), np.array(0.0))
    for row, action in zip(noise, actions, strict=True):
        state, utilities = it.advance(row, state, action.astype(float))
        total += utilities
    np.testing.assert_allclose(total, [0.07, 0.05, 2.11, 3.08, 0.04])
    assert state.places.tolist() == [[1, 4], [7, 3], [4, 3], [7, 4], [0, 3]]
    assert state.parts.tolist() == [[6, 6], [3, 4], [6, 6], [1, 6], [4, 1], [6, 6], [1, 5], [6, 6]]
    assert state.kinds.tolist() == [2, 0, 1, 0, 1, 0, 2, 1]
    assert state.had.tolist() == [[1, 3, 3], [0, 2, 3], [2, 0, 5], [0, 1, 1], [2, 1, 1]]
    assert state.taken == 35


@pytest.mark.parametrize(("bonus", "worth"), [("needed", [0.01, 1.01]), ("any", [0.02, 1.02]), ("none", [0.0, 1.0])])
def test_a_part_counts_where_it_is_needed(bonus: str, worth: list[float]) -> None:
    """Each agent walks onto two parts of kind 0; the first takes two kinds, the second already has the other."""
    it = Plant(requirements=((1, 1, 0), (1, 1, 0)), bonus=bonus, control="moves")
    parts = np.array([[1.0, 1], [1, 1], [3, 3], [3, 3], [6, 1], [6, 2], [6, 3], [6, 4]])
    had = np.array([[0.0, 0, 0], [0, 1, 0]])
    state = ShopFloor(np.array([[1.0, 0], [3, 2]]), parts, np.zeros(8), had, np.array(0.0))
    after, utilities = it.advance(np.zeros(it.n_noise), state, np.array([4.0, 4.0]))
    np.testing.assert_allclose(utilities, worth)
    assert after.had.tolist() == [[2, 0, 0], [1, 0, 0]]


def test_a_plant_without_supply_stands_still() -> None:
    it = Plant(supply=2, control="moves", requirements=((1, 0, 0),))
    parts = np.array([[1.0, 1], [1, 1], [1, 2], [6, 6], [6, 1], [6, 2], [6, 3], [6, 4]])
    state = ShopFloor(np.array([[1.0, 0]]), parts, np.zeros(8), np.zeros((1, 3)), np.array(0.0))
    state, first = it.advance(np.full(it.n_noise, 0.9), state, np.array([4.0]))
    assert it.observe(state)[-1] == 0
    _, second = it.advance(np.full(it.n_noise, 0.9), state, np.array([4.0]))
    np.testing.assert_allclose([first, second], [[2.01], [0.0]])


def _plant_floor(places, parts, kinds, n_agents: int = 2) -> ShopFloor:
    """Agents with nothing yet; parts that are not given lie in the last corner, and are of kind 1."""
    rest = 8 - len(parts)
    return ShopFloor(
        np.array(places, float),
        np.array([*parts, *[[6, 6]] * rest], float),
        np.array([*kinds, *[1] * rest], float),
        np.zeros((n_agents, 3)),
        np.array(0.0),
    )


def test_agents_of_the_plant_go_for_the_nearest_part_that_they_need() -> None:
    it = Plant(requirements=((1, 0, 0), (0, 0, 1)))
    state = _plant_floor([[1, 4], [2, 5]], [[1, 1], [1, 5]], [0, 1])
    after, _ = it.advance(np.zeros(it.n_noise), state, np.ones(2))
    # The first walks away from a part that it does not need. The second needs none of them, and clears the nearest.
    assert after.places.tolist() == [[1, 3], [1, 5]]
    assert after.had.tolist() == [[0, 0, 0], [0, 1, 0]]
    assert after.taken == 1


def test_agents_of_the_plant_who_meet_turn_aside() -> None:
    """Each stands between the other and the part that it needs, so both must leave their row to get past."""
    it = Plant(requirements=((1, 0, 0), (0, 0, 1)))
    state = _plant_floor([[3, 2], [3, 3]], [[3, 6], [3, 1]], [0, 2])
    rng, products = np.random.default_rng(0), np.zeros(2)
    for _ in range(12):
        noise = np.r_[np.full(24, 0.9), rng.random(it.n_noise - 24)]  # what is taken comes back far away, of no use
        state, utilities = it.advance(noise, state, np.ones(2))
        products += utilities
    assert (products >= 1).all()


def test_nobody_in_the_plant_is_stuck_while_there_are_parts() -> None:
    it, rng = Plant(), np.random.default_rng(0)
    for _ in range(5):
        state, steps = it.start(rng.random(it.n_noise)), 0
        while state.taken < it.supply and steps < it.horizon:
            state, _ = it.advance(rng.random(it.n_noise), state, np.ones(it.n_agents))
            steps += 1
        assert state.taken >= it.supply


@pytest.mark.parametrize(
    ("place", "goal", "others", "lot", "direction"),
    [
        ([3, 3], [3, 3], [], 0.0, 0),
        ([3, 3], [5, 4], [], 0.0, 2),  # along the longer distance
        ([3, 3], [2, 1], [], 0.0, 3),
        ([3, 3], [1, 1], [], 0.0, 1),  # by rows where both are equal
        ([3, 3], [5, 4], [[4, 3]], 0.0, 4),  # the way is taken: along the shorter
        ([3, 3], [2, 1], [[3, 2]], 0.0, 1),
        ([3, 3], [6, 3], [[4, 3]], 0.4, 4),  # straight ahead: to a side, by lot
        ([3, 3], [6, 3], [[4, 3]], 0.6, 3),
        ([3, 3], [3, 0], [[3, 2]], 0.4, 2),
        ([3, 3], [3, 0], [[3, 2]], 0.6, 1),
    ],
)
def test_whose_way_is_taken_turns_aside(place, goal, others, lot, direction) -> None:
    places = np.array([place, *others], float)
    goals = np.array([goal, *others], float)
    found = walking.past_others(places, goals, np.full(len(places), lot), 8)
    assert found.tolist() == [direction, *[0] * len(others)]


@pytest.mark.parametrize(
    ("food", "eaten", "sizes", "places", "left"),
    [
        (
            ("all", "half-reserved"),
            [2, 3, 4, 9],
            [0.11, 0.135, 0.15, 0.15],
            [[0.7, 0.885], [0.42, 0.0], [0.63, 0.23], [0.32, 0.8]],
            [[0.695, 0.351], [0.691, 0.733], [0.846, 0.971]],
        ),
        (
            ("reserved",),
            [1, 2, 3, 5],
            [0.105, 0.13, 0.15, 0.15],
            [[0.665, 0.89], [0.44, 0.0], [0.63, 0.23], [0.32, 0.8]],
            [[0.695, 0.351], [0.691, 0.733], [0.987, 0.633]],
        ),
    ],
)
def test_matthew_plays_as_the_original(food, eaten, sizes, places, left) -> None:
    rng = np.random.default_rng(6)
    noise, actions = rng.random((151, 18)).round(3), rng.integers(0, 5, (150, 4))
    for version in food:
        it, total = Matthew(150, n=4, control="moves", food=version), np.zeros(4)
        state = it.start(noise[0])
        np.testing.assert_allclose(state.places, [[0.674, 0.33], [0.123, 0.052], [0.009, 0.979], [0.785, 0.048]])
        np.testing.assert_allclose(state.sizes, [0.0372, 0.044, 0.0431, 0.0183], atol=5e-5)
        state = state._replace(sizes=np.array([0.1, 0.12, 0.14, 0.148]))
        for row, action in zip(noise[1:], actions, strict=True):
            state, utilities = it.advance(row, state, action.astype(float))
            total += utilities
        assert total.tolist() == eaten
        np.testing.assert_allclose(state.sizes, sizes)
        np.testing.assert_allclose(state.places, places)
        np.testing.assert_allclose(state.food, left)
        nearest = it.observe(state).reshape(5, 4)[3:].T
        np.testing.assert_allclose(nearest, [left[1], left[0], left[0], left[1]])


def test_two_meals_at_once_count_twice_or_once() -> None:
    state = Hunters(
        np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([0.1, 0.1]), np.array([[0.5, 0.55]] * 2 + [[0.9, 0.9]])
    )
    for pays, worth in (("each", [2, 0]), ("once", [1, 0])):
        it = Matthew(n=2, pays=pays)
        after, utilities = it.advance(np.zeros(it.n_noise), state, np.zeros(2))
        assert utilities.tolist() == worth
        np.testing.assert_allclose(after.sizes, [0.11, 0.1])


def test_hunters_go_for_the_nearest_food_along_the_longer_axis() -> None:
    state = Hunters(
        np.array([[0.5, 0.5], [0.1, 0.1]]), np.array([0.05, 0.05]), np.array([[0.2, 0.4], [0.9, 0.9], [1, 1.0]])
    )
    it = Matthew(n=2)
    after, _ = it.advance(np.zeros(it.n_noise), state, np.array([1.0, 1.0]))
    np.testing.assert_allclose(after.places, [[0.44, 0.5], [0.1, 0.16]])
    after, _ = it.advance(np.zeros(it.n_noise), state, np.array([0.0, 1.0]))
    np.testing.assert_allclose(after.places[0], [0.5, 0.5])


def test_agents_start_in_different_cells() -> None:
    cells = walking.cells_of(np.random.default_rng(0).random(25), 25, 5)
    assert len({tuple(cell) for cell in cells.tolist()}) == 25


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: FairProblem(Matthew(n=17)),
            "this scenario has 131,072 actions, more than the 100,000 .*; take fewer agents, or .*SeparateAgents",
        ),
        (lambda: FairProblem(JobScheduling(n=8, control="moves")), "this scenario has 390,625 actions"),
        (lambda: JobScheduling(n=26), "n must be at most 25, got 26"),
        (lambda: Plant(requirements=((1, 0, 0),) * 65), "agents must be at most 64, got 65"),
        (lambda: JobScheduling(control="fly"), "control must be one of go, moves, got 'fly'"),
        (lambda: Matthew(food="none"), "food must be one of all, reserved, half-reserved"),
        (lambda: Plant(requirements=((0, 0, 0),)), "requirements must have 3 numbers per agent, not all 0"),
        (lambda: Plant(bonus="all"), "bonus must be one of needed, any, none"),
    ],
)
def test_what_cannot_work_is_refused(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
