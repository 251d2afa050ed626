"""Verdicts as a page shows them."""

import pytest

from bygones.paper.claims import judge
from bygones.paper.judging import FAILS, HOLDS, NOT_ENOUGH, TOO_FEW, difference_within, number_within
from bygones.report.paper.verdicts import (
    ALL_SHOWN,
    DEPENDS,
    GROUPS,
    SOME_SHOWN,
    Row,
    claims_html,
    grouped,
    seeds_drawing,
)
from support import synthetic_results


@pytest.fixture(scope="module")
def judged():
    return judge(synthetic_results.results(seeds=3, scales=("window",)))


def test_every_claim_is_in_the_group_of_its_verdict(judged):
    groups = grouped({"evidence": judged})
    assert {claim.name: word for word, some in groups.items() for claim in some} == {j.name: j.word for j in judged}
    assert list(groups) == [word for word in GROUPS if word in groups]
    assert set(GROUPS) == {HOLDS, FAILS, DEPENDS, NOT_ENOUGH}


def test_deciding_comparisons_come_first(judged):
    claims_by_name = {claim.name: claim for some in grouped({"evidence": judged}).values() for claim in some}
    (c1,) = claims_by_name["C1"].by_set["evidence"]
    assert len(c1.first) == SOME_SHOWN
    assert len(c1.first) + len(c1.rest) == len(judged[0].by_scale["window"].comparisons)
    (c3,) = claims_by_name["C3"].by_set["evidence"]
    assert len(c3.first) == 2 <= ALL_SHOWN
    assert not c3.rest
    unfair = judge(synthetic_results.results(lambda run: 0.4 + 0.1 * (run.gamma == 1.0), seeds=3, extra=False), ["C1"])
    (failed,) = grouped({"own": unfair})[FAILS][0].by_set["own"]
    assert failed.first[0].outcome_text == "not as claimed"


def test_other_sets_are_shown_where_they_could_be_judged(judged):
    single = judge(synthetic_results.results(seeds=1, scales=("window",)))
    groups = grouped({"evidence": judged, "your runs": single})
    assert all(set(claim.by_set) == {"evidence"} for some in groups.values() for claim in some)
    alone = grouped({"your runs": single})
    assert list(alone) == [NOT_ENOUGH]
    assert {one.chip.word for claim in alone[NOT_ENOUGH] for one in claim.by_set["your runs"]} == {TOO_FEW}


def test_verdicts_are_shown_as_words_and_symbols(judged):
    html = claims_html(grouped({"evidence": judged}))
    for judgement in judged:
        assert f'id="{judgement.name}"' in html
        assert judgement.claim.replace("'", "&#39;") in html
    assert '<span aria-hidden="true">●</span> holds' in html
    assert "95% interval" in html


def test_numbers_of_a_column_have_as_many_decimals():
    row = Row(difference_within("x", [0.1, 0.2, 0.3], [0.40004, 0.4, 0.4], high=0.0))
    assert (row.value, row.middle, row.effect) == ("−0.200", "−0.200", "−1.00")
    assert row.interval == "−0.300 to −0.100"
    unsure = Row(number_within("y", -0.0001, high=0.0))
    assert (unsure.value, unsure.middle, unsure.effect) == ("0.000", "", "")


def test_seeds_are_dots():
    drawing = seeds_drawing([[0.0, 1.0, 0.5], [1.0]])
    assert drawing.count("h0") == 4
    assert "M4 5h0M96 5h0M50 5h0" in drawing
    assert 'aria-label="3 seeds from 0 to 1; one seed at 1"' in drawing
    assert "M4 5h0" in seeds_drawing([[2.0]])
    assert seeds_drawing([]) == ""
