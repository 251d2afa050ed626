"""What a memory and a welfare function of somebody's own can rely on, everywhere in the package."""

from dataclasses import dataclass

import gymnasium as gym
import jax
import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

from bygones import (
    Capped,
    Discounted,
    Instantaneous,
    Linear,
    Memory,
    Multiscale,
    PerfectRecall,
    Relative,
    simulation,
    welfare,
)
from bygones.allocation import Assign, ChooseK, Divide, allocate
from bygones.allocation.policies import OneStep
from bygones.envs import functional, needs
from bygones.envs.problem import problem_of
from bygones.envs.vector_env import FairVectorEnv
from bygones.envs.wrappers import FairReward, RememberRewards
from bygones.envs.wrappers.fairness import Fairness, Judge
from bygones.envs.wrappers.recall import Recall
from bygones.ledger.model.rules import Rules
from bygones.memory.around import PROMISES, Around
from bygones.pytrees import is_registered, register
from support.brute_force import best, candidates
from support.memories import CappedRecall, LastSteps
from support.vector_rewards import make

OWN = [LastSteps(3), CappedRecall(Discounted(gamma=0.9), 1.5)]
SHIPPED = [
    Instantaneous(),
    PerfectRecall(),
    PerfectRecall(average=True),
    Discounted(gamma=0.3),
    Discounted(half_life=20, average=True),
    Multiscale(gammas=(0.5, 0.99), weights=(0.5, 2.0)),
    Multiscale(gammas=(0.5, 0.99), weights=(-2.0, 0.5)),
    Linear(0.5 * np.eye(3) + 0.1),
    Linear(np.kron(np.diag([0.5, 0.9]), np.eye(3)), readout=np.hstack([np.eye(3), np.full((3, 3), 0.1)])),
]


def after(memory, *utilities):
    state = memory.init(len(utilities[0]))
    for one in utilities:
        state = memory.update(state, np.asarray(one, dtype=float))
    return state


