"""The safetensors format for float32 arrays, in a page: machines with an accelerator are often bare.

A file is the length of its header (eight bytes, little-endian), a JSON header with the position of each array, and the
arrays one after the other. There is nothing in it that could be executed. The metadata in the header holds the SHA-256
of the file, in which the hash itself counts as zeros. A file without a hash, from an earlier version or another
program, is read as well.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from bygones._arrays import check_count
from bygones._files import replacing

_HASH = "sha256"
_ZEROS = b"0" * 64


def save(path: Path | str, tensors: dict[str, np.ndarray], metadata: dict[str, str]) -> None:
    """Writes float32 arrays by name, and metadata about them."""
    header: dict[str, object] = {"__metadata__": {_HASH: _ZEROS.decode(), **metadata}}
    parts, end = [], 0
    for name, tensor in tensors.items():
        raw = np.ascontiguousarray(tensor, dtype="<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [end, end + len(raw)]}
        parts.append(raw)
        end += len(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    content = len(text).to_bytes(8, "little") + text + b"".join(parts)
    with replacing(path) as file:
        file.write(content.replace(_ZEROS, hashlib.sha256(content).hexdigest().encode(), 1))


def load(path: Path | str) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The float32 arrays of a file, by name, and the metadata.

    Raises:
        ValueError: the file is damaged, or not a safetensors file.
    """
    content = Path(path).read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    try:
        header = json.loads(content[8:start])
        metadata = {str(name): str(value) for name, value in header.pop("__metadata__", {}).items()}
    except (ValueError, RecursionError, AttributeError, TypeError):
        raise ValueError(f"{path} is not a safetensors file: its header is not JSON") from None
    tensors = {name: _tensor(path, name, place, content[start:]) for name, place in header.items()}
    noted = metadata.pop(_HASH, None)
    if noted is not None:
        unsigned = content.replace(noted.encode(errors="replace"), _ZEROS, 1)
        if hashlib.sha256(unsigned).hexdigest() != noted:
            raise ValueError(
                f"{path} is damaged: its checksum does not match; restore it, or remove it and train again"
            )
    return tensors, metadata


def _tensor(path: Path | str, name: str, place: Any, data: bytes) -> np.ndarray:
    try:
        kind, shape, (begin, end) = str(place["dtype"]), list(place["shape"]), place["data_offsets"]
        for number in (*shape, begin, end):
            check_count("number", number, least=0)
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{path} is damaged: its header has no position for tensor {name}") from None
    if kind != "F32":
        raise ValueError(f"{path}: tensor {name} must be F32, got {kind}")
    if end > len(data):
        raise ValueError(f"{path} is cut off: tensor {name} ends at byte {end} of {len(data)}")
    raw = data[begin:end]
    if len(raw) != 4 * math.prod(shape):
        raise ValueError(f"{path} is damaged: tensor {name} of shape {shape} takes {len(raw)} bytes")
    return np.frombuffer(raw, "<f4").reshape(shape).copy()
