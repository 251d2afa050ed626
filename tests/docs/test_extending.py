"""The recipes of `docs/extending.md` run as they stand, and what they add does what independent sums say."""

import contextlib
import dataclasses
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import gymnasium as gym
import jax
import numpy as np
import pyarrow as pa
import pytest
from gymnasium.envs import registration as gymnasium_registration
from gymnasium.utils.env_checker import check_env

import bygones
from bygones import Discounted, Memory, PerfectRecall, welfare
from bygones.allocation import Assign, ChooseK, allocate, decide
from bygones.allocation.policy_contract import policies
from bygones.audit import audit, read_history
from bygones.audit.read import formats
from bygones.cli import program
from bygones.envs import functional, needs, registration
from bygones.envs.problem import problem_of
from bygones.learn import Settings, learners
from bygones.learn.actors import actor_of
from bygones.learn.descriptions import check_registered
from bygones.memory.around import PROMISES, Around
from bygones.paper import claims
from bygones.paper.evidence import evidence_folder
from bygones.paper.judging import Claim
from bygones.paper.results import Results, read
from bygones.pytrees import register
from support import synthetic_results
from support.brute_force import best, candidates
from support.command_line import refused, run
from support.guides import DOCS
from support.walkthrough import walk_through

PAGE = DOCS / "extending.md"
SOURCES = Path(bygones.__file__).parent
SECTIONS = dict(
    re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
)
REGISTRIES = [
    (welfare.functions, "_parts"),
    (bygones.memory.memories, "_parts"),
    (decide, "_SOLVERS"),
    (policies, "_parts"),
    (claims, "CLAIMS"),
    (formats, "FORMATS"),
    (learners.learners, "_parts"),
    (program.PROGRAM, "sections"),
    (gymnasium_registration, "registry"),
]
"""Every place in which a recipe lists something."""


@contextlib.contextmanager
def undone(folder):
    """Within this context, registrations and modules from the folder are those of somebody else's program."""
    modules = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        for owner, name in REGISTRIES:
            patch.setattr(owner, name, dict(getattr(owner, name)))
        yield
    for name in {"ward", "beds", "a2c", "pbs"} - modules:
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("extending")


@pytest.fixture(scope="module")
def page(folder):
    """The names that the page defines, with everything that it registers."""
    with undone(folder):
        yield walk_through(PAGE, folder)


