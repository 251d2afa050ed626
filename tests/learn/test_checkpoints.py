"""Checkpoints: whole, or not used."""

from __future__ import annotations

import io
import re
import signal
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from bygones.learn import runs
from bygones.learn.checkpoints import Checkpoint, DamagedError, load, packed, previous, reserved, save, unpacked
from bygones.learn.runs import TrainResult
from bygones.learn.settings import Settings
from support.damage import damages

SOME = Checkpoint(3, [np.arange(12.0).reshape(3, 4), np.array(True)], {"gini": np.array([[0.1, np.nan, 0.3]])})
SMALL = Settings(horizon=16, total_steps=128, rollout_steps=32, batch_size=16, epochs=1, hidden=(4,), n_agents=3)


def same(a: Checkpoint, b: Checkpoint) -> bool:
    return a.done == b.done and all(
        np.array_equal(x, y, equal_nan=True)
        for x, y in zip([*a.state, *a.curves.values()], [*b.state, *b.curves.values()], strict=True)
    )


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    file = tmp_path / "one.npz"
    assert load(file, "runs") is None
    save(file, "runs", SOME)
    found = load(file, "runs")
    assert found is not None
    assert same(found, SOME)
    with np.load(file) as archive:
        assert str(archive["runs"]) == "runs"
    with pytest.raises(ValueError, match=r"one.npz belongs to other settings; choose another file or remove it"):
        load(file, "other runs")


def test_the_one_before_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "one.npz"
    for done in (1, 2, 3):
        save(file, "runs", SOME._replace(done=done))
    assert unpacked(file.read_bytes())[1].done == 3
    assert unpacked(previous(file).read_bytes())[1].done == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.npz", "one.npz.previous"]


def test_a_crash_between_two_renames_loses_nothing_but_the_last_step(tmp_path: Path) -> None:
    file = tmp_path / "one.npz"
    save(file, "runs", SOME)
    file.rename(previous(file))
    found = load(file, "runs")
    assert found is not None
    assert same(found, SOME)


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "one.npz"
    save(file, "runs", SOME)

    def full(descriptor: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space left"):
        save(file, "runs", SOME._replace(done=4))
    assert unpacked(file.read_bytes())[1].done == 3
    assert [path.name for path in tmp_path.iterdir()] == ["one.npz"]


def test_no_damage_goes_unnoticed() -> None:
    content = packed("runs", SOME)
    for what, damaged in damages(content, 2000):
        with pytest.raises(DamagedError, match=r"checksum does not match|cannot be read"):
            pytest.fail(f"{what}: {unpacked(damaged)}")


def test_files_of_earlier_versions_are_read_and_their_damage_is_no_traceback() -> None:
    buffer = io.BytesIO()
    state = {f"state_{i}": leaf for i, leaf in enumerate(SOME.state)}
    np.savez(buffer, runs=np.array("runs"), done=np.array(3), curve_gini=SOME.curves["gini"], **state)
    name, found = unpacked(buffer.getvalue())
    assert name == "runs"
    assert same(found, SOME)
    for what, damaged in damages(buffer.getvalue(), 2000):
        try:
            _, found = unpacked(damaged)
        except DamagedError:
            continue
        assert same(found, SOME), what


@pytest.mark.parametrize("left", ["previous", "none"])
def test_a_sentence_says_what_was_damaged_and_what_is_used(
    left: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "one.npz"
    save(file, "runs", SOME._replace(done=2))
    save(file, "runs", SOME)
    file.write_bytes(file.read_bytes()[:-1])
    if left == "none":
        previous(file).write_bytes(b"")
    found = load(file, "runs")
    (sentence,) = caplog.messages
    if left == "previous":
        assert found is not None
        assert found.done == 2
        assert sentence == (
            f"checkpoint {file} is damaged (its checksum does not match); going on from {previous(file)}, "
            "after 2 rollouts"
        )
        # The next one does not take the place of the only whole one before it is written.
        assert [path.name for path in sorted(tmp_path.iterdir())] == ["one.npz.damaged", "one.npz.previous"]
    else:
        assert found is None
        assert sentence.endswith(
            f"and {previous(file)} is damaged (its checksum does not match); there is no other: starting over"
        )


def test_a_lock_that_nobody_holds_any_more_does_not_block(tmp_path: Path) -> None:
    file = tmp_path / "one.npz"
    program = "import sys, time; from pathlib import Path; from bygones.learn.checkpoints import reserved\n"
    program += "with reserved(Path(sys.argv[1])): print('held', flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", program, file], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with (
            pytest.raises(BlockingIOError, match=f"process {holder.pid} on .* is training the runs of this") as caught,
            reserved(file),
        ):
            pass
        assert caught.value.filename == str(file)
        holder.send_signal(signal.SIGKILL)
    with reserved(file):
        pass


def learned(result: TrainResult) -> list[np.ndarray]:
    return [*jax.tree.leaves(result.networks), *result.curves.values(), np.array(list(result.final.values()))]


def resume_from_damaged(file: Path, number: int, seed: int, caplog: pytest.LogCaptureFixture) -> None:
    """Trains to the end from damaged checkpoints, time after time, and always comes to the same result."""

    def train() -> TrainResult:
        return runs.train(SMALL, segment=2, unroll=1, checkpoint=file)

    whole = learned(train())
    newest, before = file.read_bytes(), previous(file).read_bytes()
    for i, (what, damaged) in enumerate(damages(newest, number, seed)):
        file.write_bytes(damaged)
        previous(file).write_bytes(damaged if i % 4 == 0 else before)
        caplog.clear()
        again = learned(train())
        assert len(caplog.messages) == 1, what
        assert re.search("starting over" if i % 4 == 0 else "going on from .* after 2 rollouts", caplog.messages[0])
        assert all(np.array_equal(x, y, equal_nan=True) for x, y in zip(whole, again, strict=True)), what
        assert file.read_bytes() == newest


@pytest.mark.soak
def test_a_run_goes_on_from_the_checkpoint_before_a_damaged_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    resume_from_damaged(tmp_path / "one.npz", 8, 0, caplog)


@pytest.mark.soak
def test_hundreds_of_damaged_checkpoints_never_change_a_result(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    resume_from_damaged(tmp_path / "one.npz", 400, 1, caplog)


@pytest.mark.soak
def test_a_checkpoint_of_another_program_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "one.npz"
    runs.train(SMALL, unroll=1, checkpoint=file)
    with pytest.raises(ValueError, match="does not fit these runs"):
        runs.train(SMALL, unroll=1, batched=True, checkpoint=file)


@pytest.mark.soak
def test_three_trainers_in_one_folder(tmp_path: Path) -> None:
    """One trains; the others are told so, or find the run finished."""
    words = ["train", "--total-steps", "65536", "--hidden", "8", "--n-agents", "4", "--out"]

    def start(folder: Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "bygones", *words, str(folder)]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    with start(tmp_path / "alone") as alone:
        assert alone.wait() == 0
    for attempt in range(4):
        folder = tmp_path / str(attempt)
        trainers = [start(folder) for _ in range(3)]
        errors = [trainer.communicate()[1] for trainer in trainers]
        codes = [trainer.returncode for trainer in trainers]
        assert 0 in codes
        for code, error in zip(codes, errors, strict=True):
            assert "Traceback" not in error
            assert code == 0 or (code == 2 and "is training the runs of this checkpoint: wait for it" in error), error
        for name in ("seed-0.safetensors", "seed-0.csv"):
            assert (folder / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()
