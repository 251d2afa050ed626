"""Names that differ so little, or look so much the same, that they may be the same agent."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from bygones._text import listed

COMPARED = range(7, 101)
"""How many letters names have that are pointed out if they differ in one; shorter ones often do."""

SHOWN = 5
"""The most pairs of names that are pointed out."""


_WITHOUT_STROKES = str.maketrans("łøđħŧı", "lodhti")
"""Letters that Unicode does not take apart, as it does é."""

_LOOKS = str.maketrans(
    "АВЕІЈКМНОРСТУХЅԌԚԜҮӀавекмностһіјрԛѕԝхуѵӏԁ"  # Cyrillic
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαγηικνορτυχω"  # Greek
    "ՏՍՕԼհոսօցյզ"  # Armenian
    "ᎪᏴᏟᎠᎬᏀᎻᎥᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᎩᏃ"  # Cherokee
    "ꓮꓐꓚꓓꓰꓝꓖꓧꓲꓙꓗꓡꓟꓠꓳꓑꓣꓢꓔꓴꓦꓪꓫꓬꓜ"  # Lisu
    "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢɑɡɩ",  # Latin
    "ABEIJKMHOPCTYXSGQWYlabekmhocthijpqswxyvld"
    "ABEZHIKMNOPTYXaynikvoptuxw"
    "SUOLhnuogjq"
    "ABCDEGHiJKLMPRSTVWYZ"
    "ABCDEFGHIJKLMNOPRSTUVWXYZ"
    "abcdefghijklmnoprstuvwyzagi",
)
"""Letters that look like a Latin one, and which. Unicode itself takes fullwidth and mathematical letters apart."""


def groups_alike(names: Sequence[str]) -> list[list[str]]:
    """Names that are the same but for spelling or the look of a letter, see `spelled_alike`, or for one letter."""
    return spelled_alike(names) + _one_letter_apart({_keys(name)[-1]: name for name in names})


def spelled_alike(names: Sequence[str]) -> list[list[str]]:
    """Names that are the same but for capitals, accents, spaces, signs, letters that look the same, and their order.

    A name with a comma, such as Krüger, Ben, is also compared with the part after the comma first.
    """
    groups: dict[str, list[str]] = {}
    for name in names:
        for key in _keys(name):
            groups.setdefault(key, []).append(name)
    alike = dict.fromkeys(tuple(group) for key, group in groups.items() if key and len(group) > 1)
    return [list(group) for group in alike]


def quoted(group: Sequence[str]) -> list[str]:
    """Names that are alike, in quotes; where readers cannot see a difference, each with the letter that makes it."""
    if len({_keys(name)[0] for name in group}) == 1:
        return [repr(name) for name in group]
    odd = [next((letter for letter in name if ord(letter) in _LOOKS), None) for name in group]
    return [
        repr(name) if letter is None else f"{name!r} (with a {unicodedata.name(letter)})"
        for name, letter in zip(group, odd, strict=True)
    ]


def alike(names: Sequence[str]) -> list[str]:
    """A note about names that are nearly the same."""
    groups = groups_alike(names)
    if not groups:
        return []
    shown = "; ".join(listed(quoted(group), SHOWN) for group in groups[:SHOWN])
    more = f"; and {len(groups) - SHOWN} more" if len(groups) > SHOWN else ""
    return [f"Some names are nearly the same and count as different agents: {shown}{more}."]


def _one_letter_apart(names: dict[str, str]) -> list[list[str]]:
    """Pairs of names with one letter more, less or different: without one letter, both are the same."""
    seen: dict[str, str] = {}
    pairs: dict[tuple[str, str], None] = {}
    for key in sorted(filter(_is_compared, names)):
        for shorter in {key, *(key[:i] + key[i + 1 :] for i in range(len(key)))}:
            other = seen.setdefault(shorter, key)
            if other != key and _differ_once(other, key):
                pairs[other, key] = None
    return [[names[one], names[two]] for one, two in pairs]


def _differ_once(one: str, two: str) -> bool:
    if abs(len(one) - len(two)) > 1:
        return False
    start = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    return one[start + (len(one) >= len(two)) :] == two[start + (len(two) >= len(one)) :]


def _keys(name: str) -> tuple[str, ...]:
    """The common form of names that are alike: the letters and digits, and similar-looking ones in their place.

    Capitals are looked at before they are made small: a Greek Ν looks like N, and ν like v.
    """
    plain = unicodedata.normalize("NFKD", name)
    looks = plain.translate(_LOOKS)
    last, comma, first = looks.partition(",")
    return tuple(dict.fromkeys(_small(form) for form in (plain, looks, f"{first}{last}" if comma else looks)))


def _small(plain: str) -> str:
    """The letters and digits of a name, without capitals and accents."""
    return "".join(letter for letter in plain.casefold().translate(_WITHOUT_STROKES) if letter.isalnum())


def _is_compared(key: str) -> bool:
    return len(key) in COMPARED and not any(letter.isdigit() for letter in key)
