import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bygones.cli import program
from bygones.envs.needs import uniform
from bygones.envs.problem import problem_of
from bygones.learn import Settings, TrainedPolicy, evaluate
from bygones.paper import evidence
from bygones.paper.columns import SETTINGS, in_this_layout
from bygones.paper.grid import identities
from support.sharp_networks import sharp


@pytest.mark.soak
def test_train_keeps_policies_and_curves(capsys, tmp_path):
    small = ["--rollout-steps", "128", "--batch-size", "64", "--epochs", "1", "--total-steps", "512", "--horizon", "50"]
    program.main(["train", *small, "--seeds", "2", "--workers", "1", "--out", str(tmp_path), "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert [row["seed"] for row in rows] == [0, 1]
    assert 0 <= rows[0]["gini"] <= 1
    policy = TrainedPolicy.load(tmp_path / "seed-1.safetensors")
    assert policy.settings.seed == 1
    assert (tmp_path / "seed-0.csv").read_text().splitlines()[0].startswith("steps,episodes,gini")
    assert len((tmp_path / "seed-0.csv").read_text().splitlines()) == 5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "--batch-size", "7"], "--batch-size must divide rollout_steps (2048), got 7"),
        (["train", "--welfare", "kind"], "welfare must be one of"),
        (["train", "--horizon", "2000000"], "horizon must be at most total_steps"),
        (["reproduce", "--horizon", "0"], "horizon must be a whole number of at least 1"),
        (["reproduce", "--set", "gamma=1"], "gamma has its own flag: use --gamma instead of --set gamma=…"),
        (["reproduce", "--set", "observation_scale=none"], "use --observation-scale instead of --set"),
        (["reproduce", "--set", "seed=1"], "set their number with --seeds"),
        (["reproduce", "--workers", "0", "--plan"], "workers must be a whole number of at least 1, got 0"),
        (["reproduce", "--on", "cpu", "--address", "auto"], "address is that of a Ray cluster"),
        (["train", "--seeds", "0"], "seeds must be a whole number of at least 1, got 0"),
        (["train", "--workers", "0"], "workers must be a whole number of at least 1, got 0"),
        (["claims", "absent"], "absent: no such file or folder of results"),
        (["claims", "evidence/grid/tenfold", "--why", "C99"], "a claim must be one of C1a, C1b"),
        (["figure", "2z", "--places", "evidence/grid/none"], "figure must be one of 1, 2a, 2b"),
        (["figure", "2z"], "figure must be one of 1, 2a, 2b"),
        (["results"], "name at least one folder or file of results"),
        (
            ["results", "evidence/grid/tenfold", "--where", "gamma=0.5"],
            "none of the 40 runs in evidence/grid/tenfold match",
        ),
        (
            ["results", "evidence/grid/tenfold", "--where", "gamma=high"],
            "gamma is a column of type double, so it cannot",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(capsys, words, message):
    with pytest.raises(SystemExit) as stop:
        program.main(words)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.soak
def test_a_trained_policy_is_not_overwritten_by_another(capsys, tmp_path):
    small = ["--rollout-steps", "64", "--batch-size", "64", "--epochs", "1", "--total-steps", "64", "--horizon", "10"]
    words = ["train", *small, "--workers", "1", "--out", str(tmp_path)]
    program.main([*words, "--gamma", "0.9"])
    before = (tmp_path / "seed-0.safetensors").read_bytes()
    with pytest.raises(SystemExit):
        program.main([*words, "--gamma", "1"])
    assert "seed-0.safetensors: this policy was trained with another gamma" in capsys.readouterr().err
    assert (tmp_path / "seed-0.safetensors").read_bytes() == before
    program.main([*words, "--gamma", "0.9"])


@pytest.mark.parametrize(
    ("words", "interrupted", "sentence"),
    [
        (
            ["train"],
            "bygones.cli.learning_commands.train_many",
            "stopped; the same command resumes from the last checkpoint",
        ),
        (["reproduce", "--plan"], "bygones.paper.run.estimate", "stopped"),
        (["reproduce"], "bygones.learn.backends.in_processes", "stopped; 0 of 30 runs are in "),
    ],
)
def test_ctrl_c_ends_with_a_sentence(capsys, tmp_path, monkeypatch, words, interrupted, sentence):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(interrupted, stop)
    with pytest.raises(SystemExit) as stopped:
        program.main([*words, "--out", str(tmp_path)])
    assert stopped.value.code == program.STOPPED
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"bygones: {sentence}")


