import json
import re
import types

import numpy as np
import pyarrow as pa
import pytest

from bygones.document import terminal
from bygones.paper import criteria
from bygones.paper.cells import MIN_SEEDS, PerSeed
from bygones.paper.claims import CLAIMS, add, judge, select_claims
from bygones.paper.collapse import learned
from bygones.paper.judging import CANNOT_TELL, DOES_NOT_ARISE, FAILS, HOLDS, Claim, combined, departure
from bygones.paper.results import Results
from support import synthetic_results

CELLS_OF_C3 = {"gamma": (0.0, 1.0), "horizon": (10000,), "aggregation": ("additive",)}
CELLS_OF_C13A = {**CELLS_OF_C3, "horizon": (5000, 10000)}
PAPER = [name for name in CLAIMS if name.startswith("C")]


@pytest.fixture(scope="module")
def as_in_the_paper():
    """With twelve seeds, enough to contradict one of 25 comparisons after Holm's correction."""
    return synthetic_results.results(seeds=12)


def words(results, names=tuple(PAPER), **changes):
    return {judged.name: judged.word for judged in judge(results, names, **changes)}


def altered(results, change):
    """The results, but for runs of which `change` gives another Gini."""
    ginis = [change(run) for run in results.settings()]
    new = np.array([old if other is None else other for old, other in zip(results["final_gini"], ginis, strict=True)])
    index = results.table.schema.get_field_index("final_gini")
    return Results(results.table.set_column(index, results.table.schema.field(index), pa.array(new)))


def test_results_as_the_paper_says_make_every_claim_hold(as_in_the_paper):
    assert words(as_in_the_paper) == dict.fromkeys(PAPER, HOLDS)


def test_a_judgement_shows_whether_its_cells_are_fair_and_whether_they_learned(as_in_the_paper):
    (judged,) = judge(as_in_the_paper, ["C3"])
    under = judged.by_scale["window"]
    for runs, cell in zip(under.cells, judged.to_dict()["scales"]["window"]["cells"], strict=True):
        assert cell["n_seeds"] == len(runs) == 12
        assert cell["gini"] == np.median(runs["final_gini"])
        assert cell["learned"] == np.median(learned(runs.settings()[0], runs["final_welfare"]))
    text = terminal.text(judged.document())
    assert "Is it fair, did it learn?" in text
    assert len(re.findall("^ (?:egalitarian|nash) +(?:myopic|perfect recall) ", text, re.MULTILINE)) == 4


def test_every_claim_says_what_it_is(as_in_the_paper):
    for judged in judge(as_in_the_paper):
        assert judged.claim.endswith(".")
        assert judged.criterion.endswith(".")
        assert judged.asked.known.endswith(".")
        assert "`" not in judged.criterion
        assert bool(judged.asked.quotes) == judged.name.startswith("C")
        assert set(judged.by_scale) <= {"window"}
    assert all(judged.by_scale["window"].comparisons for judged in judge(as_in_the_paper, PAPER))


def test_the_claims_are_the_thirteen_with_their_parts():
    numbers = dict.fromkeys(int(name.strip("Cabcd")) for name in PAPER)
    assert list(numbers) == list(range(1, 14))
    assert [claim.name for claim in select_claims(["C4", "C7"])] == ["C4a", "C4b", "C7"]
    assert [claim.name for claim in select_claims(["C1"])] == ["C1a", "C1b"]


def test_a_judgement_is_json_with_everything_in_it(as_in_the_paper):
    (judged,) = judge(as_in_the_paper, ["C3"])
    found = json.loads(json.dumps(judged.to_dict(), allow_nan=False))
    assert found["quotes"][0]["text"].startswith("At T=10,000, its ability")
    assert found["quotes"][0]["place"].startswith("Section 6.2")
    assert found["known_before"]
    assert "sign tests at 1.25% on each side, with the 97.5% interval" in found["test"]
    assert found["counted"] == "holds under 1 of 1 scales with egalitarian welfare and Nash welfare"
    (made,) = found["scales"]["window"]["welfares"]["nash"]["comparisons"]
    assert made["n_seeds"] == 12
    assert {"interval", "p_holds", "p_fails", "p_adjusted", "as_claimed", "mean", "seeds"} <= set(made)
    assert made["asked"] == [None, 0.05]


