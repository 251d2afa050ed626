"""A ledger keeps its rule. By prices it looks ahead, and learns from its own past decisions."""

import shutil

import numpy as np
import pytest

from bygones import welfare
from bygones.allocation import Assign, ChooseK, Divide
from bygones.ledger import Ledger, Rules
from bygones.ledger.actions import learned_prices as past_needs
from bygones.ledger.model.times import now


def new(path, *names, kind="good", rule="prices", **rules):
    ledger = Ledger.new(path, Rules(half_life="30d", kind=kind, rule=rule, **rules), began="2026-01-01")
    ledger.join_all(names, at="2026-01-01")
    return ledger


def play(ledger, count, *, since="2026-02-01", **scales):
    """One place a day, for which everybody's needs are uniform up to their scale."""
    rng = np.random.default_rng(0)
    days = np.datetime64(since) + np.arange(count)
    return [
        ledger.decide(ChooseK({name: scale * rng.random() for name, scale in scales.items()}), at=str(day))
        for day in days
    ]


def learned(ledger, *names):
    """The logarithms of the prices that the ledger has learned."""
    with ledger._store.reading() as connection:
        found = past_needs.learned(past_needs.requests(connection, now(), ledger.n_events()), ledger.rules(), names)
    return dict(zip(names, found.prices.log_prices.tolist(), strict=True))


class TestTheRule:
    def test_it_is_kept_and_can_change(self, new_path):
        with new(new_path(), "ana") as ledger:
            assert ledger.rules().rule == "prices"
            assert ledger.event(1).details["rule"] == "prices"
            ledger.change_rules(rule="one-step", at="2026-03-01")
            assert [ledger.rules(day).rule for day in ("2026-02-01", "2026-03-02")] == ["prices", "one-step"]
            assert ledger.standing("2026-03-02").to_dict()["rules"]["rule"] == "one-step"
            assert ledger.verify().ok

    def test_by_default_it_is_one_step(self):
        assert Rules().rule == "one-step"
        settings = Rules().to_dict()
        del settings["rule"]
        assert Rules().changed(settings).rule == "one-step"

    def test_it_is_refused_where_the_welfare_has_no_price(self, new_path):
        @welfare.register
        def of_the_luckiest(Z):
            return Z.max(axis=-1)

        try:
            with pytest.raises(ValueError, match="rule 'prices' needs a welfare of known form"):
                Rules(welfare="of_the_luckiest", rule="prices")
            with new(new_path(), "ana") as ledger, pytest.raises(ValueError, match="needs a welfare of known form"):
                ledger.change_rules(welfare="of_the_luckiest")
        finally:
            welfare.functions.remove("of_the_luckiest")
        with pytest.raises(ValueError, match=r"policy must be one of prices, .*, got 'price'"):
            Rules(rule="price")