class TestPromises:
    @pytest.mark.parametrize("memory", SHIPPED, ids=repr)
    @pytest.mark.parametrize("elapsed", [0, 1, 2.5])
    def test_the_response_is_what_the_memory_does(self, memory, elapsed):
        rng = np.random.default_rng(0)
        state = after(memory, *rng.random((40, 3)))
        base, gain = memory.response(state, elapsed)
        utilities = rng.random((5, 3))
        moved = utilities @ np.asarray(gain).T if np.ndim(gain) == 2 else utilities * gain
        np.testing.assert_allclose(base + moved, memory.ahead(state, utilities, elapsed), rtol=1e-12, atol=1e-13)

    @pytest.mark.parametrize("memory", SHIPPED, ids=repr)
    def test_the_denominator_is_what_ones_would_have_left(self, memory):
        ones = after(memory, *np.ones((30, 3)))
        assert memory.after_ones(3, 30) == pytest.approx(np.mean(memory.read(ones)))
        seen = memory.denominator(after(memory, *np.random.default_rng(1).random((30, 3))))
        additive = PerfectRecall() if memory == PerfectRecall(average=True) else memory
        if getattr(memory, "average", False):
            additive = Discounted(gamma=memory.gamma)
        assert seen == pytest.approx(additive.after_ones(3, 30))
        assert seen <= memory.largest_denominator(30) * (1 + 1e-12)

    def test_a_memory_around_another_keeps_the_promises_that_it_names(self):
        @dataclass(frozen=True)
        class Halved(Around):
            keeps = ("half_life", "can_be_negative")

            def read(self, state):
                return 0.5 * self.memory.read(state)

            def bound(self, u_max, steps=np.inf):
                return 0.5 * self.memory.bound(u_max, steps)

        memory = Halved(Discounted(half_life=3))
        assert (memory.half_life, memory.can_be_negative) == (pytest.approx(3), False)
        assert memory.bound(1.0) == 0.5 * Discounted(half_life=3).bound(1.0)
        for promise in set(PROMISES) - {"half_life", "can_be_negative", "bound"}:
            assert Halved.__dict__[promise] is Memory.__dict__[promise]
        state = after(memory, [4.0, 0.0])
        assert memory.response(state) is None
        assert memory.faded(state, 3) == pytest.approx([1.0, 0.0])
        assert allocate(ChooseK([4.0, 2.0], k=1), memory, state, "egalitarian").served.tolist() == [1]

    def test_one_that_changes_nothing_keeps_every_promise(self):
        class Labelled(Around):
            label = "mine"

        memory, inside = Labelled(Discounted(gamma=0.5)), Discounted(gamma=0.5)
        state = after(memory, [1.0, 2.0])
        for promise in PROMISES:
            arguments = {
                "after_ones": (2, 5), "bound": (1.0,), "denominator": (state,), "faded": (state, 2),
                "largest_denominator": (7,), "response": (state, 2),
            }.get(promise)  # fmt: skip
            one, other = (getattr(each, promise) for each in (memory, inside))
            np.testing.assert_equal(*((one, other) if arguments is None else (one(*arguments), other(*arguments))))
        assert type(memory.canonical()) is Labelled

    @pytest.mark.parametrize("method", ["init", "advance", "read"])
    def test_one_that_changes_a_method_must_say_what_it_keeps(self, method):
        body = {method: lambda self, *given: getattr(self.memory, method)(*given)}
        with pytest.raises(TypeError, match=f"^Mine has its own {method}, so it must list which promises .* keeps = "):
            type("Mine", (Around,), body)
        mixin = type("Mixin", (), body)
        with pytest.raises(TypeError, match=f"^Mine has its own {method}, so it must list which promises"):
            type("Mine", (mixin, Around), {})
        with pytest.raises(TypeError, match=f"^Mine has its own {method}, .*, half_life,"):
            type("Mine", (Around,), body | {"keeps": ("halflife",)})
        type("Mine", (Around,), body | {"keeps": ()})

    @pytest.mark.parametrize("base", [Discounted, Capped, Relative, LastSteps])
    def test_a_memory_is_final(self, base):
        message = (
            rf"^Mine cannot inherit from the memory {base.__name__}, .* bygones\.memory\.Around, with a {base.__name__}"
        )
        with pytest.raises(TypeError, match=message):
            type("Mine", (base,), {})
        with pytest.raises(TypeError, match=message):
            type("Mine", (type("Mixin", (), {}), base), {})

    def test_a_memory_around_another_stays_what_it_is_in_a_problem(self):
        @register("memory")
        @dataclass(frozen=True)
        class Ahead(Around):
            keeps = ()

            def init(self, n_agents):
                return after(self.memory, np.arange(n_agents, dtype=float))

        memory = Ahead(PerfectRecall())
        assert memory.bound(1.0, 1) == np.inf
        problem = problem_of(needs=needs.uniform(3), memory=memory, n_resources=1, horizon=5, welfare="egalitarian")
        assert isinstance(problem.params().memory, Ahead)
        assert problem.params().memory.init(3).Z.tolist() == [0, 1, 2]
        assert not memory.matches(PerfectRecall())

    def test_memories_match_across_units(self):
        assert Discounted(half_life=69).matches(Discounted(gamma=0.5 ** (1 / 69)))
        assert PerfectRecall().matches(Discounted(gamma=1.0))
        assert not Discounted(gamma=0.99).matches(Discounted(gamma=0.9900001))
        assert not Discounted(gamma=0.9).matches(CappedRecall(Discounted(gamma=0.9), 1.0))
        assert not CappedRecall(Discounted(gamma=0.9), 1.0).matches(CappedRecall(Discounted(gamma=0.9), 2.0))
        assert not Discounted(gamma=0.9).matches(0.9)
        assert LastSteps(3).matches(LastSteps(3))


