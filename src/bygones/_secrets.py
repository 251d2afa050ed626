"""Keeps passwords out of what people see: messages, pages, results and command lines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote, unquote_plus

HIDDEN = "***"
"""What is shown instead of a password."""

# Each pattern starts at the beginning of a word and never goes back in it: a long text takes no longer than it is long.
_SCHEME = r"[A-Za-z0-9+.\-]++"
# A password may contain @ and /, so it ends at the last @ of the word.
_USER_INFO = re.compile(rf"(?<![A-Za-z0-9+.\-])({_SCHEME}:/{{2,}}[^\s:/?#@]*+):[^\s'\"]*@")
_PARAMETER = re.compile(r"(?<![\w%.\-])([\w%.\-]++)(\s*+=\s*+)('[^']*'|\"[^\"]*\"|[^\s&;,'\"]++)")
_SECRET_NAME = re.compile(r"pass|pwd|secret|token|credential|(api|private|access|ssl)_?key", re.IGNORECASE)

_SHORTEST = 4
"""Shorter passwords are hidden only where it is clear that they are passwords: they also occur in other words."""


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without passwords: those in URLs, in parameters such as `password=…`, and these `secrets`."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return _PARAMETER.sub(_without_value, _USER_INFO.sub(rf"\1:{HIDDEN}@", text))


def secrets_in(word: str) -> set[str]:
    """The passwords in a word of a command line, as they are written and as they are meant.

    A word that is a URL is known from its beginning to its end, so that even a password with spaces and quotes is
    found, and recognised wherever a library repeats it.
    """
    scheme, separator, rest = word.partition("://")
    if not separator or not re.fullmatch(_SCHEME, scheme):
        return set()
    found = []
    before, at, after = rest.rpartition("@")
    if at:
        found.append(before.partition(":")[2])
    for part in re.split("[?&;]", after)[1:]:
        name, _, value = part.partition("=")
        if _SECRET_NAME.search(unquote(name)):
            found.append(value)
    both = {form for secret in found for form in (secret, unquote(secret), unquote_plus(secret))}
    return {secret for secret in both if len(secret) >= _SHORTEST}


def _without_value(found: re.Match[str]) -> str:
    name, equals, _ = found.groups()
    return f"{name}{equals}{HIDDEN}" if _SECRET_NAME.search(unquote(name)) else found[0]
