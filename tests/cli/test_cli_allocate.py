import csv
import json
import re

import numpy as np
import pytest

from bygones import Discounted
from bygones.allocation import ChooseK, allocate, tables
from bygones.cli import program
from support import command_line


def run(capsys, *arguments):
    program.main(["allocate", *map(str, arguments)])
    return capsys.readouterr().out


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.fixture
def needs(write):
    return write("needs.csv", "agent,need,note\nana,2,\nben,1.5,\ncem,1,night\n")


@pytest.fixture
def past(write):
    return write("past.csv", "agent,time,utility\nana,1,4\nben,1,1\ncem,11,3\n")


def test_the_decision_with_its_reasons(capsys, needs, past):
    out = run(capsys, needs, "--history", past, "--half-life", 30, "--welfare", "egalitarian", "--k", 1)
    assert out.startswith("ben gets the place: lowest recent total of the three who asked.\n")
    assert re.search(r"^ ben +0\.78 +1\.5 +2\.28 +<- *$", out, re.MULTILINE)
    assert "Each entry counts half after 30 steps.\n" in out
    assert "draw" not in out
    assert "wrote" not in out


def test_it_is_the_decision_of_the_library(capsys, needs, past):
    options = ("--history", past, "--half-life", 10, "--welfare", "nash", "--k", 2, "--at", 21)
    got = json.loads(run(capsys, needs, *options, "--json"))
    memory = Discounted(half_life=10)
    state = memory.update(memory.init(3), [4, 1, 0])
    state = memory.update(state, [0, 0, 3], elapsed=10)
    decision = allocate(ChooseK({"ana": 2, "ben": 1.5, "cem": 1}, 2), memory, state, "nash", elapsed=10)
    assert got == decision.to_dict()
    assert got["remembered_before"] == pytest.approx([2, 0.5, 3])


def test_dates_count_in_days(capsys, needs, write):
    past = write("past.csv", "agent,time,utility\nana,2026-01-01,4\nben,2026-01-11T00:00Z,1\n")
    got = json.loads(run(capsys, needs, "--history", past, "--half-life", 10, "--at", "2026-01-31", "--json"))
    assert got["elapsed"] == pytest.approx(20)
    assert got["remembered_before"] == pytest.approx([2, 1, 0])
    assert "Each entry counts half after 10 days." in got["explanation"]
    later = json.loads(run(capsys, needs, "--history", past, "--half-life", 10, "--json"))
    assert later["elapsed"] > 20


def test_a_table_that_a_ledger_imports_is_a_history(capsys, needs, past, write):
    imported = write("history.csv", past.read_text(encoding="utf-8").replace("utility", "amount"))
    options = ("--half-life", 10, "--json")
    assert run(capsys, needs, "--history", imported, *options) == run(capsys, needs, "--history", past, *options)


def test_a_name_is_the_same_however_it_is_typed(capsys, write):
    needs, past = write("needs.csv", "agent,need\nZo\u00eb,1\nben,1\n"), "agent,time,utility\nZoe\u0308,1,5\n"
    got = json.loads(run(capsys, needs, "--history", write("past.csv", past), "--half-life", 10, "--json"))
    assert got["remembered_before"] == [5, 0]


def test_averages_and_entitlements(capsys, needs, past, write):
    entitlements = write("entitlements.csv", "agent,entitlement\ncem,1\nana,4\nben,2\n")
    options = ("--history", past, "--half-life", "inf", "--average", "--entitlements", entitlements, "--json")
    got = json.loads(run(capsys, needs, *options))
    assert got["remembered_before"] == pytest.approx([0.5, 0.25, 1.5])
    assert got["entitlements"] == [4, 2, 1]


def test_without_a_past_a_seed_makes_the_draw_repeatable(capsys, write):
    needs = write("needs.csv", "agent,need\n" + "".join(f"a{i},1\n" for i in range(20)))
    empty = write("past.csv", "agent,time,utility\n")
    served = [
        json.loads(run(capsys, needs, *options, "--half-life", 7, "--seed", seed, "--json"))["served"]
        for seed in (1, 2, 3)
        for options in ((), ("--history", empty))
    ]
    assert served[::2] == served[1::2]
    assert len({tuple(names) for names in served}) > 1


