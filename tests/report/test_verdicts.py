"""Verdicts as a page shows them."""

import numpy as np
import pytest
from markupsafe import escape

from bygones.paper.cells import PerSeed
from bygones.paper.claims import judge
from bygones.paper.judging import CANNOT_TELL, FAILS, TOO_FEW, difference_within, number_within
from bygones.paper.paper_claims import PAPER_CLAIMS
from bygones.report.paper.verdicts import (
    ALL_SHOWN,
    GROUPS,
    SCALES,
    SOME_SHOWN,
    Row,
    beyond,
    claims_html,
    grouped,
    seeds_drawing,
)
from support import synthetic_results


@pytest.fixture(scope="module")
def judged():
    return judge(synthetic_results.results(seeds=10, scales=("window",)))


def test_every_claim_is_in_the_group_of_its_verdict(judged):
    groups = grouped({"evidence": judged})
    of_the_paper = {one.name: one.word for one in judged if one.asked.quotes}
    assert {claim.name: word for word, some in groups.items() for claim in some} == of_the_paper
    assert list(groups) == [word for word in GROUPS if word in groups]
    assert [claim.name for claim in beyond({"evidence": judged})] == ["B1", "B2", "B3", "B4", "B5"]


def test_deciding_comparisons_come_first(judged):
    claims_by_name = {claim.name: claim for some in grouped({"evidence": judged}).values() for claim in some}
    (c1,) = claims_by_name["C1a"].by_set["evidence"]
    assert len(c1.first) == SOME_SHOWN
    assert len(c1.first) + len(c1.rest) == len(judged[0].by_scale["window"].comparisons)
    (c3,) = claims_by_name["C3"].by_set["evidence"]
    assert len(c3.first) == 2 <= ALL_SHOWN
    assert not c3.rest
    assert [(chip.of, chip.word) for chip in c3.chips] == [("egalitarian welfare", "holds"), ("Nash welfare", "holds")]
    unfair = synthetic_results.results(lambda run: 0.4, extra=False, aggregation=("additive",))
    (failed,) = grouped({"own": judge(unfair, ["C9"])})[FAILS][0].by_set["own"]
    assert failed.first[0].outcome.of == "not as claimed"
    assert failed.first[0].share == "0 of 10"


def test_other_sets_are_shown_where_they_could_be_judged(judged):
    single = judge(synthetic_results.results(seeds=1, scales=("window",)))
    groups = grouped({"evidence": judged, "your runs": single})
    assert [set(claim.by_set) for some in groups.values() for claim in some] == [{"evidence"}] * len(PAPER_CLAIMS)
    alone = grouped({"your runs": single})
    assert list(alone) == [CANNOT_TELL]
    assert {one.word for claim in alone[CANNOT_TELL] for one in claim.by_set["your runs"]} == {TOO_FEW}


def test_a_claim_is_shown_with_its_sentence_criterion_and_verdict(judged):
    html = claims_html(grouped({"evidence": judged}))
    for judgement in judged:
        if judgement.asked.quotes:
            assert f'id="{judgement.name}"' in html
            for text in (judgement.claim, judgement.criterion, judgement.asked.known, judgement.asked.quotes[0].text):
                assert str(escape(text)) in html
    assert '<span aria-hidden="true">●</span> holds' in html
    assert "97.5% interval" in html
    assert SCALES["window"] in html


def test_numbers_of_a_column_have_as_many_decimals():
    a, b = (PerSeed(dict(enumerate(values))) for values in (np.linspace(0.1, 0.3, 11), [0.40004, *[0.4] * 10]))
    row = Row.of(difference_within("x", a, b, high=0.0))
    assert (row.value, row.mean, row.share) == ("−0.200", "−0.200", "11 of 11")
    assert row.interval == "−0.280 to −0.120"
    assert row.chances == "<0.001 / 1"
    unsure = Row.of(number_within("y", -0.0001, high=0.0))
    assert (unsure.value, unsure.mean, unsure.share) == ("0.000", "", "")


def test_seeds_are_dots():
    drawing = seeds_drawing([[0.0, 1.0, 0.5], [1.0]])
    assert drawing.count("z") == 4
    assert "M4 5zm46 0zm46 0z" in drawing
    assert "M96 14z" in drawing
    assert 'aria-label="3 seeds from 0 to 1; one seed at 1"' in drawing
    assert "M4 5z" in seeds_drawing([[2.0]])
    assert seeds_drawing([[0.0, 1.0, 1e-6, 1.0]]).count("z") == 2
    assert seeds_drawing([]) == ""