def test_results_are_shown_and_exported(capsys, tmp_path):
    program.main(["results", "evidence/grid/tenfold", "--csv", str(tmp_path / "new" / "runs.csv")])
    assert "40 runs" in capsys.readouterr().out
    assert len((tmp_path / "new" / "runs.csv").read_text().splitlines()) == 41


@pytest.mark.parametrize("text", ["red\x1b[31m\x07\u202e\u200b", "=cmd()"])
def test_text_of_a_results_file_does_no_harm(capsys, tmp_path, text):
    """A file whose runs are named as they should, from somebody who would like to write on our terminal."""
    (path,) = Path("evidence/grid/tenfold").glob("*.parquet")
    table = in_this_layout(pq.read_table(path))
    columns = {name: table.column(name).to_pylist() for name in table.column_names} | {"welfare": [text] * len(table)}
    columns["run"] = identities({name: columns[name] for name in SETTINGS})
    pq.write_table(pa.table(columns, schema=table.schema), tmp_path / "strange.parquet")
    program.main(["results", str(tmp_path), "--csv", str(tmp_path / "runs.csv")])
    printed = capsys.readouterr().out
    assert "welfare=" in printed
    assert not set(printed) & set("\x1b\x07\u202e\u200b")
    assert not any(cell.startswith("=") for cell in (tmp_path / "runs.csv").read_text().split(","))


def test_runs_of_different_settings_are_not_averaged_together(capsys):
    words = ["--where", "welfare=nash", "horizon=10000", "aggregation=additive", "gamma=1"]
    program.main(["results", "evidence/grid/none", "evidence/grid/termination", "evidence/grid/tenfold", *words])
    printed = capsys.readouterr().out
    about = "30 runs, observation_scale=none, welfare=nash, aggregation=additive, horizon=10000, gamma=1, weight=0.9"
    assert " ".join(printed.split()).startswith(about)
    kinds = [words[:3] for words in map(str.split, printed.splitlines()) if set(words) & {"termination", "truncation"}]
    assert kinds == [
        ["1,000,000", "termination", "10"],
        ["1,000,000", "truncation", "10"],
        ["10,000,000", "truncation", "10"],
    ]


def test_results_are_filtered_and_merged(capsys, tmp_path):
    words = ["results", "evidence/grid/tenfold", "evidence/grid/tenfold-window"]
    program.main([*words, "--where", "welfare=nash", "horizon=10000", "--merge-into", str(tmp_path / "some")])
    assert "20 runs" in capsys.readouterr().out
    program.main(["results", str(tmp_path / "some"), "--where", "observation_scale=window"])
    assert "10 runs" in capsys.readouterr().out


def test_a_folder_without_results_is_named(capsys, tmp_path):
    (tmp_path / "seed-0.csv").write_text("step,gini\n")
    page = tmp_path / "report.html"
    for words in (["results"], ["claims"], ["report", "--out", str(page)], ["figure", "2a", "--places"]):
        with pytest.raises(SystemExit) as stop:
            program.main([*words, str(tmp_path)])
        assert stop.value.code == 2
        error = capsys.readouterr().err
        assert f"bygones: {tmp_path} has no results: there is no *.parquet file with runs" in error
    assert not page.exists()


