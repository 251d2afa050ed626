import csv
import json
import math
import subprocess
import sys

import pytest

import bygones
from bygones import decay
from bygones.cli import program
from bygones.paper import examples
from bygones.paper.paper_tables import TABLE_1_GAMMAS


def run(capsys, *arguments):
    program.main(list(arguments))
    return capsys.readouterr()


def refused(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        program.main(list(arguments))
    assert stop.value.code == 2
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    assert captured.out == ""
    return captured.err


def test_decay_prints_every_equivalent_quantity(capsys):
    out = run(capsys, "decay", "--half-life", "7").out
    for word in ("gamma", "0.905724", "tenth_life", "23.2535", "window", "10.6071", "responsiveness", "0.0942763"):
        assert word in out


def test_a_half_life_with_a_unit_sets_the_step(capsys):
    plain, days = run(capsys, "decay", "--half-life", "30").out, run(capsys, "decay", "--half-life", "30d").out
    assert days.splitlines()[:-1] == plain.splitlines()
    assert days.splitlines()[-1] == "A step is one day."
    assert json.loads(run(capsys, "decay", "--half-life", "12h", "--json").out)["half_life"] == 12
    assert json.loads(run(capsys, "decay", "--half-life", "0,5", "--json").out)["half_life"] == 0.5


def test_decay_for_programs(capsys):
    got = json.loads(run(capsys, "decay", "--window", "10", "--horizon", "5", "--u-max", "2", "--json").out)
    assert got["gamma"] == pytest.approx(0.9)
    assert got["additive_bound"] == pytest.approx(2 * decay.denominator(0.9, 5))
    assert got["averaged_bound"] == 2
    assert got["responsiveness"] == pytest.approx(1 / decay.denominator(0.9, 5))
    assert json.loads(run(capsys, "decay", "--gamma", "1", "--json").out)["half_life"] == "inf"
    assert json.loads(run(capsys, "decay", "--last", "30", "--share", "0.95", "--json").out)["gamma"] == pytest.approx(
        0.05 ** (1 / 30)
    )
    assert json.loads(run(capsys, "decay", "--tenth-life", "5", "--json").out)["tenth_life"] == pytest.approx(5)


def test_simulate_prints_and_plots(capsys, tmp_path):
    out = run(capsys, "simulate", "example-2", "--steps", "30", "--out", str(tmp_path)).out
    for label in examples.FIGURE_1_MEMORIES:
        assert label in out
    assert (tmp_path / "example-2.png").stat().st_size > 10_000
    assert (tmp_path / "example-2.svg").exists()


def test_simulate_compares_policies(capsys, tmp_path):
    command = ["simulate", "--policy", "one-step", "largest-need", "round-robin", "random", "--n-agents", "12"]
    command += [
        "--n-resources",
        "2",
        "--horizon",
        "60",
        "--half-life",
        "20",
        "--welfare",
        "nash",
        "--out",
        str(tmp_path),
    ]
    out = run(capsys, *command).out
    assert "2 of 12 agents served for 60 steps, half-life 20, nash welfare" in out
    for name in ("one-step", "largest-need", "round-robin", "random"):
        assert name in out
    assert (tmp_path / "policies.png").stat().st_size > 10_000
    assert (tmp_path / "policies.svg").exists()
    got = json.loads(run(capsys, *command, "--json").out)
    assert got["one-step"]["gini"] < got["random"]["gini"]
    assert got["largest-need"]["utility_per_step"] == max(each["utility_per_step"] for each in got.values())


def test_simulate_compares_policies_that_hand_out_burdens(capsys, tmp_path):
    command = [
        "simulate",
        "--policy",
        "prices",
        "random",
        "--kind",
        "burden",
        "--horizon",
        "300",
        "--out",
        str(tmp_path),
    ]
    out = run(capsys, *command).out
    assert "2 of 10 agents work for 300 steps" in out
    assert "heaviest load" in out
    loads = json.loads(run(capsys, *command, "--json").out)
    assert loads["prices"]["egalitarian"] < loads["random"]["egalitarian"]
    assert "the examples are about goods" in refused(capsys, "simulate", "example-1", "--kind", "burden")
    assert "nash has no meaning for burdens" in refused(capsys, *command, "--welfare", "nash")
    assert "'proportional-fair' is for goods" in refused(
        capsys, "simulate", "--policy", "proportional-fair", "--kind", "burden"
    )


def test_simulate_takes_an_example_or_policies(capsys, tmp_path):
    assert "give either an example" in refused(capsys, "simulate")
    assert "give either an example" in refused(capsys, "simulate", "example-1", "--policy", "random")
    assert "--steps is for examples; use --horizon with --policy" in refused(
        capsys, "simulate", "--policy", "random", "--steps", "5"
    )
    assert "--horizon is for policies; use --steps with an example" in refused(
        capsys, "simulate", "example-1", "--horizon", "5"
    )
    assert "under one memory" in refused(capsys, "simulate", "--policy", "random", "--gamma", "0.5", "0.9")
    assert "policy must be one of" in refused(capsys, "simulate", "--policy", "kind")
    out = ["--out", str(tmp_path / "none")]
    for option, value, message in (
        ("--n-resources", "11", "--n-resources must be at most the number of agents (10), got 11"),
        ("--n-advantaged", "11", "--n-advantaged must be at most"),
        ("--horizon", "0", "horizon must be a whole number"),
        ("--welfare", "kind", "welfare must be one of"),
    ):
        error = refused(capsys, "simulate", "--policy", "random", option, value, *out)
        assert message in error
        assert error.count("\n") == 1
    assert not (tmp_path / "none").exists()


def test_simulate_for_programs_with_memories_of_ones_own(capsys, tmp_path):
    out = run(
        capsys, "simulate", "example-1", "--gamma", "0.5", "0.9", "--half-life", "3", "--welfare", "nash",
        "--steps", "4", "--seed", "1", "--no-bundles", "--out", str(tmp_path), "--json",
    ).out  # fmt: skip
    got = json.loads(out)
    assert list(got) == ["γ = 0.5", "γ = 0.9", "half-life 3"]
    assert len(got["γ = 0.5"]["utilities"]) == 4


def test_stability_reads_a_matrix(capsys, tmp_path):
    path = tmp_path / "matrix.csv"
    path.write_text("0.5,0.2\n0.1,0.4\n")
    got = json.loads(run(capsys, "stability", str(path), "--json").out)
    assert got["accepted"] is True
    assert got["spectral_radius"] == pytest.approx(0.6)
    path.write_text("1,0\n0,1\n\n")
    assert "This memory is rejected." in run(capsys, "stability", str(path)).out
    got = json.loads(run(capsys, "stability", str(path), "--json").out)
    assert (got["accepted"], got["bound"], got["bound_error"]) == (False, "inf", None)
    path.write_text("0.5,-0.2\n0.1,0.4\n")
    assert json.loads(run(capsys, "stability", str(path), "--json").out)["accepted"] is False
    assert json.loads(run(capsys, "stability", str(path), "--allow-negative", "--json").out)["accepted"] is True


def test_figure_1_and_the_tables(capsys, tmp_path):
    captured = run(capsys, "figure", "1", "--out", str(tmp_path))
    assert "figure-1.png" in captured.out
    assert "10/10" in captured.err
    assert (tmp_path / "figure-1.svg").exists()
    assert "13.51" in run(capsys, "table", "1", "--out", str(tmp_path)).out
    with (tmp_path / "table-1.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["gamma"]) for row in rows] == list(TABLE_1_GAMMAS)
    assert json.loads(run(capsys, "table", "1", "--out", str(tmp_path), "--json").out)[1]["gamma"] == 0.9
    assert "0.9 (0.999 for averaged egalitarian)" in run(capsys, "table", "2", "--out", str(tmp_path)).out
    with (tmp_path / "table-2.csv").open() as file:
        assert [row["trained"] for row in csv.DictReader(file) if row["setting"] == "learning_rate"] == ["0.0003"]


def test_bad_input_is_one_sentence_and_exit_code_2(capsys, tmp_path):
    assert refused(capsys, "decay", "--half-life", "0") == (
        "bygones: --half-life must be above 0 (gamma=0 is no memory, gamma=1 is perfect recall), got 0.0\n"
    )
    assert "exactly one of" in refused(capsys, "decay")
    assert "--half-life must be a number of steps, or a time such as 30d or 12h, got 'soon'" in refused(
        capsys, "decay", "--half-life", "soon"
    )
    assert "got -1" in refused(capsys, "decay", "--gamma", "-1")
    assert "welfare must be one of" in refused(capsys, "simulate", "example-1", "--welfare", "kind")
    assert "No such file" in refused(capsys, "stability", str(tmp_path / "absent.csv"))
    path = tmp_path / "bad.csv"
    for text, message in [
        ("", "is empty: expected a matrix"),
        ("1,2\n3,x\n", "row 2, column 2: expected a number, got 'x'"),
        ("1,2\n3\n", "row 2: expected 2 numbers as in row 1, got 1"),
        ("1,2\n", "matrix must be a square matrix"),
        ("nan\n", "matrix must be finite"),
    ]:
        path.write_text(text)
        assert message in refused(capsys, "stability", str(path))
    (tmp_path / "file").write_text("")
    assert "file" in refused(capsys, "table", "1", "--out", str(tmp_path / "file" / "below"))


def test_the_version(capsys):
    assert run(capsys, "--version").out == f"bygones {bygones.__version__}\n"


def test_the_package_runs_as_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "bygones", "decay", "--gamma", "0.5", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["half_life"] == 1.0
    assert math.isclose(json.loads(done.stdout)["window"], 2.0)


def test_a_closed_pipe_is_no_error(tmp_path):
    history = tmp_path / "history.csv"
    history.write_text("agent,time,utility\n" + "".join(f"a{i},{i},1\n" for i in range(50)))
    command = f"{sys.executable} -m bygones audit {history} --json | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("{\n", "")


@pytest.mark.parametrize("command", ["audit", "what-if", "advise"])
def test_a_history_that_is_missing_is_one_sentence(capsys, command):
    with pytest.raises(SystemExit) as stop:
        program.main([command])
    assert stop.value.code == 2
    assert capsys.readouterr().err == "bygones: HISTORY is missing: give a file, a ledger or the URL of a database\n"
