"""A history under other half-lives and rules: who would have been served."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from bygones.audit import Clock, audit, read_history, what_if
from bygones.audit.replay.courses import Spread
from bygones.audit.replay.memories import named_memory, of_half_life
from bygones.audit.replay.what_if_document import _fairest
from bygones.cli import program
from bygones.memory import Reset, SlidingWindow


def asked(*rows):
    agents, times, needs, served = zip(*rows, strict=True)
    table = pa.table({"agent": agents, "time": times, "need": needs, "served": served})
    return read_history(table, needs="need", served="served")


def test_one_step_serves_whoever_has_had_least():
    rows = [(name, day, 4.0, name == "ana") for day in range(6) for name in ("ana", "ben")]
    found = what_if(asked(*rows), ["inf", "2"], ["one-step"])
    assert found.decisions == 6
    assert [(course.memory.name, course.rule) for course in found.courses] == [
        ("2", "actual"), ("2", "one-step"), ("inf", "actual"), ("inf", "one-step"),
    ]  # fmt: skip
    actual, fair = found.courses[2:]
    assert actual.received.tolist() == [24, 0]
    assert fair.received.tolist() == [12, 12]
    assert (actual.gini, fair.gini) == ((0.5, 0.5), (0, 0))
    assert fair.differ == (3, 3)
    # In which order they take turns is a tie, and is said to be one.
    assert [(change.served, change.instead_of, change.certain) for change in fair.changes] == [
        (("ben",), ("ana",), False)
    ] * 3


def test_the_replay_agrees_with_that_of_the_audit():
    rng = np.random.default_rng(2)
    rows = [
        (n, d, float(rng.integers(1, 50)) + rng.random(), n == "ana") for d in range(20) for n in ("ana", "ben", "cem")
    ]
    _, instead = audit(asked(*rows), ["5"]).what_if.courses
    fair = what_if(asked(*rows), ["5"]).courses[1]
    np.testing.assert_allclose(fair.received, instead.received)
    assert fair.differ == instead.differ
    assert fair.gini.low == pytest.approx(instead.gini.low)


def test_prices_wait_for_a_need_that_is_worth_it():
    rng = np.random.default_rng(4)
    rows = []
    for day in range(60):
        needs = rng.integers(1, 10, 4).astype(float)
        rows += [(name, day, need, need == needs.max()) for name, need in zip("abcd", needs, strict=True)]
    rows = [
        (name, day, need, served and name == next(n for n, t, _, s in rows if t == day and s))
        for name, day, need, served in rows
    ]
    found = what_if(asked(*rows), ["20"], ["prices", "one-step"], draws=3)
    actual, prices, one_step = found.courses
    assert actual.total.low > prices.total.low > one_step.total.low
    assert actual.gini.low > prices.gini.high
    (text, _) = found.sentences()
    assert text.startswith("With a half-life of 20 and the rule prices, ")
    assert "instead of" in text


def test_entitlements_count():
    rows = [(name, day, 4.0, name == "ana") for day in range(9) for name in ("ana", "ben")]
    fair = what_if(asked(*rows), ["inf"], entitlements={"ana": 2.0, "ben": 1.0}).courses[1]
    assert fair.received.tolist() == [24, 12]


def test_the_command(tmp_path, capsys):
    path = tmp_path / "asked.csv"
    rows = [f"{name},2026-01-0{day},{2 + day},{name == 'ana'}" for day in range(1, 9) for name in ("ana", "ben")]
    path.write_text("\n".join(["agent,time,need,served", *rows]))
    program.main(["what-if", str(path), "--half-life", "3d,7d", "--rule", "prices,one-step"])
    out = capsys.readouterr().out
    assert "8 decisions about 2 agents, replayed 10 times each." in out
    assert re.search(r"^ 2026-01-0\d +ben +ana ", out, re.MULTILINE)
    program.main(["what-if", str(path), "--half-life", "3d", "--json"])
    courses = json.loads(capsys.readouterr().out)["courses"]
    assert [course["rule"] for course in courses] == ["actual", "one-step"]


def test_what_cannot_be_replayed_is_refused():
    plain = read_history(pa.table({"agent": ["a"], "time": [0], "utility": [1.0]}))
    with pytest.raises(ValueError, match="what_if needs to know who asked"):
        what_if(plain, ["inf"])
    with pytest.raises(ValueError, match="policy must be one of"):
        what_if(asked(("a", 0, 1.0, True)), ["inf"], ["best"])
    with pytest.raises(ValueError, match="nobody was served"):
        what_if(asked(("a", 0, 1.0, False)), ["inf"])


def turns(n_days, *names, served="ana"):
    return [(name, day, 4.0, name == served) for day in range(n_days) for name in names]


@pytest.mark.parametrize("memory", ["sliding_window(length={})", "reset(every={})", "discounted(half_life={})"])
def test_in_which_unit_steps_are_counted_does_not_matter(memory):
    rng = np.random.default_rng(1)
    needs = rng.integers(1, 50, (30, 3)) + rng.random((30, 3))
    courses = []
    for unit in (1, 7):
        rows = [(n, unit * day, needs[day, i], n == "a") for day in range(30) for i, n in enumerate("abc")]
        courses += what_if(asked(*rows), ["inf"], memories=[memory.format(4 * unit)]).alternatives()[1:]
    one, other = courses
    assert one.received.tolist() == other.received.tolist()
    assert (one.differ, one.gini) == (other.differ, pytest.approx(other.gini))


def test_a_window_forgets_at_its_edge_and_a_reset_at_its_end():
    # Ana was served for ten days, then both ask for one day each turn.
    rows = [*turns(10, "ana"), *[(name, day, 4.0, name == "ana") for day in range(10, 20) for name in ("ana", "ben")]]
    found = what_if(
        asked(*rows), ["inf"], memories=["sliding_window(length=4)", "reset(every=10)", "perfect", "none"], draws=4
    )
    assert [course.memory.name for course in found.alternatives()] == [
        "inf", "sliding_window(length=4)", "reset(every=10)", "instantaneous",
    ]  # fmt: skip
    perfect, window, reset, none = found.alternatives()
    # Perfect recall owes ben ten turns. The window sees three turns of ana's and today, so that both take two turns
    # each, ben first. After the reset nothing is owed.
    assert perfect.received.tolist() == [40, 40]
    assert (window.received[1], reset.received[1]) == (24, 20)
    assert none.differ.low < none.differ.high
    assert found.actual(window).worst == (0, 0)
    assert found.sentences()[1].startswith("With a sliding window of 4 and the rule one-step, 6 of 20 decisions")
    assert "The sliding window moves in steps of 1; times are rounded to them." in found.notes
    assert found.to_dict()["courses"][2]["memory"] == "sliding_window(length=4)"


def test_the_newcomer_rule_counts():
    rows = [*turns(10, "ana"), *turns(4, "ana", "ben")]
    rows = rows[:10] + [(name, 10 + day, need, served) for name, day, need, served in rows[10:]]
    zero, mean = (what_if(asked(*rows), ["inf"], newcomers=rule, draws=3).courses[1] for rule in ("zero", "mean"))
    assert zero.received.tolist() == [40, 16]
    assert mean.received.tolist() == [48, 8]


def test_of_burdens_the_worst_off_carries_most(tmp_path, capsys):
    rows = [("ana", 0, 8.0, True), ("ben", 0, 2.0, False), ("ana", 1, 8.0, True), ("ben", 1, 2.0, False)]
    found = what_if(asked(*rows), ["inf"], kind="burden")
    actual, fair = found.courses
    assert (actual.worst, fair.worst) == ((16, 16), (4, 4))
    assert found.worst == "heaviest"
    assert found.to_dict()["courses"][0]["heaviest"] == {"low": 16, "high": 16}
    path = tmp_path / "load.csv"
    path.write_text("agent,time,need,served\n" + "\n".join(f"{n},{t},{u},{int(s)}" for n, t, u, s in rows))
    program.main(["what-if", str(path), "--kind", "burden", "--half-life", "inf"])
    out = capsys.readouterr().out
    assert "heaviest" in out
    assert "least" not in out
    assert re.search(r"^ 0 +ben +ana ", out, re.MULTILINE)


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        ("window(3)", "memory must be one of .*discounted"),
        ("sliding_window", r"memory sliding_window needs its length, as in sliding_window\(length=...\)"),
        ("discounted", r"memory discounted needs its half_life, as in discounted\(half_life=30d\)"),
        ("discounted(gamma=0.5)", "memory discounted takes half_life where time is real, got"),
        ("multiscale(gammas=[0.9], weights=soon)", "weights must be a number of steps, got 'soon'"),
        ("reset(length=3)", "memory reset takes every, got 'length'"),
        ("perfect(length=3)", "memory perfect_recall takes average, got 'length'"),
        ("sliding_window(length=inf)", "length must be finite"),
        ("sliding_window(length=3d)", "length must be a number of steps"),
    ],
)
def test_a_memory_that_cannot_be_meant_is_refused(memory, message):
    with pytest.raises(ValueError, match=message):
        what_if(asked(*turns(2, "ana", "ben")), memories=[memory])
    with pytest.raises(ValueError, match="needs at least one half-life or memory"):
        what_if(asked(*turns(2, "ana", "ben")))


def test_memories_by_their_names():
    clock = Clock()
    for text in ("sliding-window(30d)", "Sliding_Window( length = 30d )"):
        found = named_memory(clock, text)
        assert (found.name, found.phrase) == ("sliding_window(length=30d)", "With a sliding window of 30d")
        assert found.memory(6 * 3600e6) == (SlidingWindow(120), 6 * 3600e6)
    assert named_memory(clock, "reset(every=7d)").memory(5 * 86_400e6) == (Reset(1), 7 * 86_400e6)
    assert named_memory(clock, "discounted(half_life=7d)") == of_half_life(clock, "7d")
    assert named_memory(clock, "sliding_window(30d)").memory(1e6)[0] == SlidingWindow(1000)


@pytest.mark.parametrize(
    ("actual", "alternatives", "words"),
    [
        ((0.4, 0.4), [(0.2, 0.2), (0.3, 0.3)], "One-step with a half-life of 0 would have been the fairest of the two"),
        ((0.4, 0.4), [(0.2, 0.2), (0.2, 0.2)], "half-life of 1 would have been fairer than what happened: "),
        ((0.4, 0.4), [(0.2, 0.25), (0.24, 0.3)], "half-life of 1 may be as fair, since the ranges overlap."),
        ((0.4, 0.4), [(0.2, 0.25)], "would have been 0.2 to 0.25 instead of the actual 0.4 (at least 0.15 lower)."),
        ((0.4, 0.4), [(0.2, 0.2)], "the Gini coefficient of the totals received would have been 0.2 instead of the"),
        ((0.4, 0.4), [(0.2, 0.4), (0.5, 0.5)], "No alternative would have been clearly fairer than what happened: "),
        ((0.1, 0.1), [(0.2, 0.2)], "would have been 0.2 at best, and was 0.1."),
    ],
)
def test_the_headline_calls_only_the_fairest_the_fairest(actual, alternatives, words):
    def course(gini, number=None):
        memory = SimpleNamespace(phrase=f"With a half-life of {number}")
        return SimpleNamespace(gini_received=Spread(*gini), total=Spread(5, 5), rule="one-step", memory=memory)

    courses = [course(gini, number) for number, gini in enumerate(alternatives)]
    headline = _fairest(SimpleNamespace(courses=[course(actual), *courses], alternatives=lambda: courses, kind="good"))
    assert words in headline
    assert ("the fairest" in headline) == ("the fairest" in words)


def test_pages(tmp_path):
    rows = [f"{n},2026-01-0{d},{2 + d},{n == '<b>ana</b>'}" for d in range(1, 9) for n in ("<b>ana</b>", "ben")]
    path, page = tmp_path / "asked.csv", tmp_path / "page.html"
    path.write_text("\n".join(["agent,time,need,served", *rows]))
    program.main([
        "what-if", str(path), "--half-life", "3d", "--memory", "reset(every=7d)", "--page", str(page), "--title", "Rota"
    ])  # fmt: skip
    text = page.read_text(encoding="utf-8")
    assert "<h1>Rota</h1>" in text
    assert "With a reset every 7d" in text
    assert "Who would have been served instead" in text
    assert "<b>ana</b>" not in text


def test_draws_are_limited():
    history = asked(("ana", 0, 1.0, True), ("ben", 0, 1.0, False))
    for draws in (0, 10_001):
        with pytest.raises(ValueError, match="draws must be"):
            what_if(history, ["1"], draws=draws)