class TestTheRightPerson:
    @pytest.mark.parametrize(("rule", "served"), [("one-step", "ana"), ("prices", "ben")])
    def test_goods(self, new_path, rule, served):
        """Ana is behind, but hardly needs it today; she waits for a day that is worth it."""
        with new(new_path(), "ana", "ben", rule=rule) as ledger:
            ledger.record("ana", 60, at="2026-01-02")
            ledger.record("ben", 80, at="2026-01-02")
            proposal = ledger.decide(ChooseK({"ana": 0.1, "ben": 6}), at="2026-01-03")
            assert list(proposal.utilities) == [served]
            assert proposal.to_dict()["rule"] == rule
            headline = proposal.reasons()[0]
            assert headline.endswith(
                ": highest need × price of the two who asked."
                if rule == "prices"
                else ": lowest recent total of the two who asked."
            )
            has_least = any(reason.startswith("ana has the lowest recent total (") for reason in proposal.reasons())
            assert has_least == (rule == "prices")

    @pytest.mark.parametrize(("rule", "carries"), [("one-step", "ana"), ("prices", "ben")])
    def test_burdens(self, new_path, rule, carries):
        """Ben has carried more, but the shift is light for him and heavy for Ana."""
        with new(new_path(), "ana", "ben", kind="burden", rule=rule) as ledger:
            ledger.record("ana", 60, at="2026-01-02")
            ledger.record("ben", 80, at="2026-01-02")
            proposal = ledger.decide(ChooseK({"ana": 12, "ben": 2}), at="2026-01-03")
            assert list(proposal.utilities) == [carries]
            if rule == "prices":
                assert proposal.reasons()[0].endswith(": lowest load × price of the two available.")
                assert any(reason.startswith("ana has the lowest recent workload (") for reason in proposal.reasons())

    @pytest.mark.soak
    @pytest.mark.parametrize("kind", ["good", "burden"])
    def test_over_time_the_worst_off_is_better_off(self, new_path, kind):
        """Cem's needs are a third of the others'."""
        totals = {}
        for rule in ("one-step", "prices"):
            with new(new_path(), "ana", "ben", "cem", kind=kind, rule=rule) as ledger:
                play(ledger, 80, ana=9.0, ben=9.0, cem=3.0)
                totals[rule] = ledger.standing("2026-05-01").received
        if kind == "good":
            assert totals["prices"].min() > 1.2 * totals["one-step"].min()
        else:
            assert totals["prices"].max() < 0.95 * totals["one-step"].max()
            assert totals["prices"].sum() < 0.9 * totals["one-step"].sum()

    def test_the_days_between_decisions_are_not_steps(self, new_path):
        """The same past and the same half-life in units of decisions give the same prices, daily or hourly."""
        prices = []
        for half_life, hours in (("10d", 24), ("10h", 1)):
            with Ledger.new(new_path(), Rules(half_life, rule="prices"), began="2026-01-01") as ledger:
                ledger.join_all(["ana", "ben", "cem"], at="2026-01-01")
                start = np.datetime64("2026-01-02T00")
                rng = np.random.default_rng(0)
                for step in range(12):
                    at = str(start + np.timedelta64(step * hours, "h"))
                    needs = dict(zip(("ana", "ben", "cem"), rng.random(3).tolist(), strict=True))
                    ledger.decide(ChooseK(needs), at=f"{at}:00")
                at = str(start + np.timedelta64(12 * hours, "h"))
                proposal = ledger.propose(ChooseK({"ana": 2, "ben": 2, "cem": 2}), at=f"{at}:00")
                prices.append(list(proposal.details()["prices"].values()))
        assert prices[0] == pytest.approx(prices[1])
        assert max(prices[0]) > 1.02 * min(prices[0])

    def test_more_that_is_remembered_counts_more(self, new_path):
        """Ana has had half of what Ben had: of one decision that may be chance, of a hundred it is not."""
        ratios = []
        for decisions in (1, 100):
            with new(new_path(), "ana", "ben") as ledger:
                ledger.record("ana", decisions, at="2026-01-02")
                ledger.record("ben", 2 * decisions, at="2026-01-02")
                price = ledger.propose(ChooseK({"ana": 1, "ben": 1}), at="2026-01-03").details()["prices"]
                ratios.append(price["ana"] / price["ben"])
        assert ratios[1] > 2 * ratios[0]

    def test_somebody_below_zero_comes_first(self, new_path):
        with new(new_path(), "ana", "ben") as ledger:
            ledger.offset("ana", -5, at="2026-01-02")
            assert list(ledger.decide(ChooseK({"ana": 1, "ben": 1}), at="2026-01-03").utilities) == ["ana"]

    @pytest.mark.soak
    @pytest.mark.parametrize(
        ("kind", "name"),
        [
            ("good", "nash"), ("good", "generalized_gini"), ("good", "utilitarian"), ("good", "alpha_fair(alpha=2)"),
            ("burden", "egalitarian"), ("burden", "power_burden(p=2)"), ("burden", "generalized_gini"),
            ("burden", "utilitarian"),
        ],
    )  # fmt: skip
    def test_every_welfare_that_has_a_price(self, new_path, kind, name):
        with new(new_path(), "ana", "ben", "cem", kind=kind, welfare=name) as ledger:
            if kind == "burden":
                ledger.join("elif", at="2026-01-01", entitlement=0)
            for day in range(2, 9):
                at = f"2026-01-{day:02}"
                ledger.decide(ChooseK({"ana": 1, "ben": 2, "cem": None}), at=at)
                ledger.decide(Assign({"ana": {"x": 2, "y": 1}, "cem": {"x": 1, "y": 2}}, capacity=2), at=at)
                proposal = ledger.decide(Divide(4, {"ana": 1, "ben": 1}, {"ana": 3}), at=at)
            assert sum(proposal.utilities.values()) == pytest.approx(4)
            told = "Prices were learned from the 20 decisions before."
            assert (told in proposal.reasons()) == (name != "utilitarian")
            assert ledger.verify().ok


