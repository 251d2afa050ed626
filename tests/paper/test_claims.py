import json
import math

import numpy as np
import pyarrow as pa
import pytest

from bygones.paper import claims, judging, statistics
from bygones.paper.claims import CLAIMS, judge
from bygones.paper.judging import FAILS, HOLDS, departure, difference_within, mean_within, number_within
from bygones.paper.results import Results
from support import synthetic_results


@pytest.fixture(scope="module")
def as_in_the_paper():
    return synthetic_results.results(seeds=4)


def words(results, names=tuple(CLAIMS), **changes):
    return {judged.name: judged.word for judged in judge(results, names, **changes)}


def altered(results, change):
    """The results, but for runs of which `change` gives another Gini."""
    ginis = [change(run) for run in results.settings()]
    new = np.array([old if other is None else other for old, other in zip(results["final_gini"], ginis, strict=True)])
    index = results.table.schema.get_field_index("final_gini")
    return Results(results.table.set_column(index, results.table.schema.field(index), pa.array(new)))


@pytest.fixture(autouse=True)
def quickly(monkeypatch):
    monkeypatch.setattr(statistics, "RESAMPLES", 300)


def test_results_as_the_paper_says_make_every_claim_hold(as_in_the_paper):
    assert words(as_in_the_paper) == dict.fromkeys(CLAIMS, "holds")


def test_every_claim_has_its_text_and_its_criterion(as_in_the_paper):
    assert list(CLAIMS) == [f"C{i}" for i in range(1, 14)]
    for judged in judge(as_in_the_paper):
        assert judged.claim.endswith(".")
        assert judged.criterion
        assert judged.by_scale["window"].comparisons
    json.dumps([judged.to_dict() for judged in judge(as_in_the_paper, ["C3", "C11"])])


RECALL_AT_500 = (1.0, "additive", 500)
RECALL_NEVER_COLLAPSES = {"C3", "C6", "C10", "C11", "C13"}


@pytest.mark.parametrize(
    ("change", "failing"),
    [
        (lambda run: 0.05 if run.gamma == 1.0 and run.horizon >= 5000 else None, RECALL_NEVER_COLLAPSES),
        (lambda run: 0.0 if run.gamma == 0 and run.horizon == 100 and run.aggregation == "averaged" else None, {"C1"}),
        (lambda run: 0.3 if (run.gamma, run.aggregation, run.horizon) == RECALL_AT_500 else None, {"C2", "C5"}),
        (lambda run: 0.3 if run.gamma == 0.99 and run.welfare == "nash" and run.horizon == 500 else None, {"C4", "C9"}),
        (lambda run: 0.3 if run.gamma == 0.9 and run.welfare == "nash" and run.horizon == 500 else None, {"C4", "C7"}),
        (lambda run: 0.09 if run.gamma == 0.999 and run.horizon == 10000 else None, {"C6"}),
        (lambda run: 0.04 if run.gamma == 0.9 and run.welfare == "egalitarian" else None, {"C8", "C12"}),
        (lambda run: 0.3 if (run.gamma, run.aggregation, run.horizon) == (0.9, "averaged", 5000) else None, {"C10"}),
        (lambda run: 0.05 if (run.gamma, run.aggregation, run.weight) == (0.9, "averaged", 0.9) else None, {"C12"}),
    ],
)  # fmt: skip
def test_each_claim_fails_where_its_own_words_fail(as_in_the_paper, change, failing):
    judged = words(altered(as_in_the_paper, change))
    assert {name for name, word in judged.items() if word == "fails"} == failing
    assert {name for name, word in judged.items() if word == "holds"} == set(CLAIMS) - failing


def test_scales_that_disagree_make_a_claim_depend_on_them():
    both = synthetic_results.results(seeds=3, scales=("none", "window"), extra=False)
    both = altered(both, lambda run: 0.05 if (run.gamma, run.observation_scale) == (1.0, "window") else None)
    (judged,) = judge(both, ["C3"])
    assert judged.word == "depends on the observation scale"
    assert {scale: found.word for scale, found in judged.by_scale.items()} == {"none": "holds", "window": "fails"}


def test_too_few_seeds_are_not_judged():
    few = synthetic_results.results(seeds=2, extra=False)
    assert words(few) == dict.fromkeys(CLAIMS, "not enough runs")
    (judged,) = judge(few, ["C2"])
    assert judged.by_scale["window"].reason == (
        "egalitarian additive, perfect recall, T = 100: 2 seeds, at least 3 are needed"
    )
    assert words(Results(few.table.slice(0, 0))) == dict.fromkeys(CLAIMS, "not enough runs")


