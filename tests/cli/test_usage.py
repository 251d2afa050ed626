import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bygones
from bygones.cli import program, usage
from support.command_line import refused

WRONG = [
    ("allocate", "NEEDS is missing; see bygones allocate --help"),
    ("ledger redecide", "LEDGER and --from are missing; see bygones ledger redecide --help"),
    ("ledger record", "LEDGER, AGENT and AMOUNT are missing; see bygones ledger record --help"),
    ("ledger record team.db ana", "AMOUNT is missing; see bygones ledger record --help"),
    ("ledger record team.db ana x", "AMOUNT: expected a number, got 'x'; see bygones ledger record --help"),
    ("ledger correct team.db x 3", "EVENT must be a whole number, got 'x'; see bygones ledger correct --help"),
    ("audit h.csv --threads many", "--threads must be a whole number, got 'many'; see bygones audit --help"),
    (
        "audit h.csv --format odd",
        "--format must be one of auto, kueue, ledger, prometheus, sacct, swf, table, got 'odd'; see",
    ),
    ("audit h.csv --refine odd", "--refine must be one of "),
    ("nosuch", "unknown command 'nosuch': choose one of allocate, ledger, "),
    ("alocate needs.csv", "unknown command 'alocate': did you mean 'allocate'? See bygones --help"),
    ("ledger recrd team.db", "unknown command 'recrd': did you mean 'record'? See bygones ledger --help"),
    ("--nope", "'--nope' is not recognized; see bygones --help"),
    ("ledger --nope", "'--nope' is not recognized; see bygones ledger --help"),
    (
        "--json ledger standing team.db",
        "'--json' is not recognized: options come after bygones ledger; see bygones --help",
    ),
    ("ledger --json standing team.db", "'--json' is not recognized: options come after bygones ledger standing; see"),
    ("--tyro-print-completion bash", "'--tyro-print-completion' is not recognized; see bygones --help"),
    ("-- ledger", "'--' is not recognized: options come after bygones ledger; see bygones --help"),
    ("--version now", "'--version' is not recognized; see bygones --help"),
    ("simulate some-example", "EXAMPLE must be one of example-1, example-2, got 'some-example'; see bygones simulate"),
    ("simulate --gamma 0.5 x", "--gamma must be numbers, got '0.5', 'x'; see bygones simulate --help"),
    ("decay --nope 3", "'--nope' and '3' are not recognized; see bygones decay --help"),
    (
        "ledger redecide team.db --xyz",
        "--from is missing, and '--xyz' is not recognized; see bygones ledger redecide --help",
    ),
    (
        "what-if asked.csv --rule prices one-step",
        "'one-step' is not recognized: separate the values of --rule with commas, as in --rule prices,one-step; see",
    ),
    (
        "what-if asked.csv --half-life 3d 7d inf --rule prices",
        "'7d' and 'inf' are not recognized: separate the values of --half-life with commas, as in --half-life 3d,7d,",
    ),
    ("what-if asked.csv --kind good one-step", "'one-step' is not recognized; see bygones what-if --help"),
    ("ledger new team.db --half-life 7d --time-zone Mars", "--time-zone must be a name such as UTC or Europe/Berlin"),
    ("decay --half-life", "--half-life needs a value; see bygones decay --help"),
    ("decay --half-life x", "--half-life must be a number of steps, or a time such as 30d or 12h, got 'x'"),
    ("decay --gamma x", "--gamma: expected a number, got 'x'; see bygones decay --help"),
    (
        "ledger new q.db --half-life 3d --memory reset(every=month)",
        "--half-life has no effect with --memory reset(every=month): leave out one of the two",
    ),
    ("table 3", "TABLE must be one of 1, 2, got '3'; see bygones table --help"),
    ("reproduce --horizon 10 x", "--horizon must be whole numbers, got '10', 'x'; see bygones reproduce --help"),
    ("reproduce --gamma x", "--gamma must be numbers, got 'x'; see bygones reproduce --help"),
    ("reproduce --seeds x", "--seeds must be a whole number, got 'x'; see bygones reproduce --help"),
    ("", "choose a command: allocate, ledger, "),
    ("ledger", "choose a command: new, rules, "),
]


