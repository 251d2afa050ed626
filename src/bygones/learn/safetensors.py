"""The safetensors format for float32 arrays, in a page: machines with an accelerator are often bare.

A file is the length of its header (eight bytes, little-endian), a JSON header that says where each array lies, and
the arrays one after the other. There is nothing in it that could be executed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np


def save(path: Path | str, tensors: dict[str, np.ndarray], metadata: dict[str, str]) -> None:
    """Writes float32 arrays by name, and metadata about them."""
    header: dict[str, object] = {"__metadata__": metadata}
    parts, end = [], 0
    for name, tensor in tensors.items():
        raw = np.ascontiguousarray(tensor, dtype="<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [end, end + len(raw)]}
        parts.append(raw)
        end += len(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))
    os.replace(unfinished, path)


def load(path: Path | str) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The float32 arrays of a file, by name, and the metadata."""
    content = Path(path).read_bytes()
    length = int.from_bytes(content[:8], "little")
    try:
        header = json.loads(content[8 : 8 + length])
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise ValueError(f"{path} is not a safetensors file: its header is not JSON") from None
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, place in header.items():
        if place["dtype"] != "F32":
            raise ValueError(f"{path}: tensor {name} must be F32, got {place['dtype']}")
        begin, end = (8 + length + offset for offset in place["data_offsets"])
        if end > len(content):
            raise ValueError(f"{path} is cut off: tensor {name} ends at byte {end} of {len(content)}")
        tensors[name] = np.frombuffer(content[begin:end], "<f4").reshape(place["shape"]).copy()
    return tensors, metadata