@pytest.mark.parametrize("memory", OWN, ids=repr)
class TestOnesOwnMemory:
    def test_in_the_environment(self, memory):
        env = gym.make("bygones.envs:bygones/Allocation-v0", memory=memory, n_agents=3, n_resources=1, horizon=20)
        check_env(env.unwrapped, skip_render_check=True)
        env.reset(seed=0)
        state = memory.init(3)
        for step in range(20):
            observation, *_, info = env.step(step % 3)
            state = memory.update(state, info["utilities"])
            np.testing.assert_allclose(observation[3:], memory.values(state), rtol=1e-6)
        env.close()

    def test_a_batch_of_environments_is_each_of_them(self, memory):
        problem = {"memory": memory, "n_agents": 3, "n_resources": 1, "horizon": 5}
        many = FairVectorEnv(num_envs=2, **problem)
        many.reset(seed=3)
        alone = [gym.make("bygones/Allocation-v0", **problem) for _ in range(2)]
        for i, env in enumerate(alone):
            env.reset(seed=3 + i)
        for step in range(5):
            seen = many.step(np.array([step % 3, (step + 1) % 3]))[0]
            one_by_one = [env.step((step + i) % 3)[0] for i, env in enumerate(alone)]
            np.testing.assert_allclose(seen, one_by_one, rtol=1e-6)

    def test_as_pure_functions_under_jit(self, memory):
        assert is_registered(memory)
        problem = problem_of(memory=memory, needs=needs.advantaged(3, 1), n_resources=1, horizon=5)
        params = problem.params()
        assert type(params.memory) is type(memory)
        state, _ = jax.jit(functional.reset)(jax.random.key(0), params)
        held = memory.init(3)
        for step in range(5):
            result = jax.jit(functional.step)(jax.random.key(step), state, step % 3, params)
            held = memory.update(held, np.asarray(result.info["utilities"], dtype=float))
            state = result.state
        np.testing.assert_allclose(result.info["memory"], memory.values(held), rtol=1e-5)

    def test_in_the_wrappers(self, memory):
        fair = FairReward(make("fishwood-v0"), memory, "egalitarian", 1.0)
        fair.reset(seed=0)
        state, before = memory.init(2), 0.0
        for _ in range(6):
            _, reward, *_, info = fair.step(fair.action_space.sample())
            state = memory.update(state, info["utilities"])
            now = float(np.min(memory.values(state)))
            assert reward == pytest.approx(now - before)
            before = now
        seen = RememberRewards(make("fishwood-v0"), memory, flatten=False)
        observation, _ = seen.reset(seed=0)
        np.testing.assert_array_equal(observation["memory"], np.zeros(2))
        with pytest.raises(ValueError, match=r"observe_denominator must be False for \w+ memory"):
            RememberRewards(make("fishwood-v0"), memory, observe_denominator=True)

    def test_in_the_simulator(self, memory):
        policy = simulation.policy_named("one-step", memory, "egalitarian", needs.advantaged(4, 1), 2)
        played = simulation.simulate(policy, needs.advantaged(4, 1), memory, "egalitarian", 30, 2)
        state = memory.init(4)
        for step, utilities in enumerate(played.utilities):
            state = memory.update(state, utilities)
            np.testing.assert_allclose(played.remembered[step], memory.values(state))
        assert played.utilities.sum(axis=0).min() > 0

    def test_it_keeps_no_denominator_for_the_observation(self, memory):
        with pytest.raises(ValueError, match=r"observe_denominator must be False for .* keeps no denominator"):
            problem_of(memory=memory, observe_denominator=True)

    @given(seed=st.integers(0, 2**32 - 1), name=st.sampled_from(["egalitarian", "nash", "log_nash", "utilitarian"]))
    def test_what_allocate_calls_optimal_is(self, memory, seed, name):
        rng = np.random.default_rng(seed)
        state = after(memory, *(rng.random((4, 5)) * rng.integers(0, 2, (4, 5))))
        amounts = rng.integers(0, 4, 5).astype(float)
        decision = allocate(ChooseK(amounts, 2), memory, state, name, rng=rng)
        W, Z = best(candidates(amounts, k=2), memory, state, welfare.parse_welfare(name), decided=decision.after)
        assert decision.optimal
        assert decision.welfare_after == pytest.approx(W, rel=1e-9, abs=1e-12)
        np.testing.assert_allclose(np.sort(decision.after), Z, rtol=1e-9, atol=1e-12)

    def test_large_problems_are_refused_in_one_sentence(self, memory):
        many = memory.init(200)
        sentence = r"^\w+ memory does not say how it responds to utilities .*allocations.*use a memory that does"
        with pytest.raises(ValueError, match=sentence):
            allocate(ChooseK(np.ones(200), 20), memory, many, "egalitarian")
        with pytest.raises(ValueError, match=sentence):
            allocate(Assign(np.ones((200, 20))), memory, many, "nash")
        with pytest.raises(ValueError, match=sentence):
            allocate(Divide(1.0, np.ones(200)), memory, many, "nash")


