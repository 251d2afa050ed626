"""Files are written completely or not at all."""

from pathlib import Path

import pytest

from bygones.learn.whole_files import write_whole


def test_a_file_and_its_folder_are_made(tmp_path: Path) -> None:
    file = tmp_path / "new" / "file"
    for content in (b"one", b"another"):
        write_whole(file, content)
        assert file.read_bytes() == content
        assert list(file.parent.iterdir()) == [file]


def test_what_was_there_stays_until_the_new_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    write_whole(file, b"old")

    def full(descriptor: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space left"):
        write_whole(file, b"new")
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]
