"""The shipped evidence is the test: a verdict that changes fails here until someone has looked at it."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from bygones.paper.claims import judge
from bygones.paper.judging import CANNOT_TELL, TOO_FEW
from bygones.paper.results import read
from bygones.report.paper.without_training import COLUMNS, problems_of, rows, sentence

ROOT = Path(__file__).parents[2]
SCALES = ("none", "fixed", "window", "expected", "relative")


@pytest.fixture(scope="module")
def evidence():
    return read(*sorted((ROOT / "evidence" / "grid").iterdir()))


@pytest.fixture(scope="module")
def judgements(evidence):
    return judge(evidence)


def test_every_run_is_there_and_finished(evidence):
    assert len(evidence) == 10_950
    assert not np.isfinite(evidence["stopped_at"].astype(float)).any()
    protocol = {"total_steps": 1_000_000, "observe_denominator": False, "ends": "truncation", "shaping_discount": 1.0}
    for scale in SCALES:
        assert len(evidence.where(**protocol, observation_scale=scale)) == 1250
    for change in ({"ends": "termination"}, {"shaping_discount": 0.99}):
        for scale in ("none", "window"):
            assert len(evidence.where(**{**protocol, **change}, observation_scale=scale)) == 1000


def test_the_verdicts_are_those_that_the_note_gives(judgements):
    rows = rows_of_the_note(5)
    for judgement in judgements:
        if judgement.asked.quotes:
            found = [words(judgement, scale) for scale in SCALES]
            assert found == rows[judgement.name], judgement.name


def test_the_note_quotes_the_paper_and_gives_every_criterion(judgements):
    note = " ".join((ROOT / "docs" / "claims.md").read_text(encoding="utf-8").split())
    for judgement in judgements:
        assert f"{judgement.name}. {judgement.claim}" in note
        assert f"**Criterion.** {judgement.criterion}" in note
        assert f"**Known before.** {judgement.asked.known}" in note
        assert f"**Verdict.** {judgement.word.capitalize()}" in note
        for quote in judgement.asked.quotes:
            assert f"> {quote.text} ({quote.place})" in note.replace(" > ", " ").replace(quote.text, f"> {quote.text}")


@pytest.mark.soak
def test_so_are_those_under_other_protocols(evidence):
    rows = rows_of_the_note(4)
    both = judge(evidence, ends="termination"), judge(evidence, shaping_discount=0.99)
    for termination, shaping in zip(*both, strict=True):
        if termination.asked.quotes:
            found = [words(one, scale) for one in (termination, shaping) for scale in ("none", "window")]
            assert found == rows[termination.name], termination.name


@pytest.mark.parametrize("welfare", ["egalitarian", "nash"])
def test_the_note_shows_the_rules_beside_the_trained(evidence, welfare):
    note = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    runs = problems_of({"evidence": evidence})[welfare]
    assert sentence(runs) in " ".join(note.split())
    assert f"| {' | '.join([f'{welfare}, memory', *COLUMNS[1:]])} |" in note
    for row in rows(runs):
        assert f"| {' | '.join(row)} |" in note


def rows_of_the_note(columns):
    """The verdicts in the note's table with so many columns of them, by claim."""
    note = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| (C\d+[ab]?) [^|]*" + r"\| ([^|]+) " * columns + r"\|$", note, re.MULTILINE)
    assert len(found) == 18
    return {name: cells for name, *cells in found}


def words(judgement, scale):
    """As the note writes them: egalitarian, Nash, once if they are the same; a question mark where seeds cannot tell,
    a dash where there are no runs."""
    signs = {CANNOT_TELL: "?", TOO_FEW: "–"}
    found = judgement.by_scale[scale].by_welfare.values()
    return ", ".join(dict.fromkeys(signs.get(verdict.short, verdict.short) for verdict in found))


def test_updates_on_a_core_learn_what_those_on_a_gpu_learn():
    batched, native = (read(ROOT / "evidence" / "same-learning" / name) for name in ("ours", "ours-on-a-core"))
    chances, inside = [], 0
    for settings in {run.replace(seed=0) for run in native.settings()}:
        cell = {"welfare": settings.welfare, "gamma": settings.gamma, "horizon": settings.horizon}
        many, few = batched.where(**cell), native.where(**cell)
        assert (len(many), len(few)) == (100, 10)
        metrics = [(many[f"final_{m}"], few[f"final_{m}"]) for m in ("gini", "welfare", "utility_per_step")]
        chances += [stats.mannwhitneyu(*pair).pvalue for pair in metrics]
        inside += int(((metrics[0][1] >= metrics[0][0].min()) & (metrics[0][1] <= metrics[0][0].max())).sum())
    assert len(chances) == 12
    reported = re.search(
        r"p-values from (\S+) to (\S+), and (\d+) of the 40", (ROOT / "evidence" / "README.md").read_text()
    )
    assert reported is not None
    assert (f"{min(chances):.2f}", f"{max(chances):.2f}", str(inside)) == reported.groups()
