"""The shipped evidence is the test: a verdict that changes fails here until someone has looked at it."""

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from benchmarks.claims_note import history, parts, with_parts
from scipy import stats

from bygones.inequality import gini
from bygones.paper.claims import RECALL, judge
from bygones.paper.columns import SETTINGS
from bygones.paper.grid import HORIZONS
from bygones.paper.judging import LEVEL, PROTOCOL
from bygones.paper.policy_worth import most_for_the_least
from bygones.paper.results import read

ROOT = Path(__file__).parents[2]
SCALES = ("none", "fixed", "window", "expected", "relative", "running")


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
    assert len(evidence) == 29_120
    assert not np.isfinite(evidence["stopped_at"].astype(float)).any()
    for scale in SCALES:
        assert len(evidence.where(**PROTOCOL, observation_scale=scale, seed=range(10))) == 1250
        assert (
            len(evidence.where(**{**PROTOCOL, "total_steps": 10_000_000}, observation_scale=scale, seed=range(10)))
            == 40
        )
    for change in ({"ends": "termination"}, {"shaping_discount": 0.99}):
        for scale in ("none", "window"):
            assert len(evidence.where(**{**PROTOCOL, **change}, observation_scale=scale)) == 1000
    assert len(evidence.where(policy="symmetric", seed=range(10))) == 2080


def test_every_cell_has_ten_seeds_or_a_hundred(evidence):
    names = [name for name in SETTINGS if name not in ("seed", "hidden")]
    cells = Counter(zip(*(evidence.table.column(name).to_pylist() for name in names), strict=True))
    assert Counter(cells.values()) == {10: 1272, 100: 164}


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
        f"{(differences > 0.05).mean():.1%} of {len(evaluated):,} evaluated policies differ by more than 0.05, and "
        f"the largest difference is {differences.max():.2f}"
    )


def test_what_the_note_says_of_two_networks(evidence):
    cell = {"welfare": "egalitarian", "aggregation": "additive", "horizon": 10000}
    shared, paper = (evidence.where(**cell, policy=policy) for policy in ("symmetric", "mlp"))
    recall, best = shared.where(gamma=RECALL), paper["final_utility_least"].max()
    above = int((recall["final_utility_least"] > best).sum())
    assert says(
        f"There are {len(recall)} runs with a symmetric network, and {above} are above each of the {len(paper)} runs "
        "of the paper's network at that horizon"
    )
    assert says(f"The best of the {len(paper)} gives {best:.4f}")
    logarithmic = recall.where(agent_features="logarithmic")
    least, most = np.median(logarithmic["final_utility_least"]), most_for_the_least(recall.settings()[0])
    assert says(
        f"Gini of {np.median(logarithmic['final_gini']):.3f}, and gives the worst-off agent {least:.4f} a step. "
        f"That is {least / most:.1%} of the best possible, {most:.4f}."
    )
    as_it_is = paper.where(**PROTOCOL, observation_scale="none", gamma=RECALL)["final_gini"]
    assert says(f"{(as_it_is > 0.79).sum()} of {len(as_it_is)} runs of the paper's network end at a Gini above 0.79")
    hundredth = paper.where(**PROTOCOL, observation_scale="fixed", gamma=RECALL)["final_gini"]
    tenth = paper.where(observation_scale="fixed", fixed_scale=10.0, gamma=RECALL)["final_gini"]
    assert says(f"has a mean Gini of {hundredth.mean():.2f}. Divided by 10, it has {tenth.mean():.2f}.")
    assert says(f"Divided by 10, {(tenth > 0.5).sum()} of {len(tenth)} end above 0.5 and {(tenth < 0.05).sum()} below")


def test_what_the_note_says_of_other_protocols(evidence):
    def means(gamma, horizons, metric="gini", **change):
        cell = {"welfare": "egalitarian", "aggregation": "additive", "observation_scale": "none", "gamma": gamma}
        runs = evidence.where(**{**PROTOCOL, **change}, **cell)
        return [runs.where(horizon=horizon)[f"final_{metric}"].mean() for horizon in horizons]

    shaped, plain = means(0.99, HORIZONS, shaping_discount=0.99), means(0.99, HORIZONS)
    assert says(
        f"γ=0.99 ends between Gini {min(shaped):.2f} and {max(shaped):.2f} "
        f"instead of {min(plain):.2f} to {max(plain):.2f}"
    )
    ended = {"ends": "termination"}
    (gini_there,), (utility_there,) = means(0.0, [100], **ended), means(0.0, [100], "utility_per_step", **ended)
    (gini_here,), (utility_here,) = means(0.0, [100]), means(0.0, [100], "utility_per_step")
    assert says(
        f"Gini {gini_there:.2f} and utility {utility_there:.2f} per step, "
        f"instead of {gini_here:.2f} and {utility_here:.2f}"
    )
    (faded_there,), (faded_here,) = means(0.99, [10000], **ended), means(0.99, [10000])
    assert says(f"(egalitarian, unscaled: {faded_there:.2f} instead of {faded_here:.2f})")
    (recall_there,), (recall_here,) = means(RECALL, [10000], **ended), means(RECALL, [10000])
    assert says(f"still collapses ({recall_there:.2f} instead of {recall_here:.2f})")


def test_what_the_note_says_of_drawing_lots():
    runs = json.loads((ROOT / "evidence" / "rules" / "untrained.json").read_text(encoding="utf-8"))
    drawn = [run for run in runs if (run["rule"], run["horizon"], run["welfare"]) == ("random", 10000, "egalitarian")]
    lots = np.mean([gini(np.array(received)) for run in drawn for received in run["received"]])
    assert says(f"Drawing lots has a Gini of {lots:.2f} at T=10000")