def test_items_are_written_as_csv_and_json(capsys, write, tmp_path):
    needs = write("items.csv", "agent,early,late\nana,2,1\n'=ben,,1.5\ncem,1,\n")
    out = tmp_path / "decision.csv"
    printed = run(capsys, needs, "--half-life", 30, "--welfare", "utilitarian", "--out", out)
    assert "ana gets early and =ben late: no other assignment has a higher welfare (utilitarian).\n" in printed
    assert f"wrote {out}" in printed
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["agent"], row["items"], float(row["utility"])) for row in rows] == [
        ("ana", "early", 2), ("'=ben", "late", 1.5), ("cem", "", 0),
    ]  # fmt: skip
    run(capsys, needs, "--half-life", 30, "--capacity", 2, "--welfare", "utilitarian", "--out", tmp_path / "d.json")
    assert json.loads((tmp_path / "d.json").read_text())["owners"] == {"early": "ana", "late": "=ben"}


def test_who_is_served_as_csv(capsys, needs, past, tmp_path):
    out = tmp_path / "decision.csv"
    run(capsys, needs, "--history", past, "--half-life", 30, "--out", out)
    with out.open(newline="") as file:
        assert [row["served"] for row in csv.DictReader(file)] == ["no", "yes", "no"]


GOOD_NEEDS = "agent,need\nana,2\nben,1\n"
GOOD_PAST = "agent,time,utility\nana,1,4\n"