RECALL_AT_500 = (1.0, "additive", 500)
RECALL_NEVER_COLLAPSES = {"C3", "C6a", "C6c", "C10a", "C11"}
FAIR_AFTER_A_MILLION = {"C13a", "C13b"}


@pytest.mark.soak
@pytest.mark.parametrize(
    ("change", "failing", "not_arising"),
    [
        (lambda run: 0.05 if run.gamma == 1.0 and run.horizon >= 5000 else None,
         RECALL_NEVER_COLLAPSES, FAIR_AFTER_A_MILLION),
        (lambda run: 0.0 if run.gamma == 0 and run.horizon == 100 and run.aggregation == "averaged" else None,
         {"C1a", "C10c", "C10d"}, set()),
        (lambda run: 0.3 if (run.gamma, run.aggregation, run.horizon) == RECALL_AT_500 else None, {"C2", "C5a"}, set()),
        (lambda run: 0.44 if run.gamma == 1.0 and run.total_steps > 1_000_000 else None, {"C13a"}, set()),
        (lambda run: 0.3 if run.gamma == 0.999 and run.horizon == 10000 and run.aggregation == "additive" else None,
         {"C4b", "C6b"}, set()),
        (lambda run: 0.3 if run.gamma != 1.0 and run.horizon == 500 and run.aggregation == "additive" else None,
         {"C4a", "C4b", "C5a", "C7", "C8", "C9"}, set()),
        (lambda run: 0.04 if run.gamma == 0.9 and run.welfare == "egalitarian" else None, {"C8", "C12"}, set()),
        (lambda run: 0.3 if (run.gamma, run.aggregation, run.horizon) == (0.9, "averaged", 5000) else None,
         {"C10b", "C10d"}, set()),
        (lambda run: 0.05 if (run.gamma, run.aggregation, run.weight) == (0.9, "averaged", 0.9) else None,
         {"C12"}, set()),
    ],
)  # fmt: skip
def test_each_claim_fails_where_its_own_words_fail(as_in_the_paper, change, failing, not_arising):
    judged = words(altered(as_in_the_paper, change))
    not_holding = {name: word for name, word in judged.items() if word != HOLDS}
    assert {name for name, word in not_holding.items() if word == DOES_NOT_ARISE} == not_arising
    assert CANNOT_TELL not in not_holding.values()
    assert set(not_holding) - not_arising == failing


def test_a_claim_does_not_arise_where_the_opposite_of_its_condition_is_shown():
    fair = synthetic_results.results(lambda run: 0.45 if run.gamma == 0 else 0.05, extra=False, **CELLS_OF_C13A)
    (judged,) = judge(fair, ["C13a"])
    assert judged.word == DOES_NOT_ARISE
    assert judged.counted == "does not arise under 1 of 1 scales with egalitarian welfare and Nash welfare"
    assert judged.by_scale["window"].reason == (
        "perfect recall is shown to be fair after a million steps, so there is nothing to catch up on"
    )


def test_unfair_and_catching_up_must_be_shown_at_the_same_horizon():
    """Perfect recall that is unfair at one horizon and catches up at another, where nobody can tell, proves nothing."""

    def gini(run):
        if run.gamma == 0:
            return 0.45
        if run.horizon == 5000:
            return 0.05 if run.total_steps == criteria.MORE_STEPS or run.seed % 2 else 0.4
        return 0.4

    short = synthetic_results.results(gini, extra=False, **CELLS_OF_C13A)
    longer = synthetic_results.results(
        gini, extra=False, **CELLS_OF_C13A | {"gamma": (1.0,), "total_steps": criteria.MORE_STEPS}
    )
    both = Results(pa.concat_tables([short.table, longer.table]))
    (judged,) = judge(both, ["C13a"])
    assert judged.word == CANNOT_TELL
    unfair_at_both = altered(
        both, lambda run: 0.4 if run.gamma == 1 and run.total_steps < criteria.MORE_STEPS else None
    )
    (judged,) = judge(unfair_at_both, ["C13a"])
    assert judged.word == HOLDS


