"""The rules of a ledger. They change from an instant on; a change names only the settings that change."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, SupportsFloat, TypeAlias, get_args

import numpy as np

from bygones._arrays import check_between, check_one_of
from bygones._registry import no_imports
from bygones._text import listed
from bygones._times import check_zone
from bygones.allocation.decide import checked_rule
from bygones.allocation.objective import check_form
from bygones.allocation.pricing import price_form
from bygones.allocation.problem_contract import Given, Problem
from bygones.allocation.problems import in_words as what_each_gets
from bygones.allocation.reports import Reports
from bygones.kinds import Kind, Thing, check_kind, check_word
from bygones.ledger.model import times
from bygones.ledger.model.events import LARGEST
from bygones.ledger.model.participation import Participation
from bygones.ledger.model.remembering import (
    DISCOUNTED,
    Clocks,
    TimedMemory,
    check_memory,
    in_words,
    remembered_in_words,
    remembering,
)
from bygones.ledger.model.span import Spans, span_of
from bygones.ledger.model.times import UNITS, When, duration, instant
from bygones.ledger.model.turn_weights import check_holidays, read_weights
from bygones.welfare import parse_welfare

Overlaps: TypeAlias = Literal["refused", "allowed"]
"""Whether an agent may have two turns at the same time."""

NEWCOMER_RULES = ("zero", "mean", "median", "entitled share")
"""Newcomer rules by name; a number is accepted as well."""

ENTITLEMENTS = (1e-9, 1e9)
"""The smallest and the largest entitlement; for burdens 0 as well."""

HALF_LIVES = (1.0, 1000 * UNITS["y"])
"""The shortest and the longest half-life in seconds, if anything fades at all."""


@dataclass(frozen=True)
class Rules:
    """The rules of a ledger.

    Attributes:
        half_life: the time after which a utility counts half, such as `30d`, `12h` or `inf`.
        half_lives: by agent, for those whose past fades faster or more slowly than the others'. In a change of rules,
            None makes someone's half-life that of the others again.
        memory: `discounted`, which fades by the half-life; or `sliding_window(length=28d)`, in which a utility counts
            in full for so long and then not at all; or `reset(every=month)`, which starts over at the end of each
            `day`, `week`, `month`, `quarter`, `year` or number of days; or another memory of `bygones.memory` by its
            name, in steps of a day. The memory in force at a time holds for everything up to then.
        cap: the largest recent total that an agent can have; None for no limit.
        welfare: what decisions maximise, such as `egalitarian`, `nash` or `alpha_fair(alpha=2)`; for burdens
            `egalitarian`, `utilitarian`, `generalized_gini` or `power_burden(p=2)`.
        newcomers: the newcomer rule, the remembered utility that an agent who joins starts with: `zero`, the `mean` or
            `median` of those present per unit of entitlement, the `entitled share` (neither owed nor ahead), or a
            number. In a ledger of burdens, an agent who starts with `zero` takes all work until they have caught up.
        hold_stops_clock: whether the past of an agent on hold stops fading.
        entitlements: by agent, 1 for those not named. An agent with twice the entitlement is owed, and in the long run
            gets, twice as much. Under utilitarian welfare, which maximises the total only, this holds among agents with
            the same needs. For burdens it is the share of the load, and 0 is exempt.
        kind: whether `good`s are allocated, or `burden`s. A ledger keeps the kind that it began with; those of before
            there were kinds are about goods.
        reports: whether the needs of a decision count `as-reported`, or `normalised`: as multiples of what the agent
            reported on average in the decisions so far, so nobody gains by reporting in other units. The
            amounts received through a decision are then counted in the same multiples.
        rule: how decisions are made: `one-step`, by `prices`, which look ahead, or another policy by its name, which
            chooses k agents. Ledgers of before there were rules decide one step at a time.
        thing: the thing that is allocated, in the singular, such as `shift`; decisions are explained in this word.
        unit: that of amounts, such as `h` or `GPU-hours`.
        overlaps: whether an agent may have two turns at the same time: `refused` or `allowed`. It concerns turns of
            which the length is known.
        turn_weights: the weight of a turn by its time, such as `22:00-06:00=1.25, sat-sun=1.5`; see
            `model.turn_weights`. The needs of decisions and plans are multiplied by it.
        time_zone: in which days begin and end, times without a zone are read, and all times are shown, such as
            `Europe/Berlin`. The latest setting holds for the whole ledger.
    """

    half_life: str = "30d"
    welfare: str = "egalitarian"
    newcomers: str = "mean"
    hold_stops_clock: bool = True
    entitlements: Mapping[str, float] = field(default_factory=dict)
    kind: Kind = "good"
    rule: str = "one-step"
    reports: Reports = "as-reported"
    time_zone: str = "UTC"
    memory: str = DISCOUNTED
    half_lives: Mapping[str, str] = field(default_factory=dict)
    cap: float | None = None
    thing: str = ""
    unit: str = ""
    overlaps: Overlaps = "refused"
    turn_weights: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.half_life, str):
            raise ValueError(
                "half_life must be a duration such as '30d', or 'inf' for perfect recall, since a ledger remembers by "
                f"half-life, got {self.half_life!r}"
            )
        memory, half_life = check_memory(self.memory)
        object.__setattr__(self, "memory", memory)
        object.__setattr__(self, "half_life", half_life or self.half_life)
        duration(self.half_life)
        object.__setattr__(self, "half_lives", MappingProxyType(dict(self.half_lives)))
        for agent, own in self.half_lives.items():
            duration(own, f"half_life of {agent!r}")
        if self.cap is not None:
            accepted = "a finite number above 0"
            cap = check_between("cap", self.cap, 0.0, math.inf, accepted, open_low=True, open_high=True)
            object.__setattr__(self, "cap", float(cap))
        check_kind(self.kind)
        welfare = parse_welfare(self.welfare)
        if welfare.function is not None and ":" not in welfare.name:
            raise ValueError(
                "welfare must be the name of a welfare such as 'nash', since a ledger stores its rules as "
                f"text, got {self.welfare!r}"
            )
        check_form(welfare, self.kind)
        object.__setattr__(self, "rule", checked_rule(self.rule))
        check_one_of("reports", self.reports, get_args(Reports))
        check_one_of("overlaps", self.overlaps, get_args(Overlaps))
        read_weights(self.turn_weights)
        if self.rule == "prices":
            price_form(welfare)
            if not self.fades_alike:
                raise ValueError(
                    "the rule prices needs one half-life for all agents and no cap: use the rule one-step, got "
                    f"{self.memory_in_words}"
                )
        object.__setattr__(self, "time_zone", check_zone(self.time_zone))
        object.__setattr__(self, "welfare", str(welfare))
        object.__setattr__(self, "newcomers", check_newcomers(self.newcomers))
        for name in ("thing", "unit"):
            object.__setattr__(self, name, check_word(name, getattr(self, name)))
        if not isinstance(self.hold_stops_clock, bool):
            raise ValueError(f"hold_stops_clock must be true or false, got {self.hold_stops_clock!r}")
        given = dict(self.entitlements).items()
        weights = {str(name): check_entitlement(weight, name, self.kind) for name, weight in given}
        object.__setattr__(self, "entitlements", MappingProxyType(weights))

    @property
    def handed_out(self) -> Thing:
        """The thing that is allocated, in words."""
        return Thing(self.thing, self.unit)

    def weighted(self, request: Problem, spans: Spans, at: int, zone: str) -> Problem:
        """A request with its needs multiplied by the weights of its turns."""
        if not self.turn_weights:
            return request
        weights = read_weights(self.turn_weights)
        worth = {
            agent: {item: need * weights.of(span_of(spans, item, at), zone) for item, need in mine.items()}
            for agent, mine in request.worth.items()
        }
        return request.with_worth(worth, request.kind)

    def gets_in_words(self, given: Sequence[Given], request: Problem | None) -> dict[str, str]:
        """The assignment of each agent, in words."""
        return what_each_gets(given, request, self.kind, self.handed_out)

    @property
    def seconds(self) -> float:
        """The half-life in seconds."""
        return duration(self.half_life)

    def changed(self, changes: Mapping[str, Any]) -> Rules:
        """The rules after these settings change; entitlements of agents who are not named stay."""
        known = [setting.name for setting in fields(self)]
        for name in changes:
            if name not in known:
                raise ValueError(f"a rule must be one of {', '.join(known)}, got {name!r}")
        merged = dict(changes)
        for name in BY_AGENT:
            if name in changes:
                both = {**getattr(self, name), **changes[name]}
                merged[name] = {agent: value for agent, value in both.items() if value is not None}
        return replace(self, **merged)

    def to_dict(self) -> dict[str, Any]:
        """All settings, of the types that JSON has."""
        settings = {setting.name: getattr(self, setting.name) for setting in fields(self)}
        return settings | {name: dict(settings[name]) for name in BY_AGENT}

    def entitlements_of(self, names: Sequence[str]) -> np.ndarray:
        """The entitlements of these agents."""
        if not self.entitlements:
            return np.ones(len(names))
        return np.array([self.entitlements.get(name, 1.0) for name in names], dtype=float)

    @property
    def remembering(self) -> TimedMemory:
        """The memory, and the clock that counts its steps."""
        return remembering(self.memory, self.cap)

    @property
    def uncapped(self) -> TimedMemory:
        """The memory without its cap, under which the contributions of events add up."""
        return remembering(self.memory, None)

    @property
    def memory_in_words(self) -> str:
        """How the ledger remembers, for titles: `half-life 30d`, `window of 28d`, `reset every month`, `at most 40`."""
        own = [f"{length} for {agent}" for agent, length in self.half_lives.items()]
        fades = ", ".join([f"half-life {self.half_life}", *own])
        kept = fades if self.memory == DISCOUNTED else in_words(self.memory)
        return kept if self.cap is None else f"{kept}, at most {self.cap:g}"

    @property
    def memory_sentence(self) -> str:
        """How the past counts, in a sentence for everyone."""
        each = f"Each {self.handed_out.entry(self.kind)}"
        if self.memory == DISCOUNTED and math.isinf(self.seconds):
            kept = f"{each} counts in full for ever (perfect recall)"
        elif self.memory == DISCOUNTED:
            kept = f"{each} counts half after {times.in_words(self.half_life)}"
        else:
            kept = remembered_in_words(self.memory, each)
        own = [f"after {times.in_words(length)} for {agent}" for agent, length in self.half_lives.items()]
        cap = "" if self.cap is None else f" No recent total counts above {self.handed_out.with_unit(f'{self.cap:g}')}."
        return f"{kept}{'; ' if own else ''}{listed(own, 5)}.{cap}"

    @property
    def fades_alike(self) -> bool:
        """Whether everyone's past fades by the same half-life, and in no other way."""
        return self.memory == DISCOUNTED and self.cap is None and not self.half_lives