def worst_two(Z):
    return np.sort(Z, axis=-1)[..., :2].sum(axis=-1)


class TestOnesOwnWelfare:
    def test_a_function_is_accepted_wherever_a_name_is(self):
        problem = problem_of(welfare=worst_two, n_resources=1, needs=needs.advantaged(3, 1), horizon=5)
        env = gym.make("bygones/Allocation-v0", welfare=worst_two, n_agents=3, n_resources=1, horizon=5, weight=1.0)
        env.reset(seed=0)
        Z = np.zeros(3)
        for action in (0, 1, 2):
            before = worst_two(Z)
            _, reward, *_, info = env.step(action)
            Z = info["memory"]
            assert reward == pytest.approx(worst_two(Z) - before)
        assert problem.params().welfare(np.array([3.0, 1.0, 2.0])) == 3.0
        memory = Discounted(gamma=0.5)
        decision = allocate(ChooseK([1.0, 2.0, 3.0], 1), memory, after(memory, [4, 0, 0]), worst_two)
        assert decision.served.tolist() == [2]
        assert "worst_two" in decision.explain()
        FairReward(make("fishwood-v0"), memory, worst_two, 0.5)

    def test_one_that_does_not_work_over_the_last_axis_is_refused(self):
        with pytest.raises(ValueError, match="welfare min must judge the last axis of Z"):
            problem_of(welfare=np.min)
        memory = Discounted(gamma=0.5)
        with pytest.raises(ValueError, match="welfare min must judge the last axis of Z"):
            simulation.simulate(OneStep(memory, "nash"), needs.uniform(3), memory, np.min, 5, 1)

        @welfare.register
        def of_everything(Z):
            return float(Z.sum())

        @welfare.register
        def of_the_first_axis(Z):
            return Z.sum(axis=0)

        try:
            for problem in (ChooseK([1.0, 2.0, 3.0], 1), Divide(2, [1.0, 2.0, 3.0], whole=True)):
                for name in ("of_everything", "of_the_first_axis"):
                    with pytest.raises(ValueError, match=f"welfare {name} must judge the last axis of Z"):
                        allocate(problem, memory, memory.init(3), name)
        finally:
            welfare.functions.remove("of_everything")
            welfare.functions.remove("of_the_first_axis")

    @pytest.mark.parametrize("n", [2, 3])
    def test_the_wrong_axis_is_seen_where_there_are_as_many_rows_as_agents(self, n):
        memory = Discounted(gamma=0.5)
        message = "welfare sum must judge the last axis of Z"
        with pytest.raises(ValueError, match=message):
            problem_of(needs=needs.uniform(n), welfare=sum, n_resources=1)
        with pytest.raises(ValueError, match=message):
            simulation.simulate(OneStep(memory, "nash"), needs.uniform(n), memory, sum, 5, 1)
        bounds = Box(0.0, 1.0, (n,))
        with pytest.raises(ValueError, match=message):
            Fairness(Judge.of(memory, sum, 0.5, 1.0, bounds), Recall(memory, n, (n,)))
        # A single environment has one vector at a time.
        one = Fairness(Judge.of(memory, sum, 1.0, 1.0, bounds), Recall(memory, n))
        one.recall.receive(np.ones(n))
        assert one.reward() == n

    def test_one_without_a_value_is_refused(self):
        memory = Discounted(gamma=0.5)
        with pytest.raises(ValueError, match=r"welfare <lambda> must be a number for every Z, got nan for \[0\. 0\.\]"):
            allocate(ChooseK([1.0, 2.0], 1), memory, memory.init(2), lambda Z: Z.min(axis=-1) / Z.max(axis=-1))

    def test_a_registered_name_works_without_a_form(self):
        @welfare.register
        def lowest_two(Z):
            """The two worst-off."""
            return np.sort(Z, axis=-1)[..., :2].sum(axis=-1)

        try:
            assert "lowest_two" in welfare.names()
            assert welfare.parse_welfare("lowest-two").form is None
            assert problem_of(welfare="lowest_two").params().welfare.name == "lowest_two"
            memory = Discounted(gamma=0.5)
            decision = allocate(ChooseK([1.0, 2.0, 3.0], 1), memory, after(memory, [4, 0, 0]), "lowest_two")
            assert decision.served.tolist() == [2]
            with pytest.raises(ValueError, match="lowest_two has no known form"):
                allocate(Divide(1.0, [1.0, 1.0]), memory, memory.init(2), "lowest_two")
        finally:
            welfare.functions.remove("lowest_two")

    def test_a_form_makes_it_exact_at_any_size(self):
        @welfare.register(form=lambda power: welfare.AlphaFair(1 - power))
        def sum_of_powers(Z, power):
            return (Z**power).sum(axis=-1) / power

        try:
            memory, rng = PerfectRecall(), np.random.default_rng(0)
            state, amounts = after(memory, rng.random(300)), rng.random(300)
            mine = allocate(ChooseK(amounts, 30), memory, state, "sum_of_powers(power=0.5)")
            theirs = allocate(ChooseK(amounts, 30), memory, state, "alpha_fair(alpha=0.5)")
            np.testing.assert_array_equal(mine.served, theirs.served)
            assert mine.optimal
            with pytest.raises(ValueError, match=r"needs its power, as in sum_of_powers\(power=...\)"):
                welfare.parse_welfare("sum_of_powers")
        finally:
            welfare.functions.remove("sum_of_powers")

    @pytest.mark.parametrize("alpha", [1.0, 2.0])
    def test_the_judge_of_a_registered_function_is_that_function(self, alpha, monkeypatch):
        """`alpha_fair` shifts by ε, which a function without one must not be replaced by."""
        monkeypatch.setattr(welfare.functions, "_parts", dict(welfare.functions._parts))

        @welfare.register(form=lambda: welfare.AlphaFair(alpha=alpha))
        def unshifted(Z):
            return np.log(Z).sum(axis=-1) if alpha == 1 else -(1 / Z).sum(axis=-1)

        Z = np.array([1e-6, 1.0])
        assert welfare.as_judge("unshifted")(Z) == unshifted(Z)

    def test_a_name_is_not_taken_twice(self):
        def nash(Z):
            return Z.sum()

        with pytest.raises(ValueError, match="welfare 'nash' exists already"):
            welfare.register(nash)

    @pytest.mark.parametrize(
        "judge",
        [
            welfare.parse_welfare("alpha_fair", alpha=np.inf),
            welfare.parse_welfare("alpha_fair(alpha=2)"),
            welfare.parse_welfare("generalized_gini", weights=np.array([0.5, 0.3, 0.2])),
            welfare.parse_welfare("generalized_gini(weights=(0.5, 0.3, 0.2))"),
        ],
        ids=str,
    )
    def test_the_text_of_a_welfare_means_the_same(self, judge):
        Z = np.array([[1.0, 2.0, 4.0], [3.0, 0.5, 0.1]])
        again = welfare.parse_welfare(str(judge))
        assert str(again) == str(judge)
        np.testing.assert_array_equal(again(Z), judge(Z))
        assert Rules(welfare=str(judge)).welfare == str(judge)

    @pytest.mark.parametrize("text", ["nash()()", "nash()#x", "alpha_fair(alpha=infinite)", "alpha_fair(2, 3, 4)"])
    def test_texts_that_are_no_welfare_are_refused(self, text):
        with pytest.raises(ValueError, match=r"^welfare |^alpha must be a number"):
            welfare.parse_welfare(text)

    @pytest.mark.parametrize("text", ["nash", " nash", "nash()", "nash ( ) ", "Nash"])
    def test_one_name_is_one_welfare_everywhere(self, text):
        assert welfare.parse_welfare(text) == welfare.parse_welfare("nash")
        assert problem_of(welfare=text).welfare == problem_of(welfare="nash").welfare
        assert welfare.as_judge(text) == welfare.as_judge("nash")


def test_what_is_not_registered_with_jax_is_seen():
    @dataclass(frozen=True)
    class Stranger(Around):
        pass

    assert not is_registered(Stranger(Discounted(gamma=0.5)))
    assert is_registered(Discounted(gamma=0.5))
