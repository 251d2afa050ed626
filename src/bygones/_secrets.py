"""Keeps passwords out of what people see: messages, pages, results and command lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote, unquote_plus

HIDDEN = "***"
"""The text shown instead of a password."""

# Each pattern starts at the beginning of a word and never goes back in it: a long text takes no longer than it is long.
_WORD = re.compile(r"[^\s'\"]++")
_PLACE = re.compile(r"(?<![A-Za-z0-9+.\-])[A-Za-z0-9+.\-]++:[/\\]++")
_HOST = re.compile(r"(?:\[[\w:.%]{0,99}+\]|(?:[^:/?#\[%]|%(?!3[Aa]))*+)(?::|%3[Aa])")
_PORT = re.compile(r"\d{0,5}+(?:[/\\?#]|[^\w%]*+$)")
_PARAMETER = re.compile(r"(?<![\w%.\-])([\w%.\-]++)(\s*+=\s*+)('[^']*'|\"[^\"]*\"|[^\s&;,'\"]++)")
_SECRET_NAME = re.compile(r"pass|pwd|secret|token|credential|(api|private|access|ssl)_?key", re.IGNORECASE)

_SHORTEST = 4
"""Shorter passwords are hidden only in quotes and where it is clear that they are passwords: other words have them."""


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without passwords: those in URLs, in parameters such as `password=…`, and these `secrets`."""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        for quote in ("",) if len(secret) >= _SHORTEST else ("'", '"'):
            text = text.replace(f"{quote}{secret}{quote}", f"{quote}{HIDDEN}{quote}")
    return _PARAMETER.sub(_without_value, _WORD.sub(_without_user_info, text))


def secrets_in(word: str) -> set[str]:
    """The passwords in a word of a command line, as written and as meant.

    A word that is a URL is known from its beginning to its end, so even a password with spaces and quotes is
    found, and recognised wherever a library repeats it, whole or up to where it takes the path to begin.
    """
    if not _PLACE.match(word):
        return set()
    secrets = [part for secret in _user_info(word) for part in (word[secret], re.split("[/?#]", word[secret])[0])]
    for part in re.split("[?&;]", word.rpartition("@")[2])[1:]:
        name, _, value = part.partition("=")
        if _SECRET_NAME.search(unquote(name)):
            secrets.append(value)
    return {form for secret in secrets for form in (secret, unquote(secret), unquote_plus(secret)) if form}


def _user_info(word: str) -> Iterator[slice]:
    """Where a word that may be a URL has a password: between a colon and the last @, or where a port should be.

    A password may contain @ and /, so it ends at the last @ of the word. Without an @, whatever follows the host and is
    not a port is one, up to the end.
    """
    places, at = list(_PLACE.finditer(word)), word.rfind("@")
    colon = word.find(":", places[0].end() if places else 0)
    if 0 <= colon < at:
        yield slice(colon + 1, at)
    for start in sorted({max(place.end(), at + 1) for place in places if place[0].endswith("//")}):
        host = _HOST.match(word, start)
        if host is not None and not _PORT.match(word, host.end()):
            yield slice(host.end(), len(word))
            return


def _without_user_info(match: re.Match[str]) -> str:
    word = match[0]
    for secret in reversed(list(_user_info(word))):
        word = word[: secret.start] + HIDDEN + word[secret.stop :]
    return word


def _without_value(match: re.Match[str]) -> str:
    name, equals, _ = match.groups()
    return f"{name}{equals}{HIDDEN}" if _SECRET_NAME.search(unquote(name)) else match[0]