def check_newcomers(rule: object) -> str:
    """The newcomer rule, refused unless it is one of `NEWCOMER_RULES` or a finite number of at least 0."""
    name = str(rule).strip().replace("_", " ").replace("-", " ")
    if name in NEWCOMER_RULES:
        return name
    try:
        number = float(str(rule))
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise ValueError(f"newcomers must be {', '.join(NEWCOMER_RULES)} or a number of at least 0, got {rule!r}")
    return repr(number)


def check_entitlement(weight: SupportsFloat, agent: str, kind: Kind = "good") -> float:
    """The entitlement, refused unless it is a finite number above 0 or, for burdens, 0 as well: exempt."""
    exempt = kind == "burden"
    accepted = "a finite number of at least 0" if exempt else "a finite number above 0"
    return float(
        check_between(f"entitlement of {agent!r}", weight, 0.0, math.inf, accepted, open_low=not exempt, open_high=True)
    )


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuses rules beyond the bounds. Rules that an earlier version recorded are read anyway."""
    check_holidays(settings.get("turn_weights", ""))
    half_lives = {
        f"half_life of {agent!r}": own for agent, own in settings.get("half_lives", {}).items() if own is not None
    }
    if "half_life" in settings:
        half_lives["half_life"] = settings["half_life"]
    for name, half_life in half_lives.items():
        seconds, (shortest, longest) = duration(half_life), HALF_LIVES
        if not (shortest <= seconds <= longest or math.isinf(seconds)):
            raise ValueError(
                f"{name} must be from 1s to {longest / UNITS['y']:g}y, or inf for perfect recall, got {half_life!r}"
            )
    if (settings.get("cap") or 0.0) > LARGEST:
        raise ValueError(f"cap must be at most {LARGEST:g}, got {settings['cap']:g}")
    for agent, weight in settings.get("entitlements", {}).items():
        least, most = ENTITLEMENTS
        if not (least <= weight <= most or weight == 0):  # whether 0 is accepted depends on the kind, checked before
            raise ValueError(f"entitlement of {agent!r} must be from {least:g} to {most:g}, got {weight:g}")
    try:
        start = float(settings.get("newcomers", 0))
    except ValueError:  # the name of a newcomer rule
        return
    if start > LARGEST:
        raise ValueError(f"newcomers must start with at most {LARGEST:g}, got {start:g}")


class Change(NamedTuple):
    """Settings that change from an instant on; of changes at the same instant, the later event comes last."""

    time: int
    seq: int
    settings: dict[str, Any]


BY_AGENT = ("entitlements", "half_lives")
"""Settings by agent; a change leaves the agents that it does not name unchanged."""

MEMORY_SETTINGS = ("half_life", "hold_stops_clock", "memory", "half_lives", "cap")
"""Rules on which the recent totals depend."""

NO_RULES = ("draw", "batch")
"""Other details of a rule change: the commitment to a draw, and the batch of events to which it belongs."""


class RuleBook:
    """All rules of a ledger, past, present and to come, in the order of time.

    Attributes:
        changes: the changes.
        history: the rules after each change.
        began: the instant from which on there are rules, and the ledger.
        zone: the ledger's time zone, the one that was set last.
    """

    def __init__(self, changes: Sequence[Change]) -> None:
        settled = [
            Change(time, seq, {name: value for name, value in settings.items() if name not in NO_RULES})
            for time, seq, settings in changes
        ]
        self.changes = tuple(sorted(settled, key=lambda change: change[:2]))
        rules, history = Rules(), []
        for change in self.changes:
            try:
                with no_imports():
                    rules = rules.changed(change.settings)
            except ValueError as error:
                # They were accepted once, so this program lacks something: most likely a welfare from other packages.
                raise ValueError(
                    f"event {change.seq} sets rules that this program does not know: {error}. Use the program that set "
                    "them; a custom memory or welfare function must be registered before the ledger is opened"
                ) from None
            history.append(rules)
        self.history = tuple(history)
        self.began = self.changes[0].time
        self._starts = np.array([change.time for change in self.changes], dtype=np.int64)
        set_zone = [change for change in self.changes if "time_zone" in change.settings]
        self.zone: str = max(set_zone, key=lambda change: change.seq).settings["time_zone"] if set_zone else "UTC"

    def at(self, time: int) -> Rules:
        """The rules in force at an instant."""
        if time < self.began:
            raise ValueError(
                f"at must not be before the ledger began ({self.format_instant(self.began)}), got "
                f"{self.format_instant(time)}"
            )
        return self.history[int(np.searchsorted(self._starts, time, side="right")) - 1]

    def format_instant(self, time: int) -> str:
        """An instant in the ledger's time zone, for sentences."""
        return times.format_instant(time, self.zone)

    def instant(self, when: When, name: str = "at") -> int:
        """The instant of a time, which is one in the ledger's time zone if it names no other."""
        return instant(when, name, self.zone)

    def maybe(self, when: When | None, name: str = "at") -> int | None:
        """The instant of a time that may be left open."""
        return None if when is None else self.instant(when, name)

    def memory_changes_after(self, time: int) -> int | None:
        """The first instant after another at which a memory is in force that was not before, or None."""
        before = self.at(time).remembering
        later = (change.time for change in self.changes if change.time > time)
        return next((at for at in later if self.at(at).remembering != before), None)

    def after(self, change: Change) -> RuleBook:
        """The rule book with one more change."""
        return RuleBook([*self.changes, change])

    def reports_since(self, time: int) -> set[Reports]:
        """How reports count from an instant on."""
        later = zip(self.changes, self.history, strict=True)
        return {self.at(time).reports, *(rules.reports for change, rules in later if change.time > time)}

    def clocks(self, remembering: TimedMemory, names: Sequence[str], participation: Sequence[Participation]) -> Clocks:
        """The clocks of some agents, in steps of a memory."""
        # While another memory was in force, the half-lives that came after it count.
        fading, counts = None, list[Rules]()
        for rules in reversed(self.history):
            fading = rules if fading is None or rules.memory == DISCOUNTED else fading
            counts.insert(0, fading)
        own = {name for rules in counts for name in rules.half_lives}
        columns = names if own else names[:1] or ("",)
        half_lives = [[duration(rules.half_lives.get(name, rules.half_life)) for name in columns] for rules in counts]
        stops = np.array([rules.hold_stops_clock for rules in self.history], dtype=bool)
        table = np.array(half_lives, dtype=float)
        return Clocks(remembering, self._starts, table, stops, self.zone, participation)
