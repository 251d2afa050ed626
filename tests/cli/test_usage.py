import sys

import pytest
import tyro._errors

from bygones.cli import main, usage

WRONG = [
    ("allocate", "NEEDS and --half-life are missing; see bygones allocate --help"),
    ("ledger record", "LEDGER, AGENT and AMOUNT are missing; see bygones ledger record --help"),
    ("ledger record team.db ana", "AMOUNT is missing; see bygones ledger record --help"),
    ("ledger record team.db ana x", "AMOUNT must be a number, got 'x'; see bygones --help"),
    ("ledger correct team.db x 3", "EVENT must be a whole number, got 'x'; see bygones --help"),
    ("audit h.csv --threads many", "--threads must be a whole number, got 'many'; see bygones --help"),
    ("audit h.csv --format odd", "--format must be one of auto, table, ledger, sacct, got 'odd'; see bygones audit"),
    ("audit h.csv --refine odd", "--refine must be one of "),
    ("nosuch", "'nosuch' is not known; see bygones --help"),
    ("decay --nope 3", "'--nope' and '3' are not known; see bygones --help"),
    ("allocate needs.csv --nope", "--half-life is missing, and '--nope' is not known; see bygones allocate --help"),
    ("decay --half-life", "--half-life needs a value; see bygones decay --help"),
    ("decay --half-life x", "--half-life: expected a number, got 'x'; see bygones --help"),
    ("table 2", "NAME must be one of 1, got '2'; see bygones table --help"),
    ("reproduce --horizon 10 x", "--horizon must be whole numbers, got '10', 'x'; see bygones --help"),
    ("reproduce --gamma x", "--gamma must be numbers, got 'x'; see bygones --help"),
    ("reproduce --seeds x", "--seeds must be a whole number, got 'x'; see bygones --help"),
    ("", "the command must be one of train, reproduce, "),
    ("ledger", "the command must be one of new, rules, "),
]


@pytest.mark.parametrize(("words", "sentence"), WRONG)
def test_what_cannot_be_understood_is_refused_in_one_sentence(capsys, words, sentence):
    with pytest.raises(SystemExit) as stop:
        main.main(words.split())
    out, err = capsys.readouterr()
    assert stop.value.code == 2
    assert out == ""
    assert err.startswith(f"bygones: {sentence}")
    assert err.count("\n") == 1
    assert "None" not in err


class New(tyro._errors.ParseErrorEvent):
    pass


@pytest.mark.parametrize("event", [New("bygones"), object()])
def test_what_a_later_tyro_tells_differently_is_left_to_it(event):
    assert usage._refuse(event) is None


def test_without_the_hook_the_box_of_tyro_is_shown(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tyro._errors", None)
    with pytest.raises(SystemExit) as stop:
        main.main(["decay", "--nope"])
    assert stop.value.code == 2
    assert "Unrecognized options" in capsys.readouterr().err