@pytest.mark.parametrize(("words", "sentence"), WRONG)
def test_a_wrong_command_line_is_explained_in_one_sentence(capsys, words, sentence):
    with pytest.raises(SystemExit) as stop:
        program.main(words.split())
    out, err = capsys.readouterr()
    assert stop.value.code == 2
    assert out == ""
    assert err.startswith(f"bygones: {sentence}")
    assert err.count("\n") == 1
    assert "None" not in err


def test_a_flag_that_is_not_known_is_answered_with_the_nearest(capsys):
    assert (
        "'--timezone' and 'Europe/Berlin' are not recognized: did you mean --time-zone? See bygones audit --help"
        in (refused(capsys, "audit", "h.csv", "--timezone", "Europe/Berlin"))
    )
    assert "did you mean --time-zone? See bygones ledger new" in refused(
        capsys, "ledger", "new", "x.db", "--timezone=UTC"
    )
    assert "is missing, and '--frm' and '7' are not recognized: did you mean --from?" in refused(
        capsys, "ledger", "redecide", "team.db", "--frm", "7"
    )
    assert "did you mean --learning-rate? See bygones train" in refused(capsys, "train", "--learning-rat", "3")


def test_flags_of_tyro_are_not_ours(capsys, tmp_path):
    for flag in ("--tyro-write-completion", "--tyro_write_completion"):
        script = tmp_path / "script"
        assert f"{flag!r} is not recognized; see bygones decay" in refused(capsys, "decay", flag, "bash", script)
        assert not script.exists()


def test_what_a_later_tyro_prints_becomes_one_sentence(capsys, monkeypatch):
    def stopped(text):
        def stop(*values, **options):
            print(text, file=sys.stderr)
            raise SystemExit(2)

        monkeypatch.setattr(usage.tyro, "cli", stop)
        return refused(capsys, "decay", "--gamma", "x")

    box = "+- Odd -----+\n| The flags |\n| are odd.  |\n| --------- |\n| Help: ... |\n+-----------+"
    assert stopped(box) == "bygones: The flags are odd; see bygones decay --help\n"
    assert stopped("These flags\nare odd.") == "bygones: These flags are odd; see bygones decay --help\n"
    assert stopped("") == "bygones: this is not understood; see bygones decay --help\n"


def test_the_sentence_is_the_same_in_a_terminal_that_is_narrow_and_has_colours():
    """There tyro prints its box in colours, and breaks its lines."""
    pty = pytest.importorskip("pty")
    main, terminal = pty.openpty()
    words = ["what-if", "h.csv", "--draws", "not-a-number-" * 10]
    done = subprocess.run(
        [sys.executable, "-m", "bygones", *words], stdout=terminal, stderr=subprocess.PIPE, text=True, check=False,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "40"},
    )  # fmt: skip
    os.close(terminal)
    os.close(main)
    assert done.returncode == 2
    assert done.stderr == (f"bygones: --draws must be a whole number, got '{words[-1]}'; see bygones what-if --help\n")


def test_no_module_of_bygones_uses_a_private_module_of_tyro():
    private = []
    for path in Path(bygones.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            names += [ast.unparse(node)] if isinstance(node, ast.Attribute) else []
            text = ".".join(names) if isinstance(node, ast.ImportFrom) else " ".join(names)
            private += [(path.name, text)] if re.search(r"\btyro\b.*\._", text) else []
            if isinstance(node, ast.Attribute) and node.attr in ("_subcommands", "_help_progs"):
                private.append((path.name, node.attr))
    assert not private


def test_a_refusal_names_the_flag_that_was_typed():
    refusal = "half_life must be above 0, got 0"
    assert usage.with_flag(refusal, ["decay", "--half-life", "0"]) == "--half-life must be above 0, got 0"
    assert usage.with_flag(refusal, ["decay", "--half-life=0"]) == "--half-life must be above 0, got 0"
    assert usage.with_flag(refusal, ["decay"]) == refusal
    assert usage.with_flag("half_lives must name two", ["what-if", "--half-life", "7d"]) == "--half-life must name two"
    assert usage.with_flag("h.csv has half_life must", ["--half-life"]) == "h.csv has half_life must"