def test_results_of_which_none_match_say_so(capsys):
    with pytest.raises(SystemExit):
        program.main(["results", "evidence/grid/tenfold", "--where", "welfare=nash", "gamma=0.123"])
    expected = "none of the 40 runs in evidence/grid/tenfold match --where welfare=nash gamma=0.123"
    assert expected in capsys.readouterr().err


def test_claims_under_another_protocol(capsys):
    program.main(["claims", "evidence/grid/termination", "--set", "ends=termination"])
    assert "fails" in capsys.readouterr().out
    program.main(["claims", "evidence/grid/termination"])
    printed = capsys.readouterr().out
    assert "fails" not in printed
    assert "bygones claims … --set ends=termination" in printed
    program.main(["claims", "evidence/grid/lambda"])
    assert "The first gap: egalitarian additive, " in capsys.readouterr().out


def test_every_number_behind_a_claim(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)  # parallel tests have one
    program.main(["claims", "evidence/grid/none", "--why", "C2", "C13"])
    printed = " ".join(capsys.readouterr().out.split())
    assert "The paper: “While effective at short horizons (T ≤ 500)" in printed
    assert "Criterion: Additive, T = 100 and 500: perfect recall's Gini is below 0.5 of the myopic agent's." in printed
    assert "C2 under observation scale none: depends on the welfare function" in printed
    assert (
        "not as claimed Gini of perfect recall less 0.5 × that of myopic, nash additive, T = 500 0.264 0.202 to 0.292 "
        "below 0 0% of 10 1 0.0039 0.259"
    ) in printed
    assert (
        "C13a under observation scale none: too few egalitarian additive, perfect recall, T = 5000, total_steps"
        in printed
    )


def test_claims_as_json_hold_the_policies_and_what_stands_beside_them(capsys):
    program.main(["claims", "evidence/grid/none", "--why", "C2", "--json"])
    found = json.loads(capsys.readouterr().out)
    (claim,) = found["claims"]
    assert {"quotes", "criterion", "known_before", "test", "scales"} <= set(claim)
    assert len(found["policies"]) == 100
    assert all(one["n_seeds"] == 10 and {"final", "sampled", "deterministic"} <= set(one) for one in found["policies"])
    assert len(found["without_training"]) == 20


