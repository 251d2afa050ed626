"""The report, from the shipped evidence and from a reader's own runs."""

import html
import json
import re
import subprocess
import sys
from typing import get_args

import pytest

from bygones.envs.problem import Scale
from bygones.paper import examples
from bygones.paper.cells import PerSeed
from bygones.paper.claims import CLAIMS, judge
from bygones.paper.judging import PROTOCOL
from bygones.paper.paper_claims import PAPER_CLAIMS
from bygones.paper.results import Results, read
from bygones.report.page import render
from bygones.report.paper import paper_page, story
from bygones.report.paper.paper_page import HALF_LIVES, read_evidence, report_page, write_report
from support import synthetic_results
from support.evidence_page import ROOT, as_own, memory_of, some_evidence


@pytest.fixture(scope="module")
def results():
    return some_evidence()


@pytest.fixture(scope="module")
def both(results):
    return render(report_page(as_own(results), results))


@pytest.fixture(scope="module")
def alone(results):
    return render(report_page(as_own(results)))


def data(document, name):
    found = re.search(rf'<script type="application/json" id="data-{name}">(.*?)</script>', document)
    return json.loads(found[1])


def text(document):
    return " ".join(re.sub(r"<(script|style).*?</\1>|<[^>]+>", " ", document, flags=re.DOTALL).split())


def test_every_claim_is_there_with_its_verdicts(both, results):
    for judged in judge(results, ["C2", "C3", "C5", "C9"]):
        (claim,) = re.findall(rf'<details class="claim" id="{judged.name}">(.*?)</summary>', both, re.DOTALL)
        shown = text(claim)
        assert judged.claim.split("'")[0] in shown
        for scale, verdict in judged.by_scale.items():
            signs = {"holds": "●", "fails": "✕", "cannot tell": "?", "does not arise": "○"}
            words = [f"{signs[each.word]} {each.word}" for each in verdict.by_welfare.values()]
            if len(set(words)) == 2:
                words = [f"{words[0]} egalitarian", f"{words[1]} Nash"]
            assert f"{story.SCALES[scale].removeprefix('memory ')} {' '.join(dict.fromkeys(words))}" in shown


def test_claims_are_c1_to_c13_each_once(both):
    names = re.findall(r'<details class="claim" id="(\w+)">', both)
    assert sorted(names) == sorted(CLAIMS)


def test_no_verdict_is_a_colour_alone(both):
    chips = re.findall(r'<span class="verdict \w+">(.*?)</span> *(?=<span class="verdict|</span>)', both)
    assert chips
    for chip in chips:
        assert re.fullmatch(
            r"[●✕?○–] (holds|fails|cannot tell|does not arise|too few)( egalitarian| Nash)?", text(chip)
        )


def test_all_sets_of_runs_are_there_each_by_its_name(both, results):
    panels = data(both, "runs")["panels"]
    assert sum(len(cell["seeds"]) for panel in panels for cell in panel["cells"]) == len(results) + 30
    options = re.findall(r'<option value="([^"]*)"', both)
    assert {panel["variant"] for panel in panels} <= set(options)
    assert {panel["observation_scale"] for panel in panels} == {"none", "window"}


def test_own_runs_stand_beside_the_evidence(both):
    shown = text(both)
    assert "your runs, egalitarian welfare 0." in shown
    assert "evidence, Nash welfare, means where the memory is scaled otherwise 0." in shown
    assert "Your own runs are enough for 0 of the 22 verdicts." in shown
    assert "02:00" not in shown
    assert "finished 2027-01-02 03:04 UTC" in shown


def test_own_runs_alone_make_a_page(alone):
    shown = text(alone)
    assert "This page shows the results of 30 training runs." in shown
    assert "The paper makes 13 claims with 22 verdicts: 22 are open somewhere" in shown
    assert "1 seed, at least 10 are needed" in shown
    assert 'data-runs="' in alone
    assert len(alone.encode()) < 5_500_000


def test_the_table_of_the_short_answer_is_read_from_the_runs(results):
    rows = story._rows("own", as_own(results), "none", {"own": results})
    cell = as_own(results).where(welfare="nash", gamma=1.0, horizon=10000)
    assert rows[1][0] == "Nash welfare"
    assert rows[1][-1] == f"{cell['final_gini'][0]:.2f}"
    follow = results.where(**PROTOCOL)
    several = story._rows("evidence", follow, "none", {"evidence": follow})
    assert several[0][3].startswith(f"0.70 (0.14{story.DASH}0.80)")
    other = story._ginis(follow, "egalitarian", "window")[1.0].mean()
    assert several[1] == [
        "egalitarian welfare, means where the memory is scaled otherwise",
        *several[1][1:3],
        f"{other:.2f}",
    ]
    assert story._range(0.014, 0.04) == f"0.01{story.DASH}0.04"


def test_the_paper_s_sentences_lead_to_their_claims(both):
    (index,) = re.findall(r'<table class="sentences">(.*?)</table>', both, re.DOTALL)
    for claim in PAPER_CLAIMS:
        assert f'href="#{claim.name}"' in index
        assert f'<details class="claim" id="{claim.name}">' in both
        for quote in claim.quotes:
            assert quote.text in html.unescape(text(index))


def test_nothing_needs_the_names_of_observation_scales(both):
    shown = text(re.sub(r"<script.*?</script>|<code>.*?</code>", "", both, flags=re.DOTALL))
    assert not re.search(r"(observation scale|scale:?) (none|fixed|window|expected|relative|running)\b", shown)
    assert not re.search(r"\b(none|window|fixed): memory", shown)


