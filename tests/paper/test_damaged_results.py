"""Damaged results are refused with a sentence that names the file; none is read as something else."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bygones.paper import parquet
from bygones.paper.columns import SCHEMA
from bygones.paper.results import read, writing
from support.damage import damages, outcome

OLD = Path(__file__).parent / "data" / "format-1.parquet"


@pytest.fixture
def file(tmp_path):
    with writing(tmp_path) as writer:
        writer.add_table(read(OLD).table)
    (path,) = tmp_path.glob("*.parquet")
    return path


def rows(path):
    return json.dumps(read(path).table.to_pylist(), default=str)


def check_damage(path, number, seed, may_change=False):
    """How many damaged versions of a file were refused; the others are read as what they were."""
    content, whole, refused = path.read_bytes(), rows(path), 0
    for what, damaged in damages(content, number, seed):
        path.write_bytes(damaged)
        found, sentence = outcome(lambda: rows(path))
        if sentence is not None:
            assert sentence.startswith(str(path)), what
            refused += 1
        else:
            assert may_change or found == whole, what
    return refused


def test_a_damaged_file_is_refused(file):
    assert check_damage(file, 60, 0) >= 59


@pytest.mark.soak
def test_thousands_of_damaged_files_are_never_read_as_something_else(file):
    assert check_damage(file, 3000, 1) >= 2980


def test_damage_in_files_without_checksums_is_no_traceback(tmp_path):
    path = tmp_path / "old.parquet"
    path.write_bytes(OLD.read_bytes())
    assert check_damage(path, 200, 0, may_change=True) > 100


def test_pages_have_checksums_of_their_own(file):
    """They can be checked by any reader of Parquet, and here even if the hash of the file were lost."""
    content = file.read_bytes().replace(b"bygones.sha256", b"bygones.lost!!")
    file.write_bytes(content)
    assert len(read(file)) == 5
    column = pq.ParquetFile(file).metadata.row_group(0).column(SCHEMA.get_field_index("final_gini"))
    last = column.dictionary_page_offset + column.total_compressed_size - 1
    file.write_bytes(content[:last] + bytes([content[last] ^ 1]) + content[last + 1 :])
    with pytest.raises(ValueError, match=r"cannot be read as Parquet .*(CRC|checksum)"):
        read(file)


def test_a_checksum_of_the_whole_file(tmp_path):
    path = tmp_path / "x.parquet"
    content = parquet.packed(pa.table({"x": [1, 2]}))
    path.write_bytes(content)
    assert parquet.unpacked(path).to_pydict() == {"x": [1, 2]}
    assert pq.read_table(path).to_pydict() == {"x": [1, 2]}
    at = content.index(b"parquet-cpp")  # who wrote it: nothing that any reader would miss
    path.write_bytes(content[:at] + b"P" + content[at + 1 :])
    with pytest.raises(ValueError, match=r"x.parquet is damaged: its checksum does not match; restore it, or move it"):
        parquet.unpacked(path)


@pytest.mark.parametrize(("column", "value"), [("gamma", 0.5), ("run", "0123456789abcdef"), ("hidden", [64])])
def test_a_run_that_is_not_what_its_name_says_is_reported(file, column, value):
    table = read(file).table
    values = table.column(column).to_pylist()
    values[2] = value
    index = SCHEMA.get_field_index(column)
    altered = table.set_column(index, SCHEMA.field(index), pa.array(values, SCHEMA.field(index).type))
    file.write_bytes(parquet.packed(altered))
    name = altered.column("run")[2].as_py()
    with pytest.raises(ValueError, match=f"{file.name}, row 3: the run is named {name}, but its settings make it "):
        read(file)
