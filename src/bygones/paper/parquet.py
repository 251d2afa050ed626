"""Tables as Parquet files that tell when they were damaged.

Every page has a checksum, which is part of Parquet. A flipped bit in the footer, though, can change the type, the name
or the place of a column. So the footer also holds the SHA-256 of the whole file, in which the hash itself counts as
zeros. Files without checksums, from earlier versions, are read as well.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bygones._csv import check_file

_KEY = "bygones.sha256"
_MARK = _KEY.encode() + b"\x18@"
"""The key in the footer: Parquet writes a text of 64 characters after it."""
_ZEROS = b"0" * 64


def packed(table: pa.Table) -> bytes:
    """A table as the content of a Parquet file, with checksums."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema, compression="zstd", write_page_checksum=True) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({_KEY: _ZEROS.decode()})
    content: bytes = sink.getvalue().to_pybytes()
    before, _, after = _around_hash(content)
    return before + _hash(before, after) + after


def unpacked(path: Path) -> pa.Table:
    """The table in a Parquet file.

    Raises:
        ValueError: the file is damaged, or not Parquet.
    """
    check_file(path)
    content = path.read_bytes()
    before, noted, after = _around_hash(content)
    if noted and noted != _hash(before, after):
        raise ValueError(
            f"{path} is damaged: its checksum does not match; restore it, or move it away to continue without it"
        )
    try:
        table = pq.read_table(pa.BufferReader(content), partitioning=None, page_checksum_verification=True)
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"{path} cannot be read as Parquet ({reason}); move it away to continue without it") from None
    return table


def _around_hash(content: bytes) -> tuple[bytes, bytes, bytes]:
    """The parts before the hash, of the hash, and after it; without a hash, the last two are empty."""
    head, mark, tail = content.rpartition(_MARK)
    return (head + mark, tail[:64], tail[64:]) if mark else (content, b"", b"")


def _hash(before: bytes, after: bytes) -> bytes:
    return hashlib.sha256(before + _ZEROS + after).hexdigest().encode()
