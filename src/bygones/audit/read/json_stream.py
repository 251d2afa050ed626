"""Reads JSON files piece by piece: one element of a long list at a time, so a file may be larger than the memory.

with JsonFile(path) as file:
    for key in file.members():
        if key == "items":
            for _ in file.elements():
                workload = file.value()
        else:
            file.skip()

Each key and each element is followed by exactly one value, which is read (`value`), entered (`members`, `elements`) or
skipped.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO, TypeAlias

from bygones._csv import check_file

Json: TypeAlias = Any
"""A value of JSON: a dictionary, a list, text, a number, a truth value or None."""

CHUNK = 65_536
"""How many characters are read at once."""

_DECODER = json.JSONDecoder()
_SPACE = " \t\r\n"
_IN_NUMBERS = "0123456789.eE+-"
_LONGEST_TOKEN = 16


def beginning(path: Path, characters: int) -> str:
    """The first characters of a text file, perhaps compressed by gzip."""
    with _opened(path) as file:
        return _read(file, path, characters)


class JsonFile:
    """A JSON file that is read from front to back and not kept in memory."""

    def __init__(self, path: Path, chunk: int = CHUNK) -> None:
        """Opens the file, perhaps compressed by gzip."""
        self._path, self._chunk, self._file = path, chunk, _opened(path)
        self._text, self._at, self._before = "", 0, 0

    def __enter__(self) -> JsonFile:
        return self

    def __exit__(self, *failure: object) -> None:
        self._file.close()

    def value(self) -> Json:
        """The value that comes next, as a whole."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                # A value that is only cut off is wrong at its end, or in a string that has not ended.
                is_cut_off = error.pos > len(self._text) - _LONGEST_TOKEN or error.msg.startswith("Unterminated")
                if is_cut_off and self._more():
                    continue
                self._at = error.pos
                raise self._refused(error.msg) from None
            # At the end of the text read so far, a number may go on: after `1.` may come `5`.
            if (end < len(self._text) and self._text[end] not in _IN_NUMBERS) or not self._more():
                self._at = end
                return value

    def members(self) -> Iterator[str]:
        """The keys of the object that comes next."""
        for _ in self._between("{", "}"):
            if self.peek() != '"':
                raise self._refused('expected a key in "')
            key = str(self.value())
            self._take(":")
            yield key

    def elements(self) -> Iterator[None]:
        """Stops before every element of the list that comes next."""
        yield from self._between("[", "]")

    def skip(self) -> None:
        """Passes over the value that comes next."""
        first = self.peek()
        if first == "{":
            for _ in self.members():
                self.skip()
        elif first == "[":
            for _ in self.elements():
                self.skip()
        else:
            self.value()

    def end(self) -> None:
        """Refuses anything after the value that has been read."""
        if self.peek():
            raise self._refused("there is more after the end")

    def peek(self) -> str:
        """The next character that is not a space; empty at the end of the file."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _between(self, opening: str, closing: str) -> Iterator[None]:
        """Stops before every member between two brackets."""
        self._take(opening)
        if self.peek() == closing:
            self._take(closing)
            return
        while True:
            yield
            if self.peek() == closing:
                self._take(closing)
                return
            self._take(",")

    def _take(self, expected: str) -> None:
        character = self.peek()
        if character != expected:
            raise self._refused(f"expected {expected}, got {character or 'the end of the file'}")
        self._at += 1

    def _more(self) -> bool:
        """Reads on, and drops the text before the current place; False at the end of the file."""
        # A value that is longer than one chunk takes twice as much each time, not the same again and again.
        wanted = max(self._chunk, len(self._text) - self._at)
        more = _read(self._file, self._path, wanted)
        if not more:
            return False
        self._before += self._at
        self._text, self._at = self._text[self._at :] + more, 0
        return True

    def _refused(self, problem: str) -> ValueError:
        return ValueError(f"{self._path} is not JSON: {problem} (character {self._before + self._at + 1:,})")


def _opened(path: Path) -> TextIO:
    check_file(path)
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig")
    return path.open(encoding="utf-8-sig")


def _read(file: TextIO, path: Path, characters: int) -> str:
    try:
        return file.read(characters)
    except (UnicodeDecodeError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