class TestLearning:
    def test_it_says_how_much_it_rests_on(self, new_path):
        with new(new_path(), "ana", "ben") as ledger:
            first, second, third = play(ledger, 3, ana=1.0, ben=0.5)
            assert not any("learned" in reason for reason in first.reasons())
            assert first.details()["learned_from"] == 0
            assert "Prices were learned from the decision before." in second.reasons()
            assert "Prices were learned from the 2 decisions before." in third.reasons()
            assert third.to_dict()["learned_from"] == "the 2 decisions before"
            assert ledger.told(ledger.event(8)).reasons == third.reasons()

    def test_only_the_latest_count(self, new_path, monkeypatch):
        monkeypatch.setattr(past_needs, "LATEST", 10)
        with new(new_path(), "ana", "ben") as ledger:
            play(ledger, 10, ana=1.0, ben=1.0)
            play(ledger, 10, ana=1.0, ben=0.1, since="2026-03-01")
            with new(new_path(), "ana", "ben") as other:
                last = play(other, 10, ana=1.0, ben=0.1)[-1]
                assert learned(ledger, "ana", "ben") == learned(other, "ana", "ben")
            assert "Prices were learned from the 9 decisions before." in last.reasons()
            again = ledger.propose(ChooseK({"ana": 1, "ben": 1})).reasons()
            assert "Prices were learned from the last 10 decisions." in again

    def test_they_are_learned_in_the_order_of_time(self, new_path, monkeypatch):
        with new(new_path(), "ana", "ben") as ledger:
            for day in (2, 3, 4, 5):
                ledger.decide(ChooseK({"ana": day, "ben": 1}), at=f"2026-02-0{day}")
            for count, asked in ((300, [2, 3, 4, 5]), (3, [3, 4, 5])):
                monkeypatch.setattr(past_needs, "LATEST", count)
                with ledger._store.reading() as connection:
                    found = past_needs.requests(connection, now(), ledger.n_events())
                assert [request.worth["ana"][None] for request in found] == asked

    def test_decisions_of_another_rule_are_lessons_too(self, new_path):
        """Ben's needs are smaller, so at equal prices he would get less."""
        with new(new_path(), "ana", "ben", rule="one-step") as ledger:
            play(ledger, 60, ana=1.0, ben=0.3)
            ledger.change_rules(rule="prices", at="2026-05-01")
            proposal = ledger.propose(ChooseK({"ana": 1, "ben": 1}), at="2026-05-01")
            assert learned(ledger, "ana", "ben")["ben"] > 0.2
            assert "Prices were learned from the 60 decisions before." in proposal.reasons()

    def test_what_was_taken_back_does_not_count(self, new_target):
        with new(new_target(), "ana", "ben") as ledger, new(new_target(), "ana", "ben") as other:
            play(other, 20, ana=1.0, ben=0.3)
            play(ledger, 20, ana=1.0, ben=0.3)
            ledger.decide(ChooseK({"ana": 1e6, "ben": 1}), at="2026-03-01")
            [received] = [e.seq for e, _ in ledger.events() if e.kind == "received" and e.amount == 1e6]
            ledger.correct(received, 5.0)
            assert learned(ledger, "ana", "ben") != learned(other, "ana", "ben")
            ledger.correct(received, 0.0, note="never happened")
            assert learned(ledger, "ana", "ben") == learned(other, "ana", "ben")

    @pytest.mark.soak
    def test_prices_survive_join_hold_and_leave(self, new_path):
        with new(new_path(), "ana", "ben", "cem", "dana") as ledger:
            play(ledger, 60, ana=1.0, ben=0.3, cem=0.6, dana=0.6)
            before = learned(ledger, "ana", "ben", "cem", "dana")
            ledger.hold("cem", at="2026-05-01")
            ledger.leave("dana", at="2026-05-01")
            ledger.join("elif", at="2026-05-01")
            after = learned(ledger, "ana", "ben", "elif")
            assert after["ben"] - after["ana"] == pytest.approx(before["ben"] - before["ana"])
            assert after["ben"] - after["ana"] > 0.3
            assert after["elif"] == 0.0
            ledger.offset("ana", 1e-9, at="2026-05-02")
            proposal = ledger.decide(ChooseK({"ana": 1, "ben": 1, "elif": 1}), at="2026-05-02")
            assert list(proposal.details()["prices"]) == ["ana", "ben", "elif"]
            ledger.resume("cem", at="2026-05-03")
            again = learned(ledger, "ana", "ben", "cem")
            assert again["cem"] - again["ana"] == pytest.approx(before["cem"] - before["ana"], abs=0.1)
            assert ledger.verify().ok

    def test_twice_the_entitlement_has_the_higher_price(self, new_path):
        with new(new_path(), "ana", "ben") as ledger:
            play(ledger, 40, ana=1.0, ben=1.0)
            equal = learned(ledger, "ana", "ben")
            ledger.change_rules(entitlements={"ana": 2.0})
            assert learned(ledger, "ana", "ben")["ana"] > equal["ana"] + 0.05

    def test_a_request_names_only_some(self, new_path):
        with new(new_path(), "ana", "ben", "cem") as ledger:
            play(ledger, 30, ana=1.0, ben=0.3)
            assert learned(ledger, "ana", "ben", "cem")["cem"] == 0.0
            proposal = ledger.propose(ChooseK({"cem": 2}))
            assert proposal.gets() == {"cem": "the place (need 2)"}

    def test_a_copy_of_the_ledger_decides_the_same(self, new_path):
        path, copy = new_path(), new_path()
        with new(path, "ana", "ben", "cem") as ledger:
            play(ledger, 25, ana=1.0, ben=0.3, cem=1.0)
        shutil.copy(path, copy)
        request = ChooseK({"ana": 1, "ben": 2, "cem": 2})
        with Ledger.open(path) as one, Ledger.open(copy) as other:
            for day in ("2026-04-01", "2026-04-02"):
                assert one.propose(request, at=day).to_dict() == one.propose(request, at=day).to_dict()
                here, there = (each.decide(request, at=day).to_dict() for each in (one, other))
                assert here == there  # the chain of seeds, too, is the same
            assert one.verify().ok