@pytest.mark.parametrize(
    ("files", "options", "message"),
    [
        ({"needs": "agent,need\nana,2\nben,-1\n"}, "", "needs.csv, row 3: column 'need' must be a finite number"),
        ({"needs": "agent,need\nana,nan\n"}, "", "needs.csv, row 2: column 'need'"),
        ({"needs": "agent,need\nana,\n"}, "", "needs.csv, row 2: column 'need'"),
        ({"needs": "agent,need\nana,1\nana,1\n"}, "", "needs.csv, row 3: column 'agent' has 'ana' a second time"),
        ({"needs": "agent,need\n,1\n"}, "", "row 2: column 'agent' must not be empty"),
        (
            {"needs": "agent,need,other\nana,1,2\n"},
            "",
            "has a column 'other' next to 'need': delete it, or name it 'note'",
        ),
        ({"needs": "agent,x,x\nana,1,2\n"}, "", "has the column 'x' twice"),
        ({"needs": "agent,x,\nana,1,2\n"}, "", "has a column without a name: name it or delete it"),
        ({"needs": "agent,x,y\nana,1,2\nben,1,-2\n"}, "", "row 3: column 'y' must be a finite number of at least 0"),
        ({"needs": "agent,x,y\nana,,\n"}, "", "gives no utility: no agent may take any of the items 'x', 'y'"),
        ({"needs": "agent,x\nana,1\n"}, "--k 1", "needs.csv, a table of items: use capacity"),
        ({"needs": "agent,x\nana,1\n"}, "--capacity 0", "capacity must be a whole number of at least 1"),
        ({}, "--capacity 1", "needs.csv, a table of needs: use k"),
        ({}, "--k 3", "k must be at most the number of agents (2), got 3"),
        ({}, "--k 0", "k must be a whole number of at least 1"),
        ({}, "--welfare kind", "welfare must be one of"),
        ({}, "--seed -1", "seed must be a whole number of at least 0"),
        (
            {"past": GOOD_PAST + "dan,2,1\n"},
            "",
            "past.csv, row 3: column 'agent' must be an agent in the table of needs, got 'dan'",
        ),
        ({"past": GOOD_PAST + "ana,1,4\n"}, "", "past.csv, row 3: column 'agent' has 'ana' a second time at 1"),
        ({"past": GOOD_PAST + "ben,0,4\n"}, "", "past.csv, row 3: column 'time' must not go back in time, got '0'"),
        ({"past": GOOD_PAST + "ben,2,nan\n"}, "", "past.csv, row 3: column 'utility' must be a finite number"),
        ({"past": "agent,time,x\nana,1,4\n"}, "", "has no column 'utility' or 'amount': found 'agent', 'time', 'x'"),
        ({"past": GOOD_PAST + "ben,soon,1\n"}, "", "row 3: column 'time' must be a number or a date"),
        ({"past": GOOD_PAST + "ben,inf,1\n"}, "", "row 3: column 'time' must be a finite number or a date"),
        ({"past": GOOD_PAST + "ben,2026-01-01,1\n"}, "", "row 3: column 'time' must be a number as in the row above"),
        ({}, "--at 0", "at must not go back in time, got '0', which is before the last row of the history"),
        ({}, "--at soon", "at must be a number or a date"),
        ({"ents": "agent,entitlement\nana,1\n"}, "", "1 of 2 agents in the table of needs have no entitlement: ben"),
        ({"ents": "agent,entitlement\nana,1\nben,0\n"}, "", "ents.csv, row 3: column 'entitlement' must be above 0"),
        (
            {"ents": "agent,entitlement\ndan,1\n"},
            "",
            "ents.csv: 'dan' is not in the table of needs",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(capsys, write, tmp_path, files, options, message):
    needs = write("needs.csv", files.get("needs", GOOD_NEEDS))
    past = write("past.csv", files.get("past", GOOD_PAST))
    out = tmp_path / "decision.csv"
    arguments = [needs, "--history", past, "--half-life", "30", "--out", out, *options.split()]
    if "ents" in files:
        arguments += ["--entitlements", write("ents.csv", files["ents"])]
    with pytest.raises(SystemExit) as stop:
        program.main(["allocate", *map(str, arguments)])
    captured = capsys.readouterr()
    assert stop.value.code == 2
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert not out.exists()


def test_other_kinds_of_file_are_refused(capsys, needs, tmp_path):
    with pytest.raises(SystemExit):
        program.main(["allocate", str(needs), "--half-life", "30", "--out", str(tmp_path / "decision.txt")])
    assert "out must end in .csv or .json" in capsys.readouterr().err


def test_the_time_since_the_last_row():
    steps, days = tables.moment("5", "now"), tables.moment("1970-01-03", "now")
    assert days == (2.0, True)
    assert tables.since_last(None, "7") == 1
    assert tables.since_last(steps, None) == 1
    assert tables.since_last(steps, "7") == 2
    assert tables.since_last(days, "1970-01-03T12:00") == 0.5


def test_a_burden_goes_to_whoever_it_burdens_least(capsys, write):
    shift = write("shift.csv", "agent,need\nana,12\nben,2\ncem,4\n")
    out = run(capsys, shift, "--half-life", 30, "--kind", "burden")
    assert out.startswith("ben takes the job: lowest recent workload with this job, of the three available.\n")
    assert json.loads(run(capsys, shift, "--half-life", 30, "--kind", "burden", "--json"))["kind"] == "burden"
    assert json.loads(run(capsys, shift, "--half-life", 30, "--json"))["served"] == ["ana"]


def test_the_least_burdened_takes_the_night_and_the_exempt_nothing(capsys, write):
    shifts = write("shifts.csv", "agent,night,evening\nana,12,4\nben,12,4\ncem,12,4\ndana,12,4\n")
    past = write("past.csv", "agent,time,utility\nana,1,8\nben,1,2\ncem,1,5\n")
    shares = write("shares.csv", "agent,entitlement\nana,1\nben,1\ncem,1\ndana,0\n")
    options = ("--history", past, "--half-life", 30, "--kind", "burden", "--entitlements", shares, "--json")
    got = json.loads(run(capsys, shifts, *options))
    assert got["owners"] == {"night": "ben", "evening": "cem"}
    with pytest.raises(SystemExit):
        run(capsys, shifts, "--half-life", 30, "--entitlements", shares)


@pytest.mark.parametrize("kind", ["good", "burden"])
def test_an_empty_need_is_somebody_who_may_not_be_served(capsys, write, kind):
    needs = write("needs.csv", "agent,need\nana,2\nben,\ncem,3\n")
    past = write("past.csv", "agent,time,utility\nana,1,4\nben,1,1\ncem,1,2\n")
    options = ("--history", past, "--half-life", 30, "--kind", kind, "--json")
    assert json.loads(run(capsys, needs, *options))["served"] == ["cem"]


def test_prices_look_ahead_and_learn_from_the_history(capsys, write):
    """Ana is behind, but hardly needs it today; she waits."""
    rows = [f"{name},{day},{worth}" for day in range(1, 30) for name, worth in (("ana", 3), ("ben", 4))]
    past = write("long.csv", "agent,time,utility\n" + "\n".join(rows) + "\n")
    today = write("today.csv", "agent,need\nana,0.1\nben,6\n")
    settings = (today, "--history", past, "--half-life", 30)
    assert run(capsys, *settings).startswith("ana gets the place: lowest recent total of the two who asked.\n")
    out = run(capsys, *settings, "--rule", "prices")
    assert out.startswith("ben gets the place: highest need × price of the two who asked.\n")
    assert re.search(
        r"^ana has the lowest recent total \([\d.]+\), but a lower need × price \([\d.]+\)\.$", out, re.MULTILINE
    )
    data = json.loads(run(capsys, *settings, "--rule", "prices", "--json"))
    assert data["prices"][0] > data["prices"][1]
    assert json.loads(run(capsys, *settings, "--json"))["prices"] is None


def sample_of_needs(count=60):
    """Ben's needs are a third of Ana's."""
    rng = np.random.default_rng(0)
    rows = [f"{day};{rng.random():.3f};{rng.random() / 3:.3f};{rng.random():.3f};" for day in range(count)]
    return "time;ana;ben;gone;note\n" + "\n".join(row.replace(".", ",") for row in rows) + "\n;;;;\n"


def test_prices_are_learned_from_past_needs(capsys, write):
    needs, past = write("needs.csv", "agent,need\nana,5\nben,4\nnew,1\n"), write("sample.csv", sample_of_needs())
    settings = (needs, "--half-life", 30, "--rule", "prices")
    assert run(capsys, *settings).startswith("ana gets the place: highest need × price of the three who asked.\n")
    out = run(capsys, *settings, "--past-needs", past)
    assert out.startswith("ben gets the place: highest need × price of the three who asked.\n")
    assert f"Prices were learned from 60 rows of {past}." in " ".join(out.split("\n"))
    data = json.loads(run(capsys, *settings, "--past-needs", past, "--json"))
    assert (data["rule"], data["learned_from"]) == ("prices", f"60 rows of {past}")
    ana, ben, newcomer = data["prices"]
    assert ana < newcomer < ben
    assert json.loads(run(capsys, *settings, "--json"))["learned_from"] is None


@pytest.mark.parametrize(
    ("table", "options"),
    [
        ("agent,rate\nana,5\nben,4\n", ("--amount", 3)),
        ("agent,early\nana,5\nben,4\n", ()),
        ("agent,need\nana,5\nben,4\n", ("--k", 1)),
    ],
)
def test_past_needs_serve_every_kind_of_problem(capsys, write, table, options):
    needs, past = write("needs.csv", table), write("sample.csv", sample_of_needs())
    for kind, served in (("good", "ben"), ("burden", "ana")):
        settings = (needs, "--half-life", 30, "--rule", "prices", "--past-needs", past, "--kind", kind, "--json")
        got = json.loads(run(capsys, *settings, *options))
        assert got["served"] == [served]
        assert got["prices"][1] > got["prices"][0]


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ("ana,ben\n1,2\n", ("--rule", "one-step"), "past-needs is for --rule prices, got --rule one-step"),
        ("agent,time,utility\nana,1,2\n", (), "found 'agent', 'utility' (a history goes to --history)"),
        ("anna,benn\n1,2\n", (), "but no column is an agent in the table of needs: found 'anna', 'benn'"),
        ("ana,ben\n", (), "has no rows below its header"),
        ("ana,ben,\n1,2,3\n", (), "has a column without a name"),
        ("ana,ben\n1,two\n", (), "row 2: column 'ben' must be a finite number of at least 0, got 'two'"),
        ("ana,ben\n1,-2\n", (), "row 2: column 'ben' must be a finite number of at least 0, got '-2'"),
        ("ana,ben\n1,\n,2\n", (), "has no row in which anyone would have gone without"),
        ("ana,ben\n1,2\n", ("--k", 2), "has no row in which anyone would have gone without"),
    ],
)
def test_bad_past_needs_are_refused(capsys, write, table, options, message):
    needs, past = write("needs.csv", "agent,need\nana,5\nben,4\ncem,4\n"), write("sample.csv", table)
    settings = {"--rule": "prices"} | dict(zip(options[::2], options[1::2], strict=True))
    words = [word for pair in settings.items() for word in pair]
    assert message in command_line.refused(capsys, "allocate", needs, "--half-life", 30, "--past-needs", past, *words)


def test_a_half_life_may_have_a_unit(capsys, write, needs):
    past = write("past.csv", "agent,time,utility\nana,2026-01-01,4\nben,2026-01-02,1\n")
    options = (needs, "--history", past, "--at", "2026-01-31", "--json", "--half-life")
    plain, days, hours = (json.loads(run(capsys, *options, text)) for text in ("10", "10d", "240h"))
    assert plain == days == hours
    assert "Each entry counts half after 10 days.\n" in run(capsys, needs, "--half-life", "10d")


def test_a_half_life_in_days_is_refused_where_times_are_steps(capsys, needs, past):
    with pytest.raises(SystemExit):
        program.main(["allocate", str(needs), "--history", str(past), "--half-life", "30d"])
    assert "half-life must be a number of steps, as the times in" in capsys.readouterr().err


def test_agents_without_past_needs_are_named(capsys, write, needs):
    sample = write("sample.csv", "Ana,ben,cem\n1,2,3\n3,1,2\n")
    options = (needs, "--half-life", 30, "--rule", "prices", "--past-needs")
    out = run(capsys, *options, sample)
    assert f"has no past needs of ana, and Ana is not in {needs}: their price is the mean of the others'." in out
    assert json.loads(run(capsys, *options, sample, "--json"))["notes"][0] in out.replace("\n", " ")
    assert "no past needs" not in run(capsys, *options, write("sample.csv", "ana,ben,cem,dan\n1,2,3,4\n3,1,2,2\n"))


def test_by_prices_a_tie_says_what_decided(capsys, write):
    equal = write("needs.csv", "agent,need\nana,2\nben,2\n")
    options = ("--half-life", "inf", "--rule", "prices")
    assert "ana and ben were tied, so a random draw decided." in run(capsys, equal, *options)
    other = write("needs.csv", "agent,need\nana,2\nben,1\n")
    assert "count the same" not in run(capsys, other, *options)


def test_a_thing_and_a_unit_are_in_the_words_of_the_team(capsys, write):
    shift, past = write("shift.csv", "agent,need\nana,10\nben,10\n"), write("p.csv", "agent,time,utility\nana,1,4\n")
    options = (shift, "--history", past, "--half-life", 30, "--kind", "burden", "--thing", "shift", "--unit", "h")
    out = run(capsys, *options, "--why-not", "ana")
    assert out.startswith("ben takes the 10-hour shift: lowest recent workload of the two available.\n")
    assert re.search(r"^ agent +recent h +with this", out, re.MULTILINE)
    assert "ana has more recent work (3.9 h) than ben (0.0 h). With ana, the heaviest recent load would be " in out
    data = json.loads(run(capsys, *options, "--why-not", "ana", "--json"))
    assert (data["thing"], data["unit"]) == ("shift", "h")
    assert data["why_not"].startswith("ana has more recent work")
    with pytest.raises(SystemExit):
        run(capsys, *options, "--why-not", "zoe")
    with pytest.raises(SystemExit):
        run(capsys, *options, "--thing", "x" * 41)