def test_runs_of_another_protocol_are_judged_apart(as_in_the_paper):
    assert words(as_in_the_paper, ["C2"], ends="termination") == {"C2": "not enough runs"}


def test_unknown_claims_are_refused(as_in_the_paper):
    with pytest.raises(ValueError, match=r"a claim must be one of C1, .*, C13, got C14"):
        judge(as_in_the_paper, ["C14"])


def test_runs_that_broke_off_do_not_count(as_in_the_paper):
    table = as_in_the_paper.table
    index = table.schema.get_field_index("stopped_at")
    broken = table.set_column(index, table.schema.field(index), [[4096] * len(table)])
    assert words(Results(broken), ["C2"]) == {"C2": "not enough runs"}


def test_seeds_that_cannot_tell():
    split = [0.02, 0.02, 0.02, 0.4, 0.4]
    found = mean_within("Gini", split, high=0.11)
    assert found.outcome is None
    assert found.splits
    assert "at most 0.11? the seeds cannot tell" in str(found)
    made = judging.verdict(lambda cells: [found], None)
    assert made.word == "not enough runs"


def test_comparisons_carry_the_middle_half_and_standard_errors():
    a, b = [0.1, 0.2, 0.3, 0.9], [0.1, 0.1, 0.1, 0.1]
    made = difference_within("x", a, b)
    assert made.middle == pytest.approx(0.15)
    assert made.middle_interval.low <= made.middle <= made.middle_interval.high
    assert made.errors == pytest.approx((np.std(a, ddof=1) / 2, 0.0))
    alone = mean_within("x", a)
    assert alone.middle_interval.low <= 0.25 <= alone.middle_interval.high
    assert alone.errors == made.errors[:1]
    assert {"middle_interval", "errors", "seeds"} <= set(made._asdict())


def test_comparisons():
    assert mean_within("x", [1.0, 1.1, 0.9], 0.5, 1.5).outcome is True
    assert mean_within("x", [1.0, 1.1, 0.9], low=1.5).outcome is False
    assert "between 0.5 and 1.5? yes" in str(mean_within("x", [1.0, 1.1, 0.9], 0.5, 1.5))
    apart = difference_within("x", [3.0, 3.1, 3.2], [1.0, 1.1, 1.2], low=1.0)
    assert apart.outcome is True
    assert apart.effect == 1.0
    assert apart.value == pytest.approx(2.0)
    assert apart.middle == pytest.approx(2.0)
    assert "at least 1? yes" in str(apart)
    assert number_within("x", -1.0, high=0.0).outcome is True
    assert number_within("x", 1.0, high=0.0).outcome is False


def test_steps_until_fair_are_all_steps_where_it_never_is():
    never = synthetic_results.results(lambda run: 0.4, seeds=3, extra=False).where(gamma=1.0, horizon=10000)
    assert set(claims._steps_until_below(0.2, never)) == {1_000_001}
    assert set(claims._steps_until_below(0.5, never)) == {1}
    assert math.isinf(number_within("x", 0.0).asked.low)


def test_criteria_name_values_not_constants(as_in_the_paper):
    criteria = {judgement.name: judgement.criterion for judgement in judge(as_in_the_paper, ["C1", "C3"])}
    assert f"by more than {claims.MARGIN}, and" in criteria["C1"]
    assert criteria["C1"].endswith("lies in the range 1.7 to 1.9.")
    assert "`" not in "".join(criteria.values())


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(-np.inf, 0.05, "at most 0.05"), (0.5, np.inf, "at least 0.5"), (1.7, 1.9, "between 1.7 and 1.9")],
)
def test_what_is_asked_in_words(low, high, words):
    assert mean_within("utility", [1.8, 1.8], low, high).wanted == words


def test_runs_that_differ_in_any_setting_are_not_mixed_in(as_in_the_paper):
    others = synthetic_results.results(lambda run: 0.5, extra=False, n_agents=12)
    mixed = Results(pa.concat_tables([as_in_the_paper.table, others.table]))
    assert judge(mixed, ["C2"])[0].word == judge(as_in_the_paper, ["C2"])[0].word == HOLDS
    assert judge(mixed, ["C2"], n_agents=12)[0].word == FAILS
    assert departure(others) == {"n_agents": 12}
    assert departure(mixed) == {}