def test_the_evidence_is_found_from_anywhere(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert evidence.evidence_folder().is_dir()
    (tmp_path / "evidence" / "grid").mkdir(parents=True)
    assert evidence.evidence_folder() == evidence.EVIDENCE


def test_without_the_evidence_results_must_be_named(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(evidence, "EVIDENCE", tmp_path / "nowhere")
    with pytest.raises(SystemExit) as stop:
        program.main(["claims"])
    assert stop.value.code == 2
    assert "nowhere: the shipped evidence was not found" in capsys.readouterr().err


@pytest.mark.soak
def test_a_figure_from_the_shipped_evidence(capsys, tmp_path):
    program.main(["figure", "3a", "--out", str(tmp_path), "--observation-scale", "none"])
    assert (tmp_path / "figure-3a.png").stat().st_size > 10_000


@pytest.mark.soak
def test_a_figure_of_results_of_one_scale_and_another_protocol(capsys, tmp_path):
    program.main(["figure", "3b", "--places", "evidence/grid/termination", "--out", str(tmp_path)])
    assert (tmp_path / "figure-3b.png").stat().st_size > 10_000
    words = [
        "figure",
        "3b",
        "--places",
        "evidence/grid/none",
        "evidence/grid/termination",
        "--out",
        str(tmp_path / "t"),
    ]
    program.main([*words, "--set", "ends=termination", "--observation-scale", "none"])
    assert (tmp_path / "t" / "figure-3b.svg").read_bytes() == (tmp_path / "figure-3b.svg").read_bytes()


@pytest.mark.soak
def test_all_figures_are_the_first_and_those_there_are_runs_for(capsys, tmp_path):
    program.main(["figure", "all", "--places", "evidence/grid/tenfold", "--out", str(tmp_path)])
    drawn = {path.stem for path in tmp_path.glob("*.svg")}
    assert {"figure-1", "figure-claims"} <= drawn
    assert "figure-4a" not in drawn


@pytest.mark.soak
def test_reproduce_ends_with_ginis_and_a_page(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(evidence, "EVIDENCE", tmp_path / "nowhere")
    words = ["reproduce", "--welfare", "nash", "--horizon", "20", "--gamma", "0.9", "1", "--workers", "1"]
    tiny = ["total_steps=128", "rollout_steps=64", "batch_size=16", "epochs=1", "hidden=[4]"]
    program.main([*words, "--out", str(tmp_path), "--set", *tiny])
    printed = capsys.readouterr().out
    assert "perfect recall" in printed
    assert "too few runs to judge" in printed
    assert (tmp_path / "report.html").stat().st_size > 100_000
    assert (tmp_path / "figures" / "figure-3b.png").stat().st_size > 10_000
    program.main([*words, "--out", str(tmp_path), "--set", *tiny, "--plan"])
    printed = capsys.readouterr().out
    assert "horizon 20; gamma 0.9, 1; weight 0.9; 1 seed of 128 steps" in printed
    assert "2 runs, 2 of them done" in printed


SMALL = Settings(horizon=30, total_steps=64, rollout_steps=64, batch_size=32, hidden=(4,), n_agents=4, n_resources=1)


def test_evaluate_shows_both_ways_beside_rules_and_the_best(capsys, tmp_path):
    policy = TrainedPolicy(SMALL, sharp(0, 8, 4, (4,)))
    policy.save(tmp_path / "it.safetensors")
    program.main(["evaluate", str(tmp_path / "it.safetensors"), "--episodes", "3", "--seed", "2"])
    printed = capsys.readouterr().out
    assert "it.safetensors: means over 3 episodes of 30 steps" in printed
    titles = ["policy, sampled actions", "policy, greedy actions", "rule: prices", "rule: random", "best possible"]
    places = [printed.index(title) for title in titles]
    assert places == sorted(places)

    program.main(["evaluate", str(tmp_path / "it.safetensors"), "--episodes", "3", "--seed", "2", "--json"])
    found = json.loads(capsys.readouterr().out)
    for way in ("sampled", "deterministic"):
        expected = evaluate(policy, episodes=3, seed=2, deterministic=way == "deterministic")
        assert found[way]["gini"] == expected.mean["gini"]
        assert found["each"][way]["gini"] == expected.episodes["gini"].tolist()
    assert found["rules"]["random"]["share_of_best"] < found["best"]["share_of_best"] == pytest.approx(1)

    program.main(["evaluate", str(tmp_path / "it.safetensors"), "--deterministic", "--json"])
    assert "sampled" not in json.loads(capsys.readouterr().out)


def test_evaluate_takes_a_problem_of_ones_own(capsys, tmp_path):
    problem = problem_of(n_resources=1, horizon=7, needs=uniform(4, low=1.0, high=2.0))
    TrainedPolicy(Settings(horizon=7, hidden=(4,)), sharp(0, 8, 4, (4,)), problem).save(tmp_path / "own.safetensors")
    program.main(["evaluate", str(tmp_path / "own.safetensors"), "--episodes", "1"])
    printed = capsys.readouterr().out
    assert "means over 1 episode of 7 steps" in printed
    assert "rule" not in printed
    assert "share" not in printed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["absent.safetensors"], "absent.safetensors: No such file or directory"),
        (["README.md"], "README.md is not a safetensors file"),
        (["evidence"], "evidence: Is a directory"),
    ],
)
def test_evaluate_refuses_what_is_no_policy(capsys, words, message):
    with pytest.raises(SystemExit) as stop:
        program.main(["evaluate", *words])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
