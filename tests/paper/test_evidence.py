"""The shipped evidence is the test: a verdict that changes fails here until someone has looked at it."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from bygones.paper.claims import RECALL, judge
from bygones.paper.columns import SETTINGS
from bygones.paper.judging import PROTOCOL
from bygones.paper.policy_worth import most_for_the_least
from bygones.paper.results import read
from bygones.report.paper.note import parts, with_parts

ROOT = Path(__file__).parents[2]
WITH_LESS_WEIGHT = ("none", "fixed", "window", "expected", "relative")
SCALES = (*WITH_LESS_WEIGHT, "running")


def says(text):
    """Whether the note has this text, wherever its lines break."""
    return text in " ".join((ROOT / "docs" / "claims.md").read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def evidence():
    return read(*sorted((ROOT / "evidence" / "grid").iterdir()))


@pytest.fixture(scope="module")
def judgements(evidence):
    return judge(evidence)


def test_every_run_is_there_and_finished(evidence):
    assert len(evidence) == 16_220
    assert not np.isfinite(evidence["stopped_at"].astype(float)).any()
    for scale in SCALES:
        assert len(evidence.where(**PROTOCOL, observation_scale=scale, seed=range(10))) == (
            1250 if scale in WITH_LESS_WEIGHT else 1000
        )
    for change in ({"ends": "termination"}, {"shaping_discount": 0.99}):
        for scale in ("none", "window"):
            assert len(evidence.where(**{**PROTOCOL, **change}, observation_scale=scale)) == 1000
    assert len(evidence.where(policy="symmetric")) == 1080


def test_every_cell_has_ten_seeds_or_a_hundred(evidence):
    names = [name for name in SETTINGS if name not in ("seed", "hidden")]
    cells = Counter(zip(*(evidence.table.column(name).to_pylist() for name in names), strict=True))
    assert Counter(cells.values()) == {10: 1272, 100: 35}


def test_the_table_of_folders_has_the_numbers_of_runs():
    """Every folder is listed with the number of its runs, and these add up to the stated total."""
    text = (ROOT / "evidence" / "README.md").read_text(encoding="utf-8")
    total = 0
    for folder in sorted((ROOT / "evidence" / "grid").iterdir()):
        names, counts = re.search(rf"^\| ([^|]*`{folder.name}`[^|]*) \| ([^|]+) \|", text, re.MULTILINE).groups()
        place = re.findall(r"`([^`]+)`", names).index(folder.name)
        numbers = [int(number) for number in re.findall(r"\d+", counts)]
        runs = len(read(folder))
        assert runs == (numbers[0] if "each" in counts else numbers[place])
        total += runs
    assert f"{total:,} runs in total" in text
    assert f"{total:,} runs" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_policy_of_the_second_day_was_evaluated(evidence):
    evaluated = evidence.where(evaluation_episodes=10)
    ways = [evaluated[f"{way}_gini"].astype(float) for way in ("sampled", "deterministic")]
    differences = np.abs(ways[0] - ways[1])
    assert np.isfinite(differences).all()
    assert says(
        f"of {len(evaluated):,} evaluated policies, {(differences > 0.05).mean():.1%} differ by more than 0.05, and "
        f"the largest difference is {differences.max():.2f}"
    )


def test_what_the_note_says_of_two_networks(evidence):
    cell = {"welfare": "egalitarian", "aggregation": "additive", "horizon": 10000}
    shared, paper = (evidence.where(**cell, policy=policy) for policy in ("symmetric", "mlp"))
    recall, best = shared.where(gamma=RECALL), paper["final_utility_least"].max()
    assert recall["final_utility_least"].min() > best
    assert says(
        f"Each of the {len(recall)} runs with a symmetric network is above each of the {len(paper)} runs of the "
        "paper's network at that horizon"
    )
    assert says(f"the best of these gives {best:.4f}")
    logarithmic = recall.where(agent_features="logarithmic")
    least, most = np.median(logarithmic["final_utility_least"]), most_for_the_least(recall.settings()[0])
    assert says(
        f"Gini of {np.median(logarithmic['final_gini']):.3f}, and gives the worst-off agent {least:.4f} a step. "
        f"That is {least / most:.1%} of the best possible, {most:.4f}."
    )
    as_it_is = paper.where(**PROTOCOL, observation_scale="none", gamma=RECALL)["final_gini"]
    assert says(f"{(as_it_is > 0.79).sum()} of {len(as_it_is)} runs of the paper's network end at a Gini above 0.79")


@pytest.mark.soak
def test_the_note_is_what_the_evidence_says(evidence):
    """Every verdict, quote and criterion; `python -m bygones.report.paper.note` writes them anew."""
    note = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    assert with_parts(note, parts(evidence)) == note


def test_a_note_without_one_of_its_parts_is_refused():
    with pytest.raises(ValueError, match="must have one part <!-- verdicts --> … <!-- end -->, got 0"):
        with_parts("A note.", {"verdicts": "| claim |"})


@pytest.mark.soak
@pytest.mark.parametrize("name", ["C1a", "C1b", "C4a", "C7", "C8"])
def test_what_holds_everywhere(judgements, name):
    assert {judged.name: judged.word for judged in judgements}[name] == "holds"


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