class TestReports:
    @pytest.mark.soak
    @pytest.mark.parametrize("rule", ["one-step", "prices"])
    def test_nobody_gains_by_reporting_in_other_units(self, new_path, rule):
        """Ana reports in hundredths. One step at a time she seems to receive nothing, and is nearly always served."""
        served = {}
        for reports in ("as-reported", "normalised"):
            for unit in (1.0, 0.01):
                with new(new_path(), "ana", "ben", "cem", rule=rule, reports=reports) as ledger:
                    for amount, name in enumerate(("ana", "ben", "cem")):  # or the first decision would be a draw
                        ledger.record(name, 0.1 * amount, at="2026-01-02")
                    decided = play(ledger, 40, ana=unit, ben=1.0, cem=1.0)
                served[reports, unit] = sum("ana" in each.gets() for each in decided)
        assert served["normalised", 0.01] == served["normalised", 1.0]
        assert served["as-reported", 0.01] != served["as-reported", 1.0]
        if rule == "one-step":
            assert served["as-reported", 0.01] > 30

    def test_the_ledger_keeps_what_was_reported_and_says_how_it_counts(self, new_path):
        with new(new_path(), "ana", "ben", rule="one-step", reports="normalised") as ledger:
            ledger.decide(ChooseK({"ana": 2.0, "ben": 10.0}), at="2026-02-01")
            decided = ledger.decide(ChooseK({"ana": 6.0, "ben": 10.0}), at="2026-02-02")
            assert decided.usual == {"ana": 4.0, "ben": 10.0}
            assert decided.reasons()[-1] == ("Requests count as multiples of the average request: ana 4 and ben 10.")
            stored = [event.details for event, _ in ledger.events() if event.kind == "decision"][-1]
            assert stored["request"]["needs"] == {"ana": 6.0, "ben": 10.0}
            assert stored["usual"] == {"ana": 4.0, "ben": 10.0}
            (name,) = decided.utilities
            assert decided.utilities[name] == pytest.approx({"ana": 1.5, "ben": 1.0}[name])
            assert ledger.verify().ok

    def test_it_can_change_and_is_refused_where_it_has_no_meaning(self, new_path):
        assert Rules().reports == "as-reported"
        with pytest.raises(ValueError, match="reports must be one of as-reported, normalised, got 'honest'"):
            Rules(reports="honest")
        with new(new_path(), "ana", "ben") as ledger:
            ledger.change_rules(reports="normalised", at="2026-03-01")
            assert "Requests count" not in " ".join(ledger.propose(ChooseK({"ana": 1.0}), at="2026-02-02").reasons())
