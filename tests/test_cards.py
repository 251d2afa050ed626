"""What a notebook shows of an object, and what Python prints of it."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bygones
from bygones.allocation import ChooseK, OneStep
from bygones.audit import advise, audit
from bygones.envs import needs
from bygones.memory import Memory, MemoryState
from bygones.memory.memory_card import decay_curves, weights_at
from bygones.paper import evidence, results
from support.reading_html import HOSTILE, Read

AGENTS = ["Ana", HOSTILE, "Cem"]


def rows(html):
    """The cells of the tables in some HTML, row by row, as text."""
    found = re.findall(r"<tr>.*?</tr>", html)
    return [[Read(cell).text for cell in re.findall(r"<t[dh] .*?</t[dh]>", row)] for row in found]


class TestMemory:
    @given(st.floats(0.01, 1), st.booleans(), st.integers(0, 200))
    def test_the_weight_of_the_past_is_gamma_to_the_power_of_its_age(self, gamma, average, age):
        memory = bygones.Discounted(gamma=gamma, average=average)
        assert weights_at(memory, 2, age) == pytest.approx([gamma**age] * 2, abs=1e-9)

    def test_a_curve_ends_where_little_is_left(self):
        (line,) = decay_curves(bygones.Discounted(half_life=7)).values()
        assert line[0] == (0, 1)
        assert line[-1][0] == 32
        assert 0.03 < line[-1][1] < 0.05
        assert [age for age, _ in line] == sorted({age for age, _ in line})

    def test_the_curve_of_a_memory_that_forgets_nothing_is_short(self):
        (line,) = decay_curves(bygones.PerfectRecall()).values()
        assert {weight for _, weight in line} == {1}
        assert line[-1][0] == 100

    @pytest.mark.parametrize("memory", [bygones.SlidingWindow(300), bygones.Reset(300)])
    def test_a_cliff_is_one_step_wide(self, memory):
        (line,) = decay_curves(memory).values()
        assert (299.0, 1.0) in line
        assert (300.0, 0.0) in line

    def test_agents_who_are_forgotten_otherwise_have_curves_of_their_own(self):
        memory = bygones.PerAgent(half_lives=[3, 30, 3])
        assert list(decay_curves(memory)) == ["agent 0", "agent 1"]
        shown = Read(memory._repr_html_()).text
        assert "counts half after 3 and 30 steps, depending on the agent" in shown
        assert "The curves belong to agent 0 and agent 1." in shown

    @pytest.mark.parametrize(
        ("memory", "sentences"),
        [
            (bygones.Discounted(half_life=7), ["half after 7 steps", "a sum, at most 10.6 if no utility is above 1"]),
            (bygones.Discounted(gamma=0.5, average=True), ["half after 1 step.", "a mean, at most 1"]),
            (bygones.Instantaneous(), ["Only the latest utility counts."]),
            (bygones.PerfectRecall(), ["counts in full for ever", "a sum, without a known limit"]),
            (bygones.Multiscale((0.9, 0.99), (0.5, 0.5)), ["at most 55"]),
            (bygones.Capped(bygones.Discounted(half_life=7), 3.0), ["at most 3"]),
            (bygones.Relative(bygones.PerfectRecall()), ["without a known limit"]),
            (bygones.Linear([[0.5, 0.2], [0.1, 0.4]]), ["The curves belong to agent 0 and agent 1."]),
        ],
    )
    def test_every_memory_has_a_curve_and_sentences(self, memory, sentences):
        html = memory._repr_html_()
        assert "<svg" in html
        for sentence in sentences:
            assert sentence in Read(html).text

    def test_a_memory_of_ones_own_has_one_too(self):
        class Halves(Memory[MemoryState]):
            def init(self, n_agents):
                return MemoryState(*(np.zeros(n_agents) for _ in range(4)))

            def advance(self, state, utilities, elapsed=1):
                return state._replace(Z=state.Z * 0.5**elapsed + utilities)

            def read(self, state):
                return state.Z

        (line,) = decay_curves(Halves()).values()
        assert dict(line)[2] == 0.25
        assert "without a known limit" in Halves()._repr_html_()

    def test_a_memory_that_cannot_be_asked_is_described_without_a_curve(self):
        class Refuses(bygones.memory.Around):
            keeps = ("half_life",)

            def init(self, n_agents):
                raise ValueError("nobody fits")

        html = Refuses(bygones.Discounted(half_life=7))._repr_html_()
        assert "<svg" not in html
        assert "half after 7 steps" in html

    def test_a_long_name_is_cut(self):
        title = re.search("<strong>(.*?)</strong>", bygones.PerAgent(gammas=[0.5] * 60)._repr_html_())[1]
        assert len(title) == 121
        assert title.endswith("…")

    def test_a_long_number_is_shortened(self):
        assert "Discounted(gamma=0.905724, average=False)" in bygones.Discounted(half_life=7)._repr_html_()
        assert "Discounted(gamma=0.9, average=True)" in bygones.Discounted(gamma=0.9, average=True)._repr_html_()


class TestDecision:
    @pytest.fixture
    def decide(self):
        memory = bygones.Discounted(half_life=7)
        state = memory.update(memory.init(3), [8.0, 0.0, 2.0])

        def decide(problem, **options):
            return bygones.allocate(replace(problem, agents=AGENTS), memory, state, "egalitarian", **options)

        return decide

    def test_it_is_a_table_with_those_who_are_served_first_and_reasons(self, decide):
        decision = decide(bygones.ChooseK([5, 5, 5], k=1))
        html = decision._repr_html_()
        assert rows(html) == [
            ["agent", "recent", "with this"], [HOSTILE, "0.0", "5.0"], ["Cem", "1.8", "6.8"], ["Ana", "7.2", "12.2"]
        ]  # fmt: skip
        for reason in decision.reasons():
            assert reason in Read(html).text
        assert "<script" not in html

    def test_whoever_is_served_comes_before_those_with_less(self, decide):
        html = decide(bygones.ChooseK([5, 1, 9], k=1), elapsed=0)._repr_html_()
        assert [row[0] for row in rows(html)[1:]] == [HOSTILE, "Cem", "Ana"]
        html = decide(bygones.ChooseK([5, 1, 90], k=1), rule="prices")._repr_html_()
        assert rows(html)[1][0] == "Cem"

    def test_prices_and_shares_are_columns(self, decide):
        decision = decide(bygones.ChooseK([5, 5, 5], k=1), entitlements=[1, 1, 2], rule="prices")
        head, first, *_ = rows(decision._repr_html_())
        assert head == ["agent", "price", "need × price", "share", "recent", "recent per share", "with this per share"]
        assert float(first[1]) == pytest.approx(decision.prices.max(), rel=0.01)

    def test_whoever_is_exempt_from_a_burden_does_not_come_into_question(self, decide):
        html = decide(bygones.ChooseK([5, 5, 5], k=1, kind="burden"), entitlements=[1, 0, 1])._repr_html_()
        assert [row[0] for row in rows(html)[1:]] == ["Cem", "Ana"]
        assert "Cem takes the job: lowest recent workload of the two available." in Read(html).text

    def test_its_name_names_who_gets_what(self, decide):
        assert repr(decide(bygones.ChooseK([5, 0, 0], k=1))) == (
            "<Decision: Ana: the place (need 5); egalitarian welfare, rule one-step>"
        )
        assert "nobody is served" in repr(decide(bygones.ChooseK([0, 0, 0], k=1)))


class TestLedger:
    @pytest.fixture
    def ledger(self, tmp_path):
        rules = bygones.Rules(half_life="30d", entitlements={"Ana": 1, HOSTILE: 2, "Cem": 1})
        with bygones.Ledger.new(tmp_path / "team.db", rules, began="2026-01-01") as ledger:
            yield ledger

    def test_a_standing_has_who_is_owed_most_first(self, ledger):
        ledger.join_all(AGENTS, at="2026-01-01")
        ledger.record("Ana", 8, at="2026-01-05")
        ledger.record(HOSTILE, 4, at="2026-01-05")
        ledger.hold("Cem", at="2026-01-06")
        standing = ledger.standing("2026-01-05")
        html = standing._repr_html_()
        assert [row[0] for row in rows(html)[1:]] == ["Cem", HOSTILE, "Ana"]
        assert rows(html)[3] == ["Ana", "8", "8", "", "1", "8", "5 ahead", "5 Jan"]
        assert rows(html)[1][-1] == ""
        assert "<script" not in html
        assert Read(html).text.strip().startswith("Standing")
        assert repr(standing) == "<Standing of 3 agents at 2026-01-05 00:00 UTC>"
        assert ["Cem", "0", "0.00", "", "1", "0.00", "on hold", ""] in rows(ledger.standing("2026-01-07")._repr_html_())

    def test_a_standing_of_nobody(self, ledger):
        assert "No agent has joined by 2026-01-02 00:00 UTC." in ledger.standing("2026-01-02")._repr_html_()

    def test_proposals_and_past_decisions_have_their_reasons(self, ledger):
        ledger.join_all(AGENTS)
        proposal = ledger.propose(ChooseK({"Ana": 8, HOSTILE: 8}, k=1))
        assert [row[-1] for row in rows(proposal._repr_html_())] == ["last time", "never", "never"]
        assert repr(proposal).startswith("<Proposal at 20")
        made = ledger.decide(ChooseK({"Ana": 8, HOSTILE: 8}, k=1))
        html = made._repr_html_()
        for reason in made.reasons():
            assert reason in Read(html).text

    def test_a_ledger_names_itself(self, ledger):
        assert re.fullmatch(r"<Ledger in .*team\.db>", repr(ledger))


class TestResults:
    def test_a_row_per_cell_with_the_means_of_its_seeds(self):
        runs = results.read(evidence.evidence_folder() / "tenth")
        _, *cells = rows(runs._repr_html_())
        assert len(cells) == 4
        assert sum(int(cell[2]) for cell in cells) == len(runs) == 40
        some = runs.where(welfare="nash", horizon=10_000)
        (row,) = [cell for cell in cells if cell[:2] == ["nash", "10,000"]]
        assert float(row[3]) == pytest.approx(some["final_gini"].mean(), abs=5e-4)
        assert "40 runs, observation_scale=fixed, aggregation=additive, gamma=1, weight=0.9" in runs._repr_html_()
        assert repr(runs) == "<Results of 40 runs>"

    def test_of_no_runs(self):
        runs = results.read(evidence.evidence_folder() / "tenth").where(gamma=-1.0)
        assert "0 runs" in runs._repr_html_()


class TestAudit:
    @pytest.fixture
    def history(self, tmp_path, monkeypatch):
        lines = ["agent,time,hours,need,served"]
        for day in range(1, 29):
            lines += [
                f'"{name}",2026-02-{day:02},{8 * (day % 3 == i)},8,{int(day % 3 == i)}' for i, name in enumerate("abc")
            ]
        lines.append("<i>x</i>,2026-02-28,0,8,0")
        monkeypatch.chdir(tmp_path)
        Path("history.csv").write_text("\n".join(lines))
        with bygones.read_history("history.csv", utility="hours", needs="need", served="served") as history:
            yield history

    def test_it_has_conclusions_and_the_standing_under_each_half_life(self, history):
        found = audit(history, ["7d", "inf"])
        html = found._repr_html_()
        standings, over_time, replayed, received = 2 * (1 + 4), 1 + 2, 1 + 4, 1 + 4
        assert len(rows(html)) == standings + over_time + replayed + received
        assert "<i>" not in html
        for words in ("What to do next", "Standing, half-life 7d", "Standing, perfect recall (inf)", "<i>x</i>"):
            assert words in Read(html).text
        assert repr(found) == "<Audit of history.csv: 85 events, half-lives 7d and inf>"
        assert repr(history) == "<History history.csv: 85 events from 2026-02-01 00:00 to 2026-02-28 00:00>"

    def test_advice(self, history):
        found = advise(history, half_lives=["7d", "inf"], draws=1)
        text = Read(found._repr_html_()).text
        assert f"half-life of {found.memory.name} and the rule {found.rule}" in text
        assert "What would change this" in text
        assert repr(found) == f"<Advice for history.csv: half-life {found.memory.name}, rule {found.rule}>"

    def test_advice_without_needs(self, history):
        with bygones.read_history("history.csv", utility="hours") as received:
            found = advise(received)
        assert "Begin with a half-life of" in Read(found._repr_html_()).text
        assert repr(found).startswith("<ReceivedAdvice for history.csv: half-life ")


def test_a_simulation_says_what_came_of_it():
    memory = bygones.Discounted(half_life=7)
    policy = OneStep(memory, "egalitarian")
    played = bygones.simulate(policy, needs.advantaged(), memory, "egalitarian", steps=20)
    assert repr(played).startswith(f"<Simulation of 10 agents over 20 steps: gini {played.summary()['gini']:.3g}, ")
