"""JSON read piece by piece gives what `json` gives, whatever the size of the pieces, and says where it is wrong."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bygones.audit.read.json_stream import JsonFile, beginning

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def walked(file):
    """A value, read member by member and element by element."""
    first = file.peek()
    if first == "{":
        return {key: walked(file) for key in file.members()}
    if first == "[":
        return [walked(file) for _ in file.elements()]
    return file.value()


@given(value=VALUES, chunk=st.integers(1, 40), indent=st.none() | st.integers(0, 2))
def test_all_that_json_reads_is_read_alike(tmp_path_factory, value, chunk, indent):
    path = tmp_path_factory.mktemp("json") / "value.json"
    path.write_text(json.dumps(value, indent=indent, ensure_ascii=False), encoding="utf-8")
    for read in (walked, JsonFile.value, JsonFile.skip):
        with JsonFile(path, chunk) as file:
            found = read(file)
            file.end()
        if read is not JsonFile.skip:
            assert found == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"is not JSON: Expecting value \(character 1\)"),
        ('{"a" 1}', r"is not JSON: expected :, got 1 \(character 6\)"),
        ('{"a": [1, 2', r"is not JSON: expected ,, got the end of the file \(character 12\)"),
        ('{"a": "b', r"is not JSON: Unterminated string starting at \(character 7\)"),
        ("{1: 2}", r'is not JSON: expected a key in " \(character 2\)'),
        ("[1] 2", r"is not JSON: there is more after the end \(character 5\)"),
    ],
)
def test_an_error_names_the_place(tmp_path, text, message):
    path = tmp_path / "value.json"
    path.write_text(text)
    with JsonFile(path, chunk=3) as file, pytest.raises(ValueError, match=message):
        file.end() if walked(file) else None


def test_what_is_wrong_is_noticed_before_the_rest_is_read(tmp_path):
    path = tmp_path / "value.json"
    path.write_text('{"a": [1, oops' + " " * 1_000_000 + "]}")
    with JsonFile(path, chunk=100) as file:
        with pytest.raises(ValueError, match=r"Expecting value \(character 11\)"):
            file.value()
        assert file._file.tell() < 1000


def test_compressed_files_are_read(tmp_path):
    path = tmp_path / "value.json.gz"
    path.write_bytes(gzip.compress(b'{"a": [1, 2, 3]}'))
    assert beginning(path, 4) == '{"a"'
    with JsonFile(path, 4) as file:
        assert walked(file) == {"a": [1, 2, 3]}
    path.write_bytes(gzip.compress(b'{"a": [1, 2, 3]}')[:-12])
    with JsonFile(path) as file, pytest.raises(ValueError, match="cannot be read"):
        walked(file)
    path.write_bytes(gzip.compress(b"{}")[:10] + b"\xff" * 20)
    with pytest.raises(ValueError, match="cannot be read"):
        beginning(path, 4)
