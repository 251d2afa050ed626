"""The shipped evidence is the test: a verdict that changes fails here until someone has looked at it."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from bygones.paper.claims import judge
from bygones.paper.results import read
from bygones.report.paper.note import parts, with_parts
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


def test_the_note_is_what_the_evidence_says(evidence):
    """Every verdict, quote and criterion; `python -m bygones.report.paper.note` writes them anew."""
    note = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    assert with_parts(note, parts(evidence)) == note


def test_a_note_without_one_of_its_parts_is_refused():
    with pytest.raises(ValueError, match="must have one part <!-- verdicts --> … <!-- end -->, got 0"):
        with_parts("A note.", {"verdicts": "| claim |"})


@pytest.mark.parametrize("name", ["C7", "C8", "C12", "C1a"])
def test_what_holds_everywhere(judgements, name):
    assert {judged.name: judged.word for judged in judgements}[name] == "holds"


@pytest.mark.parametrize("welfare", ["egalitarian", "nash"])
def test_the_note_shows_the_rules_beside_the_trained(evidence, welfare):
    note = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    runs = problems_of({"evidence": evidence})[welfare]
    assert sentence(runs) in " ".join(note.split())
    assert f"| {' | '.join([f'{welfare}, memory', *COLUMNS[1:]])} |" in note
    for row in rows(runs):
        assert f"| {' | '.join(row)} |" in note


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
