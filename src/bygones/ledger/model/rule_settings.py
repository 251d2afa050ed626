"""The rules of a ledger as people read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bygones.document.document import Block, Document, Table
from bygones.ledger.model.remembering import DISCOUNTED
from bygones.ledger.model.rules import NO_RULES, Change, Rules
from bygones.ledger.model.times import format_instant

_SHOWN_IF_SET = ("half_lives", "cap", "thing", "unit", "turn_weights")


def rules_document(rules: Rules, ahead: Sequence[Change], zone: str) -> Document:
    """The rules in force, and the changes ahead."""
    unused = ("memory",) if rules.memory == DISCOUNTED else ("half_life", "half_lives")
    in_force = {
        name: value
        for name, value in rules.to_dict().items()
        if name not in unused and (value or name not in _SHOWN_IF_SET) and (name, value) != ("overlaps", "refused")
    }
    blocks: list[Block] = [Table("", ["rule", "setting"], list(settings_in_words(in_force)))]
    for change in ahead:
        changed = ", ".join(f"{name} {setting}" for name, setting in settings_in_words(change.settings))
        blocks.append(f"From {format_instant(change.time, zone)} on (event {change.seq}): {changed}.")
    return Document(rules.memory_sentence, blocks, "Rules")


def settings_in_words(settings: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Rules and their settings, as people read them."""
    for name, value in settings.items():
        if name not in NO_RULES:
            yield name.replace("_", " ").replace("half li", "half-li"), _setting(value)


def _setting(setting: object) -> str:
    match setting:
        case bool():
            return "yes" if setting else "no"
        case dict():
            return ", ".join(f"{agent} {_setting(own)}" for agent, own in setting.items()) or "equal"
        case float():
            return f"{setting:g}"
        case None:
            return "no limit"
        case "inf" | "infinity" | "never":
            return "inf (perfect recall)"
    return str(setting)