def test_what_the_note_says_of_two_networks_under_nash_welfare(evidence):
    cell = {"welfare": "nash", "aggregation": "additive", "horizon": 10000, "policy": "symmetric", "gamma": RECALL}
    plain, tenth = (
        evidence.where(**cell, agent_features="plain", observation_scale=scale)["final_gini"]
        for scale in ("none", "fixed")
    )
    logarithmic = evidence.where(**cell, agent_features="logarithmic")["final_gini"]
    assert says(
        f"its median Gini is {np.median(plain):.2f} and {(plain > 0.7).sum()} of {len(plain)} runs end above 0.7. "
        f"Divided by 10, it is {np.median(tenth):.2f}, and {(tenth < 0.37).sum()} of {len(tenth)} runs are below 0.37"
    )
    assert logarithmic.max() < 0.7
    assert says(f"no run collapses, and the median lies at the bar ({np.median(logarithmic):.2f})")


@pytest.mark.soak
def test_what_the_note_says_is_open(judgements):
    by_name = {judged.name: judged for judged in judgements}
    few = {
        judged.name
        for judged in judgements
        for found in judged.by_scale.values()
        for verdict in found.by_welfare.values()
        if verdict.word == "cannot tell"
        and any(made.outcome is None and len(made.seeds[0]) < 100 for made in verdict.comparisons)
    }
    assert not few
    assert says("Every cell in which a claim is open has a hundred seeds.")
    nash = by_name["C4b"].by_scale["relative"].by_welfare["nash"].comparisons
    fair = [round(100 * made.as_claimed) for made in nash if made.what[-8:] == "T = 1000" and "0.9 " not in made.what]
    assert says(f"{fair[0]} of 100 seeds with γ=0.99 are fair at T=1000 under Nash welfare, and {fair[1]} with γ=0.999")
    robust = by_name["C9"].by_scale["running"].by_welfare["nash"].comparisons[1]
    assert says(f"At T=500, {round(100 - 100 * robust.as_claimed)} of 100 seeds are nearer to the myopic agent")
    rise = by_name["C10b"].by_scale["none"].by_welfare["nash"].comparisons[4]
    low, high = rise.interval
    assert says(f"rises by {rise.value:.3f} to T=5000, with an interval from {low:.3f} to {high:.3f}")
    assert (rise.p_fails <= LEVEL, rise.outcome) == (True, None)
    apart = by_name["B3"].by_scale["relative"].by_welfare["nash"].comparisons[3]
    assert says(f"With γ=0.999, {round(100 * apart.as_claimed)} of 100 are within 0.05 of their value in training")


@pytest.mark.soak
def test_what_the_note_says_of_more_steps(judgements):
    by_name = {judged.name: judged for judged in judgements}

    def compared(claim, scale, welfare):
        return by_name[claim].by_scale[scale].by_welfare[welfare].comparisons

    def gain(scale, welfare, horizon):
        """Gini after ten million steps and after one, seed by seed."""
        (found,) = (made for made in compared("C13a", scale, welfare)
                    if "ten times" in made.what and made.what.endswith(f"T = {horizon}"))  # fmt: skip
        return found

    def unfair(ginis, myopic):
        return int((np.array(ginis) > np.array(myopic)).sum())

    (split, _, collapsed, _) = compared("C13a", "none", "egalitarian")
    after_one, bar = split.seeds
    after_ten, _ = gain("none", "egalitarian", 5000).seeds
    assert says(
        f"{unfair(after_one, bar)} of 100 are unfair after a million steps and {unfair(after_ten, bar)} after ten"
    )
    assert unfair(gain("none", "egalitarian", 10000).seeds[0], collapsed.seeds[1]) == 100
    for scale in ("fixed", "running"):
        for made, horizon in zip(compared("C13a", scale, "nash")[::2], (5000, 10000), strict=True):
            assert unfair(gain(scale, "nash", horizon).seeds[0], made.seeds[1]) == 100
    gains = [-gain("relative", "nash", horizon).value for horizon in (5000, 10000)]
    assert says("Relative to the mean it gets fairer by {:.2f} at T=5000 and {:.2f} at T=10000".format(*gains))
    words = [by_name["C13a"].by_scale[scale].by_welfare["nash"].word for scale in SCALES]
    assert words.count("holds") == 4
    slower = compared("C13b", "relative", "nash")[1]
    n_slower = round(100 * slower.as_claimed)
    needed = next(n for n in range(100) if 2 * stats.binomtest(n, 100, alternative="greater").pvalue <= LEVEL)
    assert says(f"it takes {n_slower} of 100 seeds longer, and after correction {needed} would be needed")


@pytest.mark.soak
def test_the_note_is_what_the_evidence_says(evidence):
    """Every verdict, quote and criterion; `python -m benchmarks.claims_note` writes them."""
    note = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    assert with_parts(note, parts(evidence)) == note


def test_every_claim_of_the_paper_has_its_question(judgements):
    note = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| \".*\" \| (is it fair|did it learn|both|neither: .+) \|$", note, re.MULTILINE)
    named = [name for names, _ in rows for name in names.split(", ")]
    assert named == [judged.name for judged in judgements if judged.asked.quotes]


def test_the_history_of_the_criteria_is_that_of_the_claims():
    text = (ROOT / "evidence" / "README.md").read_text(encoding="utf-8")
    assert with_parts(text, history()) == text


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