@pytest.mark.parametrize(
    ("several", "one"),
    [
        ([HOLDS, DOES_NOT_ARISE], HOLDS),
        ([FAILS, DOES_NOT_ARISE, FAILS], FAILS),
        ([HOLDS, FAILS, DOES_NOT_ARISE], "depends"),
        ([HOLDS, CANNOT_TELL, DOES_NOT_ARISE], CANNOT_TELL),
        ([DOES_NOT_ARISE, DOES_NOT_ARISE], DOES_NOT_ARISE),
        ([DOES_NOT_ARISE, CANNOT_TELL], CANNOT_TELL),
        ([], CANNOT_TELL),
    ],
)
def test_where_a_claim_does_not_arise_it_has_no_say(several, one):
    assert combined(several, "depends") == one


def test_scales_that_disagree_make_a_claim_depend_on_them():
    both = synthetic_results.results(scales=("none", "window"), extra=False, **CELLS_OF_C3)
    both = altered(both, lambda run: 0.05 if (run.gamma, run.observation_scale) == (1.0, "window") else None)
    (judged,) = judge(both, ["C3"])
    assert judged.word == "depends on the observation scale"
    assert {scale: found.word for scale, found in judged.by_scale.items()} == {"none": HOLDS, "window": FAILS}
    assert judged.counted.startswith("holds under 1, fails under 1 of 2 scales with egalitarian welfare")


def test_welfare_functions_that_disagree_are_told_apart():
    both = synthetic_results.results(scales=("none", "window"), extra=False, **CELLS_OF_C3)
    fair = altered(both, lambda run: 0.05 if (run.gamma, run.welfare) == (1.0, "nash") else None)
    (judged,) = judge(fair, ["C3"])
    assert judged.word == "depends on the welfare function"
    assert judged.by_welfare == {
        "egalitarian": {"none": HOLDS, "window": HOLDS},
        "nash": {"none": FAILS, "window": FAILS},
    }
    crossed = altered(both, lambda run: 0.05 if run.gamma == 1 and (run.welfare == "nash") == (
        run.observation_scale == "window") else None)  # fmt: skip
    assert judge(crossed, ["C3"])[0].word == "depends on the observation scale"


def test_a_scale_that_cannot_tell_is_not_lost():
    both = synthetic_results.results(scales=("none", "window"), extra=False, **CELLS_OF_C3)
    unsure = altered(both, lambda run: 0.05 if (run.gamma, run.observation_scale) == (1.0, "none")
                     and run.seed % 2 else None)  # fmt: skip
    (judged,) = judge(unsure, ["C3"])
    assert judged.word == CANNOT_TELL
    assert "holds under 1, cannot tell under 1 of 2 scales" in judged.counted


def test_runs_are_shared_between_scales_that_show_the_same():
    some = {"extra": False, "welfare": ("nash",), "gamma": (0.0, 1.0)}
    few = synthetic_results.results(scales=("window",), **some)
    many = synthetic_results.results(scales=("none",), seeds=20, **some)
    both = Results(pa.concat_tables([few.table, many.table]))
    n_seeds = {
        (judged.name, scale): {len(made.seeds[0]) for made in found.by_welfare["nash"].comparisons}
        for judged in judge(both, ["C1b", "C2", "C10a"])
        for scale, found in judged.by_scale.items()
    }
    myopic, averaged, additive = ("C1b", "window"), ("C10a", "window"), ("C2", "window")
    assert (n_seeds[myopic], n_seeds[averaged], n_seeds[additive]) == ({20}, {20}, {10})


def test_too_few_seeds_are_not_judged():
    few = synthetic_results.results(seeds=MIN_SEEDS - 1, extra=False, aggregation=("additive",))
    assert words(few) == dict.fromkeys(PAPER, CANNOT_TELL)
    (judged,) = judge(few, ["C2"])
    assert judged.by_scale["window"].by_welfare["egalitarian"].reason == (
        "egalitarian additive, perfect recall, T = 100: 9 seeds, at least 10 are needed"
    )
    assert words(Results(few.table.slice(0, 0))) == dict.fromkeys(PAPER, CANNOT_TELL)


