"""A ledger remembers as the memory of its rules does, in real time, against the definition of each memory."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bygones.allocation.problems import ChooseK
from bygones.ledger import DateNeeds, Ledger, Rules
from bygones.ledger.model.remembering import local_time
from bygones.ledger.model.times import as_datetime, instant
from bygones.memory import Multiscale

BEGAN = datetime(2026, 1, 30, 9, tzinfo=UTC)
ZONE = "Europe/Berlin"
NAMES = ("ana", "ben", "cem")
MEMORIES = {
    "half-lives of their own": {"half_life": "5d", "half_lives": {"ana": "36h", "ben": "inf"}},
    "a capped half-life": {"half_life": "5d", "cap": 6.0},
    "a window of days": {"memory": "sliding_window(length=4d)"},
    "a window of hours": {"memory": "sliding_window(length=30h)"},
    "a capped window": {"memory": "sliding_window(length=4d)", "cap": 5.0},
    "a reset every day": {"memory": "reset(every=day)"},
    "a reset every week": {"memory": "reset(every=week)"},
    "a reset every month": {"memory": "reset(every=month)"},
    "a reset every three days": {"memory": "reset(every=3d)"},
    "several time scales": {"memory": "multiscale(gammas=(0.7, 0.97), weights=(0.5, 0.5))"},
}


def moment(number):
    return BEGAN + timedelta(hours=7 * number)


def day_of(time):
    return (time.astimezone(ZoneInfo(ZONE)).date() - BEGAN.astimezone(ZoneInfo(ZONE)).date()).days


def hour_of(time):
    return 24 * day_of(time) + time.astimezone(ZoneInfo(ZONE)).hour


def remembered(rules, name, amounts, at):
    """What a memory holds at a time of amounts at times, by its definition."""
    days = [(when, (at - when) / timedelta(days=1), amount) for when, amount in amounts]
    local = at.astimezone(ZoneInfo(ZONE))
    cap = np.inf if rules.cap is None else rules.cap
    if rules.memory == "discounted":
        half_life = {"5d": 5.0, "36h": 1.5, "inf": np.inf}[rules.half_lives.get(name, rules.half_life)]
        Z, last = 0.0, None
        for when, amount in amounts:
            passed = 0.0 if last is None else (when - last) / timedelta(days=1)
            Z, last = min(Z * 0.5 ** (passed / half_life) + amount, cap), when
        return 0.0 if last is None else Z * 0.5 ** ((at - last) / timedelta(days=1) / half_life)
    if rules.memory.startswith("multiscale"):
        return sum(amount * (0.5 * 0.7**age + 0.5 * 0.97**age) for _, age, amount in days)
    if rules.memory == "sliding_window(length=4d)" and rules.cap is not None:
        kept = []  # of what is above the cap, the newest is lost
        for when, amount in amounts:
            within = sum(each for then, each in kept if day_of(when) - day_of(then) < 4)
            kept.append((when, min(amount, max(cap - within, 0.0))))
        return sum(each for then, each in kept if day_of(at) - day_of(then) < 4)
    counts = {
        "sliding_window(length=4d)": lambda when: day_of(at) - day_of(when) < 4,
        "sliding_window(length=30h)": lambda when: hour_of(at) - hour_of(when) < 30,
        "reset(every=day)": lambda when: day_of(at) == day_of(when),
        "reset(every=week)": lambda when: local.isocalendar()[:2] == when.astimezone(ZoneInfo(ZONE)).isocalendar()[:2],
        "reset(every=month)": lambda when: (
            (local.year, local.month) == (when.astimezone(ZoneInfo(ZONE)).year, when.astimezone(ZoneInfo(ZONE)).month)
        ),
        "reset(every=3d)": lambda when: day_of(at) // 3 == day_of(when) // 3,
    }[rules.memory]
    return sum(amount for when, _, amount in days if counts(when))


entries = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 40), st.floats(0, 8)), max_size=14)


histories = {"entries": entries, "late": st.booleans(), "corrected": st.integers(0, 13), "at": st.integers(0, 60)}


@pytest.mark.parametrize("settings_of_memory", MEMORIES.values(), ids=MEMORIES)
@settings(max_examples=5, deadline=None)
@given(**histories)
def test_a_ledger_remembers_by_its_rules(new_path, settings_of_memory, entries, late, corrected, at):
    check_remembers(new_path(), settings_of_memory, entries, late, corrected, at)


@pytest.mark.soak
@pytest.mark.parametrize("settings_of_memory", MEMORIES.values(), ids=MEMORIES)
@settings(max_examples=25, deadline=None)
@given(**histories)
def test_a_ledger_remembers_by_its_rules_at_length(new_path, settings_of_memory, entries, late, corrected, at):
    check_remembers(new_path(), settings_of_memory, entries, late, corrected, at)


def check_remembers(path, settings_of_memory, entries, late, corrected, at):
    """That a ledger with these entries, one of them corrected, remembers what its memory does by definition."""
    rules = Rules(newcomers="zero", time_zone=ZONE, **settings_of_memory)
    entries = entries if late else sorted(entries, key=lambda entry: entry[1])
    with Ledger.new(path, rules, began=BEGAN) as ledger:
        ledger.join_all(NAMES, at=BEGAN)
        for name, when, amount in entries:
            ledger.record(name, amount, at=moment(when))
        counted = [(name, moment(when), amount) for name, when, amount in entries]
        if corrected < len(entries):
            ledger.correct(5 + corrected, 1.5)
            counted[corrected] = (*counted[corrected][:2], 1.5)
        counted.sort(key=lambda entry: entry[1])
        stood = ledger.standing(moment(at))
        for name, Z in zip(stood.names, stood.remembered, strict=True):
            amounts = [(when, amount) for who, when, amount in counted if who == name and when <= moment(at)]
            assert pytest.approx(remembered(rules, name, amounts, moment(at)), rel=1e-9, abs=1e-9) == Z
        assert stood.received.sum() == pytest.approx(sum(amount for _, when, amount in counted if when <= moment(at)))
        assert ledger.verify().ok


@pytest.mark.parametrize("settings_of_memory", MEMORIES.values(), ids=MEMORIES)
def test_decisions_under_every_memory_are_made_again_and_explained(new_path, settings_of_memory):
    rules = Rules(kind="burden", newcomers="zero", time_zone=ZONE, **settings_of_memory)
    with Ledger.new(new_path(), rules, began=BEGAN) as ledger:
        ledger.join_all(NAMES, at=BEGAN)
        served = [
            ledger.decide(ChooseK(dict.fromkeys(NAMES, 2.0)), at=moment(day)).utilities for day in range(0, 12, 2)
        ]
        is_drawn = rules.memory == "reset(every=day)"  # of whoever has nothing yet that day, by lot
        assert is_drawn or {name for each in served for name in each} == set(NAMES)
        ledger.record("cem", 30, at=moment(0))
        changed = ledger.redecide(moment(0), accept=True)
        assert is_drawn or changed
        assert ledger.rules().memory_sentence in ledger.propose(ChooseK({"ana": 1.0})).reasons()
        soon = datetime.now(UTC) + timedelta(days=2)
        ledger.plans.publish([DateNeeds(instant(soon + timedelta(days=day)), False, ChooseK({"ana": 1.0, "ben": 1.0}))
                              for day in range(3)])  # fmt: skip
        assert ledger.verify().ok
        ledger.owed_since()
        total = sum(part.counts for part in ledger.contributions("cem", moment(12)))
        stood = ledger.standing(moment(12))
        assert total == pytest.approx(stood.remembered[2])


def test_another_memory_holds_for_the_whole_past_from_its_time_on(new_target):
    with Ledger.new(new_target(), Rules(half_life="1d", newcomers="zero"), began=BEGAN) as ledger:
        ledger.join_all(["ana", "ben"], at=BEGAN)
        ledger.record("ana", 8, at=BEGAN + timedelta(days=1))
        ledger.change_rules(memory="sliding_window(length=10d)", at=BEGAN + timedelta(days=4))
        assert ledger.standing(BEGAN + timedelta(days=3)).remembered.tolist() == [2, 0]
        assert ledger.standing(BEGAN + timedelta(days=5)).remembered.tolist() == [8, 0]
        ledger.record("ben", 3, at=BEGAN + timedelta(days=6))
        assert ledger.standing(BEGAN + timedelta(days=6)).remembered.tolist() == [8, 3]
        assert ledger.standing(BEGAN + timedelta(days=12)).remembered.tolist() == [0, 3]
        assert ledger.outlook(BEGAN + timedelta(days=5), BEGAN + timedelta(days=3)).remembered.tolist() == [8, 0]
        assert ledger.verify().ok
        with pytest.raises(ValueError, match="a half-life has no effect with sliding_window"):
            ledger.change_rules(half_life="3d")
        ledger.change_rules(memory="discounted", half_life="3d")
        assert ledger.rules().memory_in_words == "half-life 3d"
        assert ledger.verify().ok


def test_another_memory_ahead_takes_effect_by_itself(new_path, monkeypatch):
    with Ledger.new(new_path(), Rules(half_life="1d", newcomers="zero"), began=BEGAN) as ledger:
        ledger.join_all(["ana", "ben"], at=BEGAN)
        ledger.record("ana", 8)
        ledger.change_rules(memory="sliding_window(length=100d)", at=datetime.now(UTC) + timedelta(days=3))
        later = datetime.now(UTC) + timedelta(days=5)
        assert ledger.standing(later).remembered[0] == 8
        assert ledger.standing(later - timedelta(days=3)).remembered[0] == pytest.approx(2, rel=1e-3)
        with pytest.raises(ValueError, match=r"the memory changes at .* in the middle of this plan"):
            ledger.plans.draft([DateNeeds(instant(later - timedelta(days=day)), False, ChooseK({"ana": 1.0}))
                                for day in (4, 1)])  # fmt: skip
        monkeypatch.setattr("bygones.ledger.storage.rows.clock", lambda _: instant(later))
        ledger.record("ben", 1)
        assert ledger.standing(later).remembered.tolist() == [8, 1]
        assert ledger.verify().ok
        with pytest.raises(ValueError, match="no decision was made between"):
            ledger.redecide(BEGAN)
        with pytest.raises(ValueError, match=r"the memory changes at .* in the middle of this period"):
            ledger.redecide(BEGAN, later)


def test_a_hold_stops_the_days_of_a_window_but_not_the_calendar(new_path):
    for memory, left in (("sliding_window(length=4d)", 8.0), ("reset(every=week)", 0.0)):
        with Ledger.new(new_path(), Rules(memory=memory, newcomers="zero"), began=BEGAN) as ledger:
            ledger.join("ana", at=BEGAN)
            ledger.record("ana", 8, at=BEGAN)
            ledger.hold("ana", at=BEGAN + timedelta(days=1))
            ledger.resume("ana", at=BEGAN + timedelta(days=8))
            assert ledger.standing(BEGAN + timedelta(days=10)).remembered.tolist() == [left]
            assert ledger.standing(BEGAN + timedelta(days=11)).remembered.tolist() == [0.0]


def test_days_are_those_of_the_ledgers_time_zone():
    spring = datetime(2026, 3, 29, tzinfo=ZoneInfo(ZONE))
    hours = [spring.astimezone(UTC) + timedelta(minutes=15 * number) for number in range(120)]
    expected = [instant(hour.astimezone(ZoneInfo(ZONE)).replace(tzinfo=UTC)) for hour in hours]
    assert local_time(np.array([instant(hour) for hour in hours]), ZONE).tolist() == expected


def test_since_when_somebody_is_owed_is_looked_up_every_day(new_path):
    rules = Rules(memory="sliding_window(length=4d)", newcomers="zero")
    with Ledger.new(new_path(), rules, began=BEGAN) as ledger:
        ledger.join_all(["ana", "ben"], at=BEGAN)
        ledger.record("ana", 8, at=BEGAN + timedelta(days=1))
        ledger.record("ben", 3, at=BEGAN + timedelta(days=2))
        owed = ledger.owed_since(BEGAN + timedelta(days=3))
        assert {name: as_datetime(since) for name, since in owed.items()} == {"ben": BEGAN + timedelta(days=1)}
        # Five days after it was received, what ana got counts no more.
        owed = ledger.owed_since(BEGAN + timedelta(days=5, hours=3))
        assert {name: as_datetime(since) for name, since in owed.items()} == {"ana": datetime(2026, 2, 4, tzinfo=UTC)}


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"memory": "sliding_window"}, r"memory sliding_window needs its length, as in sliding_window\(length=...\)"),
        ({"memory": "sliding_window(every=3d)"}, "memory sliding_window takes length"),
        ({"memory": "sliding_window(length=1001d)"}, "length must be a whole number of days or hours of at most 1000"),
        ({"memory": "sliding_window(length=soon)"}, "length must be a time above 0"),
        ({"memory": "reset(every=fortnight)"}, "every must be day, week, month, quarter, year or a whole number"),
        ({"memory": "reset(every=36h)"}, "every must be day, week"),
        ({"memory": "elephant"}, "memory must be one of .*discounted, .* sliding_window"),
        ({"memory": "sliding_windw(length=28d)"}, "memory must be one of .* did you mean sliding_window?"),
        ({"memory": "discounted(gamma=0.5)"}, "memory discounted takes half_life"),
        ({"memory": "multiscale"}, "memory multiscale needs its gammas and weights"),
        ({"memory": "instantaneous"}, "a ledger needs a memory that lasts"),
        ({"memory": "sliding_window(length=inf)"}, "length must be a whole number"),
        ({"memory": "reset(every=inf)"}, "every must be day"),
        ({"memory": "reset(every=)"}, "memory must be written as name or name"),
        ({"memory": ""}, "memory must be one of .*discounted"),
        ({"memory": Multiscale(gammas=(0.5,), weights=(1.0,))}, "a ledger stores its rules as text"),
        ({"cap": 0}, "cap must be a finite number above 0"),
        ({"cap": np.inf}, "cap must be a finite number above 0"),
        ({"half_lives": {"ana": "soon"}}, "half_life of 'ana' must be a time above 0"),
        ({"memory": "reset(every=day)", "rule": "prices"}, "the rule prices needs one half-life for all agents"),
        ({"cap": 5, "rule": "prices"}, "and no cap: use the rule one-step, got half-life 30d, at most 5"),
    ],
)
def test_memories_that_a_ledger_cannot_keep_are_refused(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        Rules(**wrong)


def test_half_lives_are_of_agents_in_the_ledger(new_path):
    with Ledger.new(new_path()) as ledger:
        ledger.join("ana")
        with pytest.raises(ValueError, match="unknown agent 'bob'"):
            ledger.change_rules(half_lives={"bob": "3d"})
        ledger.change_rules(half_lives={"ana": "3d"})
        assert ledger.rules().memory_in_words == "half-life 30d, 3d for ana"
        ledger.change_rules(memory="reset(every=month)")
        assert ledger.rules().memory_in_words == "reset every month"
        with pytest.raises(ValueError, match="a half-life has no effect"):
            ledger.change_rules(half_lives={"ana": "9d"})
        ledger.change_rules(memory="discounted", half_lives={"ana": None})
        assert ledger.rules().fades_alike
        assert ledger.verify().ok


def test_a_half_life_named_with_the_memory_is_the_half_life(new_path):
    assert Rules(memory="discounted(half_life=7d)").to_dict() == Rules(half_life="7d").to_dict()
    with Ledger.new(new_path(), began=BEGAN) as ledger:
        ledger.change_rules(memory="discounted(half_life=7d)")
        assert ledger.rules().half_life == "7d"
        assert ledger.verify().ok


def test_after_another_memory_the_past_fades_by_the_half_life_that_came_with_the_change(new_path):
    with Ledger.new(new_path(), Rules(memory="reset(every=month)", newcomers="zero"), began="2026-01-01") as ledger:
        ledger.join("ana", at="2026-01-01")
        ledger.record("ana", 8, at="2026-01-10")
        ledger.record("ana", 4, at="2026-02-02")
        ledger.change_rules(memory="discounted", half_life="10d", at="2026-02-10")
        assert ledger.standing("2026-02-09").remembered.tolist() == [4]
        expected = 8 * 0.5**3.1 + 4 * 0.5**0.8
        assert ledger.standing("2026-02-10").remembered == pytest.approx([expected])
        assert ledger.verify().ok


def test_decisions_before_a_change_of_the_memory_can_be_made_again(new_path):
    with Ledger.new(new_path(), Rules(half_life="3d", newcomers="zero"), began=BEGAN) as ledger:
        ledger.join_all(NAMES, at=BEGAN)
        everybody = ChooseK(dict.fromkeys(NAMES, 2.0))
        first = [ledger.decide(everybody, at=moment(number)) for number in (1, 2)]
        ledger.change_rules(cap=4, at=moment(3))
        ledger.decide(everybody, at=moment(4))
        (served,) = first[0].utilities
        ledger.record(served, 50, at=moment(0))
        changed = ledger.redecide(moment(1), moment(3), accept=True)
        assert all(each.in_period for each in changed)
        assert changed
        assert ledger.verify().ok


def test_the_memory_of_several_time_scales_is_the_one_of_the_package():
    assert Rules(memory=MEMORIES["several time scales"]["memory"]).remembering.memory.matches(
        Multiscale(gammas=(0.7, 0.97), weights=(0.5, 0.5))
    )


@pytest.mark.parametrize(
    ("every", "ends"),
    [
        ("day", "2026-01-31"),
        ("3d", "2026-02-02"),
        ("week", "2026-02-02"),
        ("month", "2026-02-01"),
        ("quarter", "2026-04-01"),
        ("year", "2027-01-01"),
    ],
)
def test_a_period_ends_at_midnight_in_the_ledgers_time_zone(new_path, every, ends):
    rules = Rules(memory=f"reset(every={every})", newcomers="zero", time_zone=ZONE)
    with Ledger.new(new_path(), rules, began=BEGAN) as ledger:
        ledger.join("ana", at=BEGAN)
        ledger.record("ana", 8, at=BEGAN)
        midnight = datetime.fromisoformat(ends).replace(tzinfo=ZoneInfo(ZONE))
        assert ledger.standing(midnight - timedelta(seconds=1)).remembered.tolist() == [8]
        assert ledger.standing(midnight).remembered.tolist() == [0]
