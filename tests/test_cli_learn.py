import json

import pytest

from bygones import cli
from bygones.learn import Policy


def test_train_keeps_policies_and_curves(capsys, tmp_path):
    small = ["--rollout-steps", "128", "--batch-size", "64", "--epochs", "1", "--total-steps", "512", "--horizon", "50"]
    cli.main(["train", *small, "--seeds", "2", "--workers", "1", "--out", str(tmp_path), "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert [row["seed"] for row in rows] == [0, 1]
    assert 0 <= rows[0]["gini"] <= 1
    policy = Policy.load(tmp_path / "seed-1.safetensors")
    assert policy.settings.seed == 1
    assert (tmp_path / "seed-0.csv").read_text().splitlines()[0].startswith("steps,episodes,gini")
    assert len((tmp_path / "seed-0.csv").read_text().splitlines()) == 5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "--batch-size", "7"], "batch_size must divide rollout_steps (2048), got 7"),
        (["train", "--welfare", "kind"], "welfare must be one of"),
        (["train", "--horizon", "2000000"], "horizon must be at most total_steps"),
        (["reproduce", "--horizon", "0"], "horizon must be a whole number of at least 1"),
        (["claims", "absent"], "absent: no such file or folder of results"),
        (["figure", "2z", "--places", "evidence/grid/none"], "figure must be one of 2a, 2b"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(capsys, words, message):
    with pytest.raises(SystemExit) as stop:
        cli.main(words)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_results_are_shown_and_exported(capsys, tmp_path):
    cli.main(["results", "evidence/grid/tenfold", "--csv", str(tmp_path / "runs.csv")])
    assert "40 runs" in capsys.readouterr().out
    assert len((tmp_path / "runs.csv").read_text().splitlines()) == 41


def test_results_are_filtered_and_merged(capsys, tmp_path):
    words = ["results", "evidence/grid/tenfold", "evidence/grid/tenfold-window"]
    cli.main([*words, "--where", "welfare=nash", "horizon=10000", "--merge-into", str(tmp_path / "some")])
    assert "20 runs" in capsys.readouterr().out
    cli.main(["results", str(tmp_path / "some"), "--where", "observation_scale=window"])
    assert "10 runs" in capsys.readouterr().out


def test_claims_under_another_protocol(capsys):
    cli.main(["claims", "evidence/grid/termination", "--set", "ends=termination"])
    assert "fails" in capsys.readouterr().out
    cli.main(["claims", "evidence/grid/termination"])
    assert "fails" not in capsys.readouterr().out


def test_the_evidence_is_looked_for_where_one_stands(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        cli.main(["claims"])
    assert stop.value.code == 2
    assert "name folders of results" in capsys.readouterr().err


def test_a_figure_from_the_shipped_evidence(capsys, tmp_path):
    cli.main(["figure", "3a", "--out", str(tmp_path), "--observation-scale", "none"])
    assert (tmp_path / "figure-3a.png").stat().st_size > 10_000


def test_all_figures_are_the_first_and_those_there_are_runs_for(capsys, tmp_path):
    cli.main(["figure", "all", "--places", "evidence/grid/tenfold", "--out", str(tmp_path)])
    drawn = {path.stem for path in tmp_path.glob("*.svg")}
    assert {"figure-1", "figure-claims"} <= drawn
    assert "figure-4a" not in drawn


@pytest.mark.parametrize("command", list(cli.LEARNING))
def test_help_helps(capsys, command):
    with pytest.raises(SystemExit) as stop:
        cli.main([command, "--help"])
    assert stop.value.code == 0
    assert len(capsys.readouterr().out) > 200


def test_reproduce_ends_with_ginis_and_a_page(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["reproduce", "--welfare", "nash", "--horizon", "20", "--gamma", "0.9", "1", "--workers", "1"]
    tiny = ["total_steps=128", "rollout_steps=64", "batch_size=16", "epochs=1", "hidden=[4]"]
    cli.main([*words, "--out", str(tmp_path), "--set", *tiny])
    said = capsys.readouterr().out
    assert "perfect recall" in said
    assert "Too few runs to judge" in said
    assert (tmp_path / "report.html").stat().st_size > 100_000
