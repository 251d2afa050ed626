"""Every file of the evidence is the one that was put there: its checksum is noted, and it matches."""

import pytest
from benchmarks import checksums


def test_every_file_of_the_evidence_has_its_checksum():
    noted, computed = checksums.noted(checksums.EVIDENCE), checksums.computed(checksums.EVIDENCE)
    assert len(computed) >= 98
    assert computed.keys() - noted.keys() == set(), "files without a checksum: run `make checksums`"
    assert noted.keys() - computed.keys() == set(), "files that are gone"
    assert [name for name in noted if noted[name] != computed[name]] == [], "files that have changed"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "grid").mkdir()
    (tmp_path / "grid" / "a b.parquet").write_bytes(b"one")
    (tmp_path / "README.md").write_text("prose")
    assert checksums.note(tmp_path) == ["grid/a b.parquet"]
    return tmp_path


def test_new_files_are_added_and_lost_ones_left_out(folder):
    (folder / "new.json").write_text("{}")
    assert checksums.noted(folder) != checksums.computed(folder)
    assert checksums.note(folder) == ["new.json"]
    assert checksums.noted(folder) == checksums.computed(folder)
    assert (folder / "SHA256SUMS").read_text().splitlines()[1].endswith("  new.json")
    (folder / "new.json").unlink()
    assert checksums.note(folder) == []
    assert list(checksums.noted(folder)) == ["grid/a b.parquet"]


def test_a_file_that_changed_is_refused(folder):
    before = (folder / "SHA256SUMS").read_bytes()
    (folder / "grid" / "a b.parquet").write_bytes(b"two")
    with pytest.raises(
        SystemExit, match=r"a b\.parquet has changed since its checksum was noted.* take its line out of SHA256SUMS"
    ):
        checksums.note(folder)
    assert (folder / "SHA256SUMS").read_bytes() == before
