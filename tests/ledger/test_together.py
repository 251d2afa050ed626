"""Parts of the ledger that were built apart, used together: voids, redecisions, swaps, keys and time zones."""

import pytest

from bygones.allocation import ChooseK
from bygones.cli import program
from bygones.ledger import Ledger, Rules
from bygones.ledger.model import times

NEEDS = ChooseK({"ana": 8.0, "ben": 7.0, "cem": 6.0})


@pytest.fixture
def ledger(new_target):
    with Ledger.new(new_target(), Rules(kind="burden"), began="2026-03-01") as ledger:
        ledger.join_all(["ana", "ben", "cem"], at="2026-03-01")
        yield ledger


def served(ledger, *days):
    return [next(iter(ledger.decide(NEEDS, at=f"2026-03-{day}").utilities)) for day in days]


def test_who_was_on_hold_as_is_known_later_is_left_out_when_it_is_decided_again(ledger):
    (first,) = served(ledger, "02")
    decision = ledger.n_events() - 1
    ledger.hold(first, at="2026-03-01T12:00")
    (found,) = ledger.redecide("2026-03-01", accept=True, note="recorded late")
    assert found.seq == decision
    assert list(found.before) == [first] != list(found.after)
    stood = ledger.standing("2026-03-03")
    assert stood.received[stood.names.index(first)] == 0
    assert ledger.verify().ok


def test_a_decision_counts_once_however_often_it_is_made_again(ledger):
    served(ledger, "02", "03")
    ledger.record("cem", 9, at="2026-03-01T12:00")
    (found, *_) = ledger.redecide("2026-03-01", "2026-03-03", accept=True)
    (void,) = [event.seq for event, _ in ledger.events() if event.kind == "void" and event.refers == found.seq]
    with pytest.raises(ValueError, match=rf"event {found.seq} was decided again as event \d+: void event \d+ first"):
        ledger.void(void)
    assert ledger.verify().ok


def test_a_void_is_put_back_once(ledger):
    event = ledger.record("ana", 5, at="2026-03-02")
    void = ledger.void(event.seq)
    back = ledger.void(void.seq)
    ledger.void(event.seq)
    with pytest.raises(ValueError, match=f"event {void.seq} is already void, since event {back.seq}"):
        ledger.void(void.seq)
    assert ledger.standing("2026-03-03").received.tolist() == [0, 0, 0]


def test_a_swap_is_not_decided_again(ledger):
    served(ledger, "02", "03", "04")
    ledger.plans.swap(6, 8)
    assert ledger.redecide("2026-03-01") == []
    assert ledger.verify().ok


def test_the_same_moment_in_another_spelling_is_the_same_request(new_path):
    with Ledger.new(new_path(), Rules(time_zone="Europe/Berlin"), began="2026-08-01") as ledger:
        first = ledger.join_all(["ana", "ben"], at="2026-09-01", key="j")
        assert ledger.join_all(["ana", "ben"], at="2026-08-31T22:00Z", key="j") == first
        made = ledger.decide(ChooseK({"ana": 1.0}), at="2026-11-01", key="d")
        again = ledger.decide(ChooseK({"ana": 1.0}), at="2026-11-01T00:00+01:00", key="d")
        assert again.utilities == made.utilities
        assert ledger.n_events() == 5


def test_a_key_of_something_void_says_so(new_path, capsys):
    path = new_path()
    with Ledger.new(path, began="2026-03-01") as ledger:
        ledger.join("ana", at="2026-03-01")
        void = ledger.void(ledger.hold("ana", at="2026-03-02", key="h").seq)
    program.main(["ledger", "hold", str(path), "ana", "--at", "2026-03-02", "--key", "h"])
    assert f"for event 3, which has been void since event {void.seq}: use another key" in capsys.readouterr().err


def test_entitlements_may_be_given_one_by_one_or_together(new_path, capsys):
    path = new_path()
    with Ledger.new(path, began="2026-03-01") as ledger:
        ledger.join_all(["ana", "ben", "cem"], at="2026-03-01")
    program.main(["ledger", "rules", str(path), "--entitlement-of", "ana=2", "ben=3", "--entitlement-of", "cem=4"])
    with Ledger.open(path) as ledger:
        assert ledger.rules().entitlements == {"ana": 2, "ben": 3, "cem": 4}


def test_what_lies_ahead_is_told_as_such(new_path, capsys):
    path, ahead = new_path(), times.shown(times.now() + 86_400 * times.SECOND)[:-5] + "14:30"
    on = f"on {times.day_in_words(times.instant(ahead))} at {ahead[-5:]} UTC"
    with Ledger.new(path, began="2026-03-01") as ledger:
        ledger.join("ana", at="2026-03-01")
    program.main(["ledger", "join", str(path), "ben", "--at", ahead])
    program.main(["ledger", "rules", str(path), "--half-life", "7d", "--at", ahead])
    assert capsys.readouterr().out.splitlines() == [
        f"ben joins {on}. Their starting amount is computed then.",
        f"Rules change {on}.",
    ]


def test_an_explanation_names_who_took_over(ledger):
    served(ledger, "02", "03")
    swapped = ledger.plans.swap(6, 8)
    told = [change.sentence() for change in ledger.changes_since(ledger.event(5))]
    assert f"Swapped later: {swapped[0].agent} takes it (event {swapped[0].seq})." in told
    was = ledger.event(6).agent
    assert any(each.startswith(f"What {was} was given (event 6) was made void later by event ") for each in told)
    assert not any(each.startswith("Made void later") for each in told), "the decision itself is in effect"


def test_decisions_in_quick_succession_are_made_again_as_they_were(new_target):
    """Each is dated when it is recorded, and the next sees it."""
    names = [f"agent {i}" for i in range(6)]
    with Ledger.new(new_target(), began="2026-03-01") as ledger:
        ledger.join_all(names, at="2026-03-01")
        for _ in range(20):
            ledger.decide(ChooseK(dict.fromkeys(names, 1.0)))
        found = ledger.verify()
    assert (found.problems, found.decisions) == ((), 20)