def test_runs_of_another_protocol_are_judged_apart(as_in_the_paper):
    assert words(as_in_the_paper, ["C2"], ends="termination") == {"C2": CANNOT_TELL}


def test_unknown_claims_are_refused(as_in_the_paper):
    with pytest.raises(ValueError, match=r"a claim must be one of C1a, .*, B5, got C14"):
        judge(as_in_the_paper, ["C14"])


def test_runs_that_broke_off_do_not_count(as_in_the_paper):
    table = as_in_the_paper.table
    index = table.schema.get_field_index("stopped_at")
    broken = table.set_column(index, table.schema.field(index), [[4096] * len(table)])
    assert words(Results(broken), ["C2"]) == {"C2": CANNOT_TELL}


def curves(*ginis, steps):
    """Runs with these curves of the Gini coefficient, recorded after these steps."""
    return types.SimpleNamespace(curves=lambda metric: (np.array(steps), np.array(ginis)))


def test_a_run_is_fair_once_it_stays_so():
    """At first every policy acts nearly at random, which is fair: that is not what a run has learned."""
    at_once, later, never = (0.1, 0.1, 0.1, 0.1), (0.1, 0.4, 0.1, 0.1), (0.1, 0.1, 0.1, 0.4)
    runs = curves(at_once, later, never, steps=(10, 20, 30, 40))
    assert criteria._steps_until_it_stays_below(0.2, runs).tolist() == [10, 30, criteria.MORE_STEPS]


def test_steps_grow_with_the_horizon_but_not_because_long_runs_are_recorded_less_often():
    by_horizon = [(10, 10), (10, 20), (10, 30), (100, 200), (100, 400)]
    steps = [PerSeed(dict(enumerate(some))) for some in by_horizon]
    assert criteria._growth(steps, least=100).by_seed == {0: 0.0, 1: pytest.approx(0.894, abs=0.001)}
    assert criteria._growth(steps, least=1).by_seed[0] > 0.8


def test_runs_that_end_unfair_do_not_differ_by_how_long_they_were():
    """Perfect recall after ten million steps and γ = 0.99 after one: neither is fair, so neither is shown slower."""

    def gini(run):
        return 0.45 if run.gamma == 0 or run.horizon >= 5000 else 0.05

    some = {"extra": False, "aggregation": ("additive",)}
    short = synthetic_results.results(gini, gamma=(0.0, 0.99, 1.0), **some)
    long = synthetic_results.results(gini, gamma=(1.0,), horizon=(5000, 10000), total_steps=criteria.MORE_STEPS, **some)
    (judged,) = judge(Results(pa.concat_tables([short.table, long.table])), ["C13b"])
    slower = [made for made in judged.by_scale["window"].comparisons if made.what.startswith("steps until")]
    assert {made.value for made in slower} == {0.0}
    assert judged.word == FAILS


def test_criteria_name_values_not_constants(as_in_the_paper):
    found = {judgement.name: judgement.criterion for judgement in judge(as_in_the_paper, ["C1b", "C3"])}
    assert found["C3"].endswith(f"by less than {criteria.MARGIN}.")
    assert found["C1b"].endswith("lies in the range 1.7 to 1.9.")


def test_claims_of_your_own_need_a_name_of_their_own():
    with pytest.raises(ValueError, match="claim C2 exists already"):
        add(Claim("C2", "another", "criterion", lambda cells, welfare: []))
    add(CLAIMS["C2"])


def test_runs_that_differ_in_any_setting_are_not_mixed_in(as_in_the_paper):
    others = synthetic_results.results(lambda run: 0.5, extra=False, n_agents=12)
    mixed = Results(pa.concat_tables([as_in_the_paper.table, others.table]))
    assert judge(mixed, ["C2"])[0].word == judge(as_in_the_paper, ["C2"])[0].word == HOLDS
    assert judge(mixed, ["C2"], n_agents=12)[0].word == FAILS
    assert departure(others) == {"n_agents": 12}
    assert departure(mixed) == {}