def test_the_shared_network_is_named_where_it_was_run(results):
    symmetric = read(ROOT / "evidence" / "grid" / "symmetric")
    assert story._shared_network(symmetric, "none") == (
        "With a network that is shared across agents and sees the memory on a logarithmic scale, the Gini "
        "coefficient with perfect recall is 0.00 under egalitarian welfare and 0.37 under Nash welfare."
    )
    assert story._shared_network(results.where(policy="symmetric"), "none") == ""


def test_the_answer_says_who_fails(results):
    follow = results.where(**PROTOCOL)
    unscaled, scaled = (story._answer(follow, scale) for scale in ("none", "window"))
    assert unscaled.verdict == (
        "At the longest horizon, with the unscaled memory, perfect recall fails, while γ = 0.99 works."
    )
    assert unscaled.elsewhere == "Under every other scale below, perfect recall fails under Nash welfare only."
    assert "perfect recall fails under Nash welfare, while γ = 0.99 works." in scaled.verdict
    assert scaled.elsewhere == "Under every other scale below, perfect recall fails."
    egalitarian = story._answer(follow.where(welfare="egalitarian", observation_scale="window"), "window")
    assert egalitarian.verdict == "At the longest horizon, perfect recall works, and so does γ = 0.99."
    assert egalitarian.elsewhere == ""
    assert story._answer(follow.where(gamma=1.0), "none") is None
    assert story._elsewhere({"works"}, "works") == "Perfect recall works under every other scale below."
    assert story._elsewhere({"works", "fails"}, "works") == (
        "Under the other scales below, the result for perfect recall varies."
    )


def test_the_short_answer_of_runs_that_all_differ_from_the_papers_is_about_them():
    long = synthetic_results.results(seeds=1, extra=False, total_steps=20_000)
    document = render(report_page(long))
    assert "20,000 steps of training. With γ = 0.99, half" in text(document)
    assert document.count("&#34;variant&#34;: &#34;20,000 steps of training&#34;") == 2
    assert "These runs are too few for a verdict, which needs 10 seeds per cell." in text(document)
    assert "perfect recall fails" not in text(document)


def test_ten_seeds_are_enough_for_an_answer_and_nine_are_not():
    enough = synthetic_results.results(seeds=10, extra=False)
    assert "perfect recall fails, while γ = 0.99 works." in story._answer(enough, "window").verdict
    few = enough.where(seed=range(9))
    assert story._answer(few, "window").verdict.startswith("These runs are too few for a verdict")


def test_seeds_that_cannot_tell_leave_the_answer_open():
    halves = PerSeed({seed: float(seed % 2) for seed in range(10)})
    ones = PerSeed(dict.fromkeys(range(10), 1.0))
    cells = {"nash": {1.0: halves, 0.99: 0.0 * ones, 0.0: ones}}
    assert story._how_it_does(1.0, cells) == "is open"
    assert story._how_it_does(0.99, cells) == "works"
    assert story._how_it_does(1.0, {**cells, "egalitarian": {1.0: ones, 0.0: ones}}) == (
        "is open under Nash welfare and fails under egalitarian welfare"
    )


def test_runs_of_another_kind_make_a_page_too():
    few = synthetic_results.results(seeds=1, scales=("window",), extra=True)
    long = few.where(total_steps=10_000_000, horizon=5000, welfare="nash")
    shown = text(render(report_page(long)))
    assert "This page shows the results of 1 training run." in shown
    assert "10,000,000 steps of training" in shown


def test_other_protocols_are_judged_beside_the_papers(both):
    (claim,) = re.findall(r'<details class="claim" id="C11">(.*?)</summary>', both, re.DOTALL)
    assert re.search(r"dₜ observed: unscaled memory (● holds|✕ fails|\? cannot tell)", text(claim))
    overturned = r"Some claims that hold depend on other settings: .*\d+ fails? for runs with dₜ observed"
    assert re.search(overturned, text(both))


def test_how_it_was_run_is_what_was_written_beside_the_runs(both, results):
    for command in results.distinct("command"):
        assert command in both
    assert "NVIDIA H200" in both
    assert "jax 0.11.2" in both
    assert "(commit 0123abc+changes)" in both


def test_every_observation_scale_has_words():
    assert set(story.SCALES) >= set(get_args(Scale))


def test_no_results_are_refused(results):
    with pytest.raises(ValueError, match="a report needs at least one run"):
        report_page()
    with pytest.raises(ValueError, match="a report needs at least one run"):
        report_page(Results(results.table.slice(0, 0)))
    assert read_evidence(ROOT / "nowhere") is None


def test_equal_results_give_equal_files(tmp_path, results):
    own = as_own(results)
    one, other = (write_report(tmp_path / name, own).read_bytes() for name in ("a.html", "b.html"))
    assert one == other


@pytest.mark.parametrize("half_life", HALF_LIVES)
@pytest.mark.parametrize("example", examples.EXAMPLES.values())
def test_no_stop_of_the_slider_leaves_anything_to_a_draw(example, half_life):
    """The page's script cannot repeat NumPy's draws among equally good allocations; here it never has to."""
    memory = memory_of(half_life)
    histories = [examples.run(example, memory, steps=paper_page.EXAMPLE_STEPS, seed=seed) for seed in range(3)]
    for other in histories[1:]:
        assert (other.owners == histories[0].owners).all()


@pytest.mark.soak
def test_a_report_needs_no_jax(tmp_path):
    code = (
        "import sys; sys.modules['jax'] = None; sys.modules['matplotlib'] = None\n"
        "from bygones.cli import program\n"
        "program.main(['report', 'evidence/grid/tenfold', '--evidence', 'none', '--out', sys.argv[1]])"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "report.html"], check=True, cwd=ROOT, capture_output=True)
    assert "How much past does fairness need?" in (tmp_path / "report.html").read_text(encoding="utf-8")
