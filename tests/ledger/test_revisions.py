"""Which events are void or corrected follows from the events alone."""

from bygones.ledger.model.revisions import Related, revisions


def event(seq, kind, refers=None, *, amount=0.0, to=None, origin=None, draw=None, time=0):
    return Related(seq, kind, time, refers, amount, to, origin, draw)


def test_a_void_and_the_void_of_it_begin_and_end_an_interval():
    assert revisions([event(2, "received", amount=8), event(3, "void", 2)]) == {(2, 3): (None, None)}
    put_back = [event(2, "received", amount=8), event(3, "void", 2), event(4, "void", 3)]
    assert revisions(put_back) == {(2, 3): (4, None)}


def test_the_last_correction_that_is_not_void_counts():
    corrected = [event(2, "received", amount=80), event(3, "correction", 2, to=8), event(4, "correction", 2, to=20)]
    assert revisions(corrected) == {(2, 3): (4, 8), (2, 4): (None, 20)}
    assert revisions([*corrected, event(5, "void", 3)])[2, 4] == (None, 20)
    assert revisions([*corrected, event(5, "void", 4)])[2, 5] == (None, 8)


def test_an_older_correction_has_the_difference_only():
    assert revisions([event(2, "received", amount=80), event(3, "correction", 2, amount=-72)])[2, 3] == (None, 8)


def test_of_two_versions_the_last_counts_whichever_voids_were_taken_back():
    both_back = [event(7, "void", 5), event(8, "void", 4), event(9, "void", 7)]
    for old, new in (({}, {"origin": 2}), ({"draw": 1}, {"draw": 1})):  # of version 2, and since
        first = [event(2, "decision", **old), event(3, "received", 2, amount=5)]
        again = [event(4, "void", 2), event(5, "decision", **new), event(6, "received", 5, amount=5)]
        for some in (again, [*again, *both_back]):
            open_now = {seq for (seq, _), (until, _) in revisions([*first, *some]).items() if until is None}
            assert open_now == {2, 3}


def test_of_two_plans_for_one_instant_the_later_counts():
    plans = [event(2, "plan", time=7), event(3, "planned", 2, time=7), event(4, "plan", time=7)]
    assert revisions(plans) == {(2, 4): (None, None), (3, 4): (None, None)}
    assert revisions([*plans, event(5, "void", 4)])[2, 4] == (5, None)