class TestThePage:
    def test_every_part_has_a_recipe_of_at_most_two_files_that_exist(self):
        listed = re.findall(r"^\| \[(.+?)\]\(#(.+?)\)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
        assert [name for name, _ in listed] == [name[0].lower() + name[1:] for name in SECTIONS]
        assert [anchor for _, anchor in listed] == [name.lower().replace(" ", "-") for name in SECTIONS]
        for text in SECTIONS.values():
            (line,) = re.findall(r"^\*\*Files in bygones:\*\* (.*?)(?:\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
            files = re.findall(r"`([\w/]+\.py)`( \(new)?", line)
            assert 1 <= len(files) <= 2
            for file, is_new in files:
                assert (SOURCES / file).exists() != bool(is_new), file

    def test_every_promise_is_explained(self):
        table = SECTIONS["A memory"].partition("### Promises")[2].partition("###")[0]
        assert sorted(re.findall(r"^\| `(\w+)", table, re.MULTILINE)) == sorted(PROMISES)

    def test_what_a_page_registers_is_gone_afterwards(self, tmp_path):
        before = [dict(getattr(owner, name)) for owner, name in REGISTRIES]
        with undone(tmp_path):
            registration.add("nobody/Here-v0", "donut")
            formats.add("nothing", "nothing at all", "nothing")
            assert [dict(getattr(owner, name)) for owner, name in REGISTRIES] != before
        assert [dict(getattr(owner, name)) for owner, name in REGISTRIES] == before


BLOCKS = {name: re.findall(r"^```python(?: (\S+))?\n(.*?)^```$", text, re.M | re.S) for name, text in SECTIONS.items()}
"""The Python of each recipe: the file it is saved as, if any, and its text."""


@pytest.mark.soak
def test_contributed_recipes_touch_the_files_that_they_name(tmp_path):
    """Moves recipes into a copy of bygones, file by file as the page says, and uses them from there."""
    package = tmp_path / "bygones"
    shutil.copytree(SOURCES, package, ignore=shutil.ignore_patterns("__pycache__"))

    def create(file, text):
        (package / file).write_text(text, encoding="utf-8")

    def insert(file, after, line):
        text = (package / file).read_text(encoding="utf-8")
        assert text.count(after) == 1
        create(file, text.replace(after, f"{after}\n{line}"))

    memory = BLOCKS["A memory"][0][1].replace("from bygones.pytrees import register\n", "")
    memory = memory.replace("from bygones.memory import", "from bygones.memory.contract import")
    memory = memory.replace("import Memory, Response", "import Memory, Response, memories")
    create("memory/last_steps.py", memory.replace('@register(fixed=("length",))', "@memories.add"))
    text = (package / "memory/__init__.py").read_text(encoding="utf-8")
    create("memory/__init__.py", text.replace("{SlidingWindow:", '{LastSteps: ("length",), SlidingWindow:'))
    insert(
        "memory/__init__.py",
        "from bygones.memory.exact_sums import MemoryState",
        "from bygones.memory.last_steps import LastSteps",
    )
    add = {
        "welfare.py": BLOCKS["A welfare function"][0][1].partition("\n\n\n")[2].partition("\n\n\nfair =")[0],
        "envs/needs.py": BLOCKS["Needs"][0][1].partition("\n\n\nweekdays")[0],
    }
    for file, text in add.items():
        own = text.replace("@welfare.register", "@register").replace(": Any", ": Array")
        create(file, f"{(package / file).read_text(encoding='utf-8')}\n\n{own}\n")
    create("envs/scenarios/beds.py", dict(BLOCKS["A scenario"])["beds.py"])
    added = re.search(r"registration\.(add\(.*?^\))", BLOCKS["An environment"][0][1], re.M | re.S)[1]
    added = added.replace("ward/NightShifts", "bygones/NightShifts")
    create(
        "envs/registration.py",
        (package / "envs/registration.py").read_text(encoding="utf-8")
        + f"\n\nfrom bygones.envs.needs import uniform\n\n{added}\n",
    )
    households = BLOCKS["An allocation problem"][0][1].partition("recall = ")[0].replace("bygones.ChooseK", "ChooseK")
    imports = (
        "from dataclasses import dataclass\nfrom typing import Any\nimport numpy as np\n"
        "from bygones.allocation.problems import ChooseK\n"
    )
    create("allocation/households.py", imports + households)
    insert(
        "allocation/__init__.py",
        "from bygones.allocation.decision import Decision, RunnerUp",
        "from bygones.allocation.households import OnePerHousehold",
    )
    create("learn/a2c.py", dict(BLOCKS["A learner"])["a2c.py"])
    insert("learn/learners.py", "LEARNERS = {", '    "a2c": "bygones.learn.a2c:ActorCritic",')
    create("audit/read/pbs.py", dict(BLOCKS["A log format"])["pbs.py"])
    insert(
        "audit/read/formats.py",
        "FORMATS = {",
        '    "pbs": LogFormat("accounting logs of PBS", "bygones.audit.read.pbs"),',
    )
    command = (
        BLOCKS["A command"][0][1].replace("program.add(gini)", "").replace("from bygones.cli import program\n", "")
    )
    create("cli/inequality_commands.py", f"import numpy as np\n{command}")
    insert(
        "cli/commands.py",
        '            "what-if": Command("Replay a history with other memories and rules.", "what_if_commands.what_if", '
        '"audit"),',
        '            "gini": Command("Measure how unequal several numbers are.", "inequality_commands.gini"),',
    )

    asks, claim = BLOCKS["A claim"][0][1].partition("KEPT = ")[2].split("\n\n\nadd(\n")
    insert("paper/beyond.py", "BEYOND = (", claim.strip().removesuffix(")").rstrip().replace("U1", "B6") + ",")
    beyond = (package / "paper/beyond.py").read_text(encoding="utf-8")
    beyond = beyond.replace("import memory_label", "import HORIZONS, memory_label")
    create("paper/beyond.py", beyond.replace("BEYOND = (", f"KEPT = {asks}\n\n\nBEYOND = ("))

    (tmp_path / "accounting.log").write_text(re.findall(r"```text \S+\n(.*?)```", SECTIONS["A log format"], re.S)[0])
    script = """
import gymnasium as gym, numpy as np
import bygones
from bygones.allocation import OnePerHousehold
from bygones.audit import read_history
from bygones.cli import program
from bygones.envs.problem import problem_of
from bygones.learn import Settings, learners
from bygones.learn.descriptions import check_registered, description, rebuilt
from bygones.envs.needs import Weekly
from bygones.memory import LastSteps, parse_memory
from bygones.paper.claims import CLAIMS, Judgement

problem = problem_of(
    memory=LastSteps(3), welfare="mean_less_spread(aversion=2)", needs=Weekly(np.ones((7, 4)))
)
check_registered(problem)
again = rebuilt(description(problem))
print(again.memory, again.welfare, again.scenario.needs.n_agents)
print(parse_memory("last_steps(length=2)"))
print(gym.make("bygones.envs:bygones/Beds-v0", horizon=7).observation_space.shape)
print(gym.make("bygones.envs:bygones/NightShifts-v0").observation_space.shape)
recall = bygones.PerfectRecall()
print(bygones.allocate(OnePerHousehold([2.0, 1.0], 2, [0, 0]), recall, recall.init(2), "nash").served)
print(read_history("accounting.log").n_events)
print(learners.made(Settings(learner="a2c")))
print(Judgement(CLAIMS["B6"], {}).criterion)
program.main(["gini", "1", "1", "--json"])
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "LastSteps(length=3) mean_less_spread(aversion=2) 4",
        "LastSteps(length=2)",
        "(10,)",
        "(12,)",
        "[0]",
        "2",
        "ActorCritic()",
        "Additive, every horizon: its utility per step is above 0.9 times the myopic agent's.",
        "{",
        '  "gini": 0.0',
        "}",
    ], done.stderr


class TestMemory:
    def test_every_exported_memory_is_registered_with_jax(self):
        exported = [getattr(bygones.memory, name) for name in bygones.memory.__all__]
        kinds = {kind for kind in exported if isinstance(kind, type) and issubclass(kind, Memory)} - {Memory, Around}
        assert len(kinds) == 9
        for kind in kinds:
            with pytest.raises(ValueError, match="Duplicate"):
                register()(kind)
        assert set(bygones.memory.FIXED) < kinds

    def test_it_remembers_the_last_steps(self, page):
        memory, received = page["LastSteps"](4), np.random.default_rng(0).random((30, 3))
        state = memory.init(3)
        for t in range(30):
            state = memory.update(state, received[t])
            np.testing.assert_allclose(memory.values(state), received[max(0, t - 3) : t + 1].sum(axis=0))
        for elapsed in (0, 1, 2.0, 3, 4, 9):
            left = received[26 + int(elapsed) :].sum(axis=0)
            np.testing.assert_allclose(memory.ahead(state, [1, 2, 3], elapsed), left + np.array([1, 2, 3]))

    def test_its_promises_are_true(self, page):
        memory, rng = page["LastSteps"](4), np.random.default_rng(1)
        state = memory.init(3)
        for utilities in rng.random((9, 3)):
            state = memory.update(state, utilities)
        for elapsed in (0, 1, 2, 7):
            base, gain = memory.response(state, elapsed)
            many = rng.random((2, 5, 3))
            np.testing.assert_allclose(memory.ahead(state, many, elapsed), base + gain * many)
        for steps in (2, 4, 11):
            state = memory.init(1)
            for _ in range(steps):
                state = memory.update(state, [2.0])
            assert memory.values(state) == memory.bound(2.0, steps)
        assert not memory.can_be_negative
        assert memory.keeps_agents_apart

    def test_in_the_environment_and_in_a_batch_of_them(self, page):
        settings = {"memory": page["LastSteps"](3), "n_agents": 3, "n_resources": 1, "horizon": 12}
        env = gym.make("bygones/Allocation-v0", **settings)
        check_env(env.unwrapped, skip_render_check=True)
        many = gym.make_vec("bygones/Allocation-v0", num_envs=2, **settings)
        env.reset(seed=5)
        many.reset(seed=5)
        received = []
        for step in range(12):
            observation, *_, info = env.step(step % 3)
            received.append(info["utilities"])
            np.testing.assert_allclose(observation[3:], np.sum(received[-3:], axis=0), rtol=1e-6)
            np.testing.assert_array_equal(many.step(np.full(2, step % 3))[0][0], observation)

    def test_under_jit_and_for_the_learner(self, page):
        problem = problem_of(
            memory=page["LastSteps"](3), needs=needs.uniform(3), n_resources=1, horizon=9, observation_scale="window"
        )
        check_registered(problem)
        params, step = problem.params(), jax.jit(functional.step)
        state, _ = jax.jit(functional.reset)(jax.random.key(0), params)
        received = []
        for t in range(6):
            result = step(jax.random.key(t), state, t % 3, params)
            state = result.state
            received.append(np.asarray(result.info["utilities"]))
            np.testing.assert_allclose(result.info["memory"], np.sum(received[-3:], axis=0), rtol=1e-5)

    @pytest.mark.parametrize("name", ["LastSteps", "Shown"])
    @pytest.mark.parametrize("judge", ["egalitarian", "log_nash", "utilitarian"])
    def test_allocate_finds_the_best_of_all_allocations(self, page, name, judge):
        memory = page["LastSteps"](2) if name == "LastSteps" else page["Shown"](Discounted(half_life=3), 1.5)
        for seed in range(20):
            rng = np.random.default_rng(seed)
            state = memory.init(5)
            for utilities in rng.integers(0, 3, (4, 5)):
                state = memory.update(state, utilities)
            worth = rng.integers(0, 4, 5).astype(float)
            decision = allocate(ChooseK(worth, 2), memory, state, judge, rng=rng)
            W, Z = best(candidates(worth, k=2), memory, state, welfare.parse_welfare(judge))
            assert decision.optimal
            assert decision.welfare_after == pytest.approx(W, rel=1e-9)
            np.testing.assert_allclose(np.sort(decision.after), Z, rtol=1e-9, atol=1e-12)

    def test_its_response_makes_large_problems_exact(self, page):
        rng = np.random.default_rng(2)
        past, worth = rng.random((3, 300)), rng.random(300)
        served = []
        for memory in (page["LastSteps"](10), PerfectRecall()):
            state = memory.init(300)
            for utilities in past:
                state = memory.update(state, utilities)
            decision = allocate(ChooseK(worth, 30), memory, state, "nash", rng=np.random.default_rng(0))
            assert decision.optimal
            served.append(decision.served)
        np.testing.assert_array_equal(*served)

    def test_one_around_another_keeps_the_promises_that_it_names(self, page):
        shown = page["Shown"](Discounted(half_life=30), 10.0)
        assert shown.response(shown.init(2)) is None
        assert shown.half_life is None
        assert shown.keeps_agents_apart
        assert (shown.bound(1.0), shown.can_be_negative) == (10.0, False)
        assert Discounted(half_life=30).half_life == pytest.approx(30)

    def test_the_errors_are_those_on_the_page(self, page):
        class Bare(Around):
            keeps = ()

            def read(self, state):
                return self.memory.read(state)

        class Half(Memory):
            def init(self, n_agents):
                return ()

        texts = re.findall(r"^\| `(.+?)` \| ", SECTIONS["A memory"].partition("### Errors")[2], re.MULTILINE)
        bare, read = Bare(page["LastSteps"](3)), {"read": Bare.read}
        for text, error, cause in zip(
            texts,
            [*[TypeError] * 3, *[ValueError] * 5],
            [
                Half,
                lambda: type("Mine", (page["LastSteps"],), {}),
                lambda: type("Mine", (Around,), read),
                lambda: check_registered(problem_of(memory=bare, welfare="egalitarian")),
                lambda: allocate(ChooseK(np.ones(200), 20), bare, bare.init(200), "nash"),
                lambda: problem_of(memory=bare, welfare="nash"),
                lambda: problem_of(memory=bare, welfare="egalitarian", observation_scale="window"),
                lambda: problem_of(memory=page["LastSteps"](3), observe_denominator=True),
            ],
            strict=True,
        ):
            with pytest.raises(error, match=".*".join(map(re.escape, text.split("…")))):
                cause()


class TestWelfare:
    def test_without_a_form_it_is_compared_on_every_allocation(self, page):
        memory = PerfectRecall()
        for seed in range(10):
            rng = np.random.default_rng(seed)
            worth, state = rng.random(5), memory.update(memory.init(5), rng.random(5))
            decision = allocate(ChooseK(worth, 2), memory, state, "mean_less_spread(aversion=2)", rng=rng)
            every = [Z.mean() - 2 * Z.std() for Z in memory.values(state) + np.array([*candidates(worth, k=2)])]
            assert decision.welfare_after == pytest.approx(max(every))
        assert problem_of(welfare="mean_less_spread").params().welfare.name == "mean_less_spread"
        with pytest.raises(ValueError, match="welfare mean_less_spread has no known form"):
            allocate(Assign(np.ones((30, 30))), memory, memory.init(30), "mean_less_spread")

    def test_the_command_line_finds_it_in_a_module(self, tmp_path):
        (tmp_path / "spread.py").write_text(dict(BLOCKS["A welfare function"])["spread.py"], encoding="utf-8")
        asked = (
            "simulate --policy one-step --n-agents 3 --horizon 3 --json --welfare spread:mean_less_spread(aversion=0.5)"
        )
        command = [sys.executable, "-m", "bygones", *asked.split()]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert list(json.loads(done.stdout)) == ["one-step"]

    def test_with_a_form_it_is_exact_at_any_size(self, page):
        # The marginal value of one more place: twice the gain in the root, whatever the others have.
        rng = np.random.default_rng(3)
        memory, past, worth = PerfectRecall(), rng.random(300), rng.random(300)
        decision = allocate(ChooseK(worth, 30), memory, memory.update(memory.init(300), past), "sum_of_roots")
        gains = np.sqrt(past + worth) - np.sqrt(past)
        np.testing.assert_array_equal(decision.served, np.sort(np.argsort(gains)[-30:]))
        assert decision.optimal

    def test_a_name_is_not_taken_twice(self, page):
        def nash(Z):
            return Z.sum(axis=-1)

        with pytest.raises(ValueError, match="welfare 'nash' exists already"):
            welfare.register(nash)


class TestNeeds:
    def test_they_follow_the_days_of_the_week(self, page):
        env = gym.make("bygones/Allocation-v0", needs=page["weekly"], n_resources=1, horizon=70)
        check_env(env.unwrapped, skip_render_check=True)
        seen = [env.reset(seed=0)[0][:2]]
        seen += [env.step(0)[0][:2] for _ in range(69)]
        most = np.array(seen).reshape(10, 7, 2).max(axis=0)
        largest = np.array([[1.0, 0.2]] * 5 + [[0.1, 2.0]] * 2)
        assert (most <= largest).all()
        assert (most > 0.5 * largest).all()

    def test_batches_and_jax_agree(self, page):
        weekly, noise = page["weekly"], np.random.default_rng(0).random((8, 2))
        days = np.arange(1, 9)
        one_by_one = [weekly.draw(noise[t - 1], np.zeros(0), t)[0] for t in days]
        np.testing.assert_array_equal(weekly.draw(noise, np.zeros((8, 0)), days)[0], one_by_one)
        traced = jax.jit(lambda u, t: weekly.draw(u, u[:0], t)[0])
        np.testing.assert_allclose([traced(noise[t - 1], t) for t in days], one_by_one, rtol=1e-6)
        np.testing.assert_allclose(weekly.mean, [(5 * 1 + 2 * 0.1) / 14, (5 * 0.2 + 2 * 2) / 14])
        assert [edge.tolist() for edge in weekly.bounds] == [[0.0, 0.0], [1.0, 2.0]]

    def test_a_simulation_serves_one_of_the_two(self, page):
        utilities = page["played"].utilities
        assert ((utilities > 0).sum(axis=1) == 1).all()
        assert (utilities[5::7] <= [0.1, 2.0]).all()


class TestEnvironment:
    def test_it_is_the_problem_under_an_id(self, page):
        env = gym.make("ward/NightShifts-v0", horizon=3, memory="discounted(half_life=1)")
        check_env(env.unwrapped, skip_render_check=True)
        assert gym.make(env.spec).unwrapped.problem.horizon == 3
        observation, _ = env.reset(seed=1)
        assert ((observation[:6] >= 4) & (observation[:6] <= 12)).all()
        worth = observation[:2]
        observation, *_ = env.step(0)
        np.testing.assert_allclose(observation[6:], [*worth, 0, 0, 0, 0], rtol=1e-6)
        observation, *_ = env.step(14)
        np.testing.assert_allclose(observation[6:8], worth / 2, rtol=1e-6)
        assert env.step(0)[3]

    def test_a_batch_is_each_of_them(self, page):
        many = gym.make_vec("ward/NightShifts-v0", num_envs=2)
        alone = [gym.make("ward/NightShifts-v0").reset(seed=7 + i)[0] for i in range(2)]
        np.testing.assert_array_equal(many.reset(seed=7)[0], alone)

    def test_what_is_no_setting_is_refused(self, page):
        with pytest.raises(ValueError, match=r"scenario allocation takes .*, got 'beds'"):
            gym.make("ward/NightShifts-v0", beds=3)


class TestLearner:
    def test_it_learns(self, page):
        learned = page["learned"]
        assert learned.settings.learner == "a2c"
        assert learned.stopped_at is None
        start = actor_of(learned.settings, learned.policy.problem).initial(0)
        assert not np.array_equal(start.policy[0].weight, learned.networks.policy[0].weight)

    def test_a_name_is_not_taken_twice_and_has_to_be_known(self, page):
        with pytest.raises(ValueError, match="learner 'ppo' exists already"):
            learners.learners.add("a2c:ActorCritic", name="ppo")
        with pytest.raises(ValueError, match=r"learner must be one of ppo, .*a2c, or your own as .*, got 'a3c'"):
            Settings(learner="a3c")


class TestAllocationProblem:
    @pytest.mark.parametrize("name", ["egalitarian", "log_nash", "utilitarian", "generalized_gini"])
    def test_no_household_is_served_twice_and_nothing_is_better(self, page, name):
        memory = Discounted(gamma=0.5)
        for seed in range(15):
            rng = np.random.default_rng(seed)
            worth, homes = rng.integers(0, 4, 6).astype(float), rng.integers(0, 3, 6)
            state = memory.update(memory.init(6), rng.random(6))
            decision = allocate(page["OnePerHousehold"](worth, 2, homes), memory, state, name, rng=rng)
            rows = []
            for served in itertools.product([False, True], repeat=6):
                if sum(served) <= 2 and len(set(homes[list(served)])) == sum(served):
                    rows.append(worth * served)
            assert len(set(homes[decision.served])) == len(decision.served) <= 2
            assert decision.welfare_after == pytest.approx(best(rows, memory, state, welfare.parse_welfare(name))[0])
            assert decision.optimal
            assert decision.explain()

    def test_large_ones_are_exact_too(self, page):
        rng = np.random.default_rng(4)
        worth, homes = rng.random(60), np.repeat(np.arange(30), 2)
        memory = PerfectRecall()
        decision = allocate(page["OnePerHousehold"](worth, 5, homes), memory, memory.init(60), "utilitarian")
        assert decision.utilities.sum() == pytest.approx(np.sort(worth.reshape(30, 2).max(axis=1))[-5:].sum())
        assert decision.optimal
        assert decision.runner_up.welfare < decision.welfare_after

    def test_a_subclass_needs_its_own_solver(self, page):
        class Stricter(page["OnePerHousehold"]):
            pass

        problem = Stricter([1.0, 1.0], 1, [0, 0])
        with pytest.raises(ValueError, match=r"Stricter has no solver: decorate one with bygones\.allocation\.decide"):
            allocate(problem, PerfectRecall(), PerfectRecall().init(2), "nash")
        with pytest.raises(ValueError, match=r"households must be one per agent \(2\), got 1"):
            page["OnePerHousehold"]([1.0, 1.0], 1, [0])


class TestClaim:
    def test_the_evidence_says_what_its_own_seeds_say(self, page):
        runs = read(evidence_folder() / "none").to_pandas()
        runs = runs[(runs.aggregation == "additive") & runs.gamma.isin([0.0, 0.99])]
        table = runs.pivot_table("final_utility_per_step", ["welfare", "horizon", "seed"], "gamma")
        kept = table[0.99] - 0.9 * table[0.0]
        (found,) = page["judgement"].by_scale.values()
        medians = kept.groupby(["welfare", "horizon"]).median()
        assert [made.value for made in found.comparisons] == pytest.approx(medians.tolist())
        nine_of_ten = (kept > 0).groupby(["welfare", "horizon"]).sum() >= 9
        assert found.word == ("holds" if nine_of_ten.all() else "cannot tell")

    def test_it_fails_where_fairness_is_dear(self, page):
        made_up = synthetic_results.results(extra=False, aggregation=("additive",))
        assert [judged.word for judged in claims.judge(made_up, ["U1"])] == ["holds"]
        gamma, old = made_up["gamma"], made_up["final_utility_per_step"]
        index = made_up.table.schema.get_field_index("final_utility_per_step")
        dear = pa.array(np.where(gamma == 0.99, 0.8 * old, old))
        dear = Results(made_up.table.set_column(index, made_up.table.schema.field(index), dear))
        assert [judged.word for judged in claims.judge(dear, ["U1", "C2"])] == ["fails", "holds"]
        assert [judged.name for judged in claims.judge(dear)][-1] == "U1"

    def test_it_is_among_the_claims_of_the_command_line(self, page, capsys):
        assert "utility of γ = 0.99 less 0.9" in run(capsys, "claims", evidence_folder() / "none", "--why", "U1")

    def test_its_criterion_has_the_value_of_its_threshold(self, page):
        assert page["judgement"].criterion.endswith("above 0.9 times the myopic agent's.")

    def test_names_that_are_taken_are_refused(self, page):
        with pytest.raises(ValueError, match="claim C2 exists already"):
            claims.add(Claim("C2", "Another claim.", "Another criterion.", lambda cells, welfare: []))
        with pytest.raises(ValueError, match="claim C2 exists already"):  # in the same file, too
            claims.add(dataclasses.replace(claims.CLAIMS["C3"], name="C2"))
        claims.add(claims.CLAIMS["C2"])
        assert claims.CLAIMS["C2"].text != "Another claim."


class TestCommand:
    def test_it_prints_a_table_or_json(self, page, capsys):
        # The mean difference of the nine ordered pairs, over twice the mean.
        assert f"{32 / 9 / 2 / (14 / 3):.3g}" in run(capsys, "gini", 8, 6, 0)
        assert run(capsys, "gini", 1, 1, "--json") == '{\n  "gini": 0.0\n}\n'

    def test_it_is_listed_and_explained(self, page, capsys):
        program.main(["--help"])
        assert "Added commands\n  gini         Measure how unequal" in capsys.readouterr().out
        with pytest.raises(SystemExit) as stop:
            program.main(["gini", "--help"])
        assert stop.value.code == 0
        shown = capsys.readouterr().out
        assert "The total of each agent." in shown
        assert "(default: )" not in shown  # which the tests of all commands refuse

    def test_bad_input_is_one_sentence(self, page, capsys):
        assert "must be numbers, got 'many'" in refused(capsys, "gini", "many")
        assert "did you mean 'gini'?" in refused(capsys, "ginni", 1)
        with pytest.raises(ValueError, match="command 'gini' exists already"):
            program.add(page["gini"])

    def test_a_missing_library_is_named_with_the_extra(self, page, capsys):
        def draw_it() -> None:
            """Draw it."""
            raise ModuleNotFoundError(name="plotly")

        program.add(draw_it, extra="report")
        assert "this command needs plotly, which is not installed: pip install 'bygones[report]'" in refused(
            capsys, "draw-it"
        )


class TestLogFormat:
    @pytest.fixture
    def log(self, page, folder):
        return folder / "accounting.log"

    def test_it_is_recognised_and_read(self, page, log):
        # Ana: 8 CPUs for one hour. Ben: 2 CPUs for two and a half.
        assert received_in(log) == {"ana": 8.0, "ben": 5.0}
        assert received_in(log, format="pbs", agent="group") == {"physics": 13.0}
        with read_history(log, time_zone="Europe/Berlin") as history:
            assert (history.first, history.last) == (1772445600e6, 1772454600e6)

    def test_the_command_line_knows_it(self, page, log, capsys, monkeypatch):
        assert "ncpus-hours" in run(capsys, "audit", log, "--json")
        assert "must be one of auto, kueue, ledger, pbs, prometheus, sacct, swf, table, got 'lsf'" in refused(
            capsys, "audit", log, "--format", "lsf"
        )
        monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit):
            program.main(["audit", "--help"])
        assert "-o json; pbs, accounting logs of PBS" in capsys.readouterr().out

    def test_bad_logs_are_refused_with_their_row(self, page, log, tmp_path):
        with pytest.raises(ValueError, match=r"accounting.log, row 2: the job has no 'Resource_List.ngpus', only user"):
            read_history(log, resource="ngpus")
        bad = tmp_path / "bad.log"
        bad.write_text(log.read_text() + "and so on\n")
        with pytest.raises(
            ValueError, match=r"bad.log, row 4: expected DATE TIME;TYPE;JOB;KEY=VALUE …, got 'and so on'"
        ):
            read_history(bad)

    def test_it_is_given_regular_files_only(self, page, log, tmp_path, monkeypatch):
        """A format that opens whatever it is given would wait for ever for a pipe on which nobody writes."""
        asked, pipe = [], tmp_path / "pipe"
        os.mkfifo(pipe)
        monkeypatch.setitem(
            sys.modules,
            "everything",
            SimpleNamespace(recognises=lambda path: not asked.append(path), read=asked.append),
        )
        monkeypatch.setattr(formats, "FORMATS", {"everything": formats.LogFormat("everything", "everything")})
        assert formats.recognised(log) == "everything"
        assert formats.recognised(pipe) is None
        with pytest.raises(ValueError, match="pipe is a device or a pipe"):
            read_history(pipe, format="everything")
        assert asked == [log]

    def test_a_name_is_not_taken_twice(self, page):
        for name in ("sacct", "auto", "pbs"):
            with pytest.raises(ValueError, match=f"format '{name}' exists already"):
                formats.add(name, "another", "another")


def received_in(log, **options):
    with read_history(log, **options) as history:
        (under,) = audit(history, ["inf"]).to_dict()["half_lives"]
    return {row["agent"]: row["received"] for row in under["agents"]}
