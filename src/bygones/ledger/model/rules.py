r"""The rules of a ledger, and how fast its clocks run.

Rules change from an instant on; a change names only the settings that change. Of a utility received at $s$, the share
$2^{-H(s,t)}$ still counts at $t$, where

$$ H(s, t) = \int_s^t \frac{\mathrm{d}\tau}{h(\tau)} $$

is the number of half-lives between them and $h(\tau)$ the half-life in force at $\tau$. With one half-life this is
$\gamma^{t-s}$. Where the rules say that a hold stops the clock, time on hold is left out of the integral.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, NamedTuple, SupportsFloat, get_args

import numpy as np

from bygones._arrays import AnyArray, check_between, check_one_of
from bygones._times import check_zone
from bygones.allocation.aims import check_form
from bygones.allocation.decide import Rule
from bygones.allocation.pricing import price_form
from bygones.allocation.reports import Reports
from bygones.kinds import Kind, check_kind
from bygones.ledger.model import times
from bygones.ledger.model.times import SECOND, When, duration, instant
from bygones.welfare import named

NEWCOMER_RULES = ("zero", "mean", "median", "entitled share")
"""Newcomer rules by name; a number is accepted as well."""


@dataclass(frozen=True)
class Rules:
    """The rules of a ledger.

    Attributes:
        half_life: the time after which a utility counts half, such as `30d`, `12h` or `never` (`inf`).
        welfare: what decisions maximise, such as `egalitarian`, `nash` or `alpha_fair(alpha=2)`; of burdens
            `egalitarian`, `utilitarian`, `generalized_gini` or `power_burden(p=2)`.
        newcomers: the newcomer rule, the remembered utility that an agent who joins starts with: `zero`, the `mean` or
            `median` of those present per unit of entitlement, the `entitled share` (neither owed nor ahead), or a
            number. Where burdens are handed out, whoever starts with `zero` carries everything until they have caught
            up.
        hold_stops_clock: whether the past of an agent on hold stops fading.
        entitlements: by agent, 1 for those not named. An agent with twice the entitlement is owed, and in the long run
            gets, twice as much. Under utilitarian welfare, which maximises the total whoever gets it, this holds only
            among agents with the same needs. Of burdens it is the share of the load, and 0 is exempt.
        kind: whether `good`s are handed out, or `burden`s. A ledger keeps the kind that it began with; those of before
            there were kinds are about goods.
        reports: whether the needs of a decision count `as-reported`, or `normalised`: as multiples of what the agent
            reported on average in the decisions so far, so that nobody gains by reporting in other units. What is
            received through a decision is then counted in the same multiples.
        rule: how decisions are made, `one-step` or by `prices`, which look ahead. Ledgers of before there were rules
            decide one step at a time.
        time_zone: in which days begin and end, times without a zone are read, and all times are shown, such as
            `Europe/Berlin`. The latest setting holds for the whole ledger.
    """

    half_life: str = "30d"
    welfare: str = "egalitarian"
    newcomers: str = "mean"
    hold_stops_clock: bool = True
    entitlements: Mapping[str, float] = field(default_factory=dict)
    kind: Kind = "good"
    rule: Rule = "one-step"
    reports: Reports = "as-reported"
    time_zone: str = "UTC"

    def __post_init__(self) -> None:
        if not isinstance(self.half_life, str):
            raise ValueError(
                "half_life must be a duration such as '30d', or 'never' if nothing fades, since a ledger remembers by "
                f"half-life, got {self.half_life!r}"
            )
        duration(self.half_life)
        check_kind(self.kind)
        welfare = named(self.welfare)
        if welfare.function is not None:
            raise ValueError(
                "welfare must be the name of a registered welfare such as 'nash', since a ledger stores its rules as "
                f"text, got {self.welfare!r}"
            )
        check_form(welfare, self.kind)
        check_one_of("rule", self.rule, get_args(Rule))
        check_one_of("reports", self.reports, get_args(Reports))
        if self.rule == "prices":
            price_form(welfare)
        object.__setattr__(self, "time_zone", check_zone(self.time_zone))
        object.__setattr__(self, "welfare", str(welfare))
        object.__setattr__(self, "newcomers", check_newcomers(self.newcomers))
        if not isinstance(self.hold_stops_clock, bool):
            raise ValueError(f"hold_stops_clock must be true or false, got {self.hold_stops_clock!r}")
        given = dict(self.entitlements).items()
        weights = {str(name): check_entitlement(weight, name, self.kind) for name, weight in given}
        object.__setattr__(self, "entitlements", MappingProxyType(weights))

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
        if "entitlements" in changes:
            merged["entitlements"] = {**self.entitlements, **changes["entitlements"]}
        return replace(self, **merged)

    def to_dict(self) -> dict[str, Any]:
        """All settings, of the types that JSON has."""
        settings = {setting.name: getattr(self, setting.name) for setting in fields(self)}
        return {**settings, "entitlements": dict(self.entitlements)}

    def entitlements_of(self, names: Sequence[str]) -> np.ndarray:
        """The entitlements of these agents."""
        if not self.entitlements:
            return np.ones(len(names))
        return np.array([self.entitlements.get(name, 1.0) for name in names], dtype=float)


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


class Change(NamedTuple):
    """Settings that change from an instant on; of changes at the same instant, the later event comes last."""

    time: int
    seq: int
    settings: dict[str, Any]


MEMORY_SETTINGS = ("half_life", "hold_stops_clock")
"""Rules on which what is remembered depends."""

NO_RULES = ("draw", "batch")
"""What the details of a rule change may hold besides settings: the commitment to a draw, and what belongs together."""


class RuleBook:
    """All rules of a ledger, past, present and to come, in the order of time.

    Attributes:
        changes: the changes.
        history: the rules after each change.
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
                rules = rules.changed(change.settings)
            except ValueError as error:
                # They were accepted once, so this program lacks something: most likely a welfare of somebody's own.
                raise ValueError(
                    f"event {change.seq} sets rules that this program does not know: {error}. Use the program that set "
                    "them; a welfare function of your own must be registered before the ledger is opened"
                ) from None
            history.append(rules)
        self.history = tuple(history)
        self._starts = np.array([change.time for change in self.changes], dtype=np.int64)
        self._rate = 1.0 / (SECOND * np.array([rules.seconds for rules in history]))
        stopped = np.where([rules.hold_stops_clock for rules in history], self._rate, 0.0)
        set_zone = [change for change in self.changes if "time_zone" in change.settings]
        self.zone: str = max(set_zone, key=lambda change: change.seq).settings["time_zone"] if set_zone else "UTC"
        self._running, self._stopped = _Integral(self._starts, self._rate), _Integral(self._starts, stopped)

    @property
    def began(self) -> int:
        """The instant from which on there are rules, and the ledger."""
        return self.changes[0].time

    def at(self, time: int) -> Rules:
        """The rules in force at an instant."""
        if time < self.began:
            raise ValueError(
                f"at must not be before the ledger began ({self.named(self.began)}), got {self.named(time)}"
            )
        return self.history[int(np.searchsorted(self._starts, time, side="right")) - 1]

    def named(self, time: int) -> str:
        """An instant in the ledger's time zone, for sentences."""
        return times.named(time, self.zone)

    def instant(self, when: When, name: str = "at") -> int:
        """The instant of a time, which is one in the ledger's time zone if it names no other."""
        return instant(when, name, self.zone)

    def maybe(self, when: When | None, name: str = "at") -> int | None:
        """The instant of a time that may be left open."""
        return None if when is None else self.instant(when, name)

    def after(self, change: Change) -> RuleBook:
        """The rule book with one more change."""
        return RuleBook([*self.changes, change])

    def reports_since(self, time: int) -> set[Reports]:
        """How reports count from an instant on."""
        later = zip(self.changes, self.history, strict=True)
        return {self.at(time).reports, *(rules.reports for change, rules in later if change.time > time)}

    def half_lives(self, start: AnyArray, end: AnyArray) -> np.ndarray:
        """$H(s, t)$, elementwise, for a clock that is never stopped."""
        return self._running.between(start, end)

    def half_lives_on_hold(self, start: AnyArray, end: AnyArray) -> np.ndarray:
        """The part of $H(s, t)$ by which a hold from s to t stops the clock."""
        return self._stopped.between(start, end)


class _Integral:
    """The integral of a step function of time."""

    def __init__(self, starts: np.ndarray, rate: np.ndarray) -> None:
        self._starts, self._rate = starts, rate
        self._total = np.concatenate([[0.0], np.cumsum(np.diff(starts) * rate[:-1])])

    def between(self, start: AnyArray, end: AnyArray) -> np.ndarray:
        start, end = np.asarray(start, dtype=np.int64), np.asarray(end, dtype=np.int64)
        if len(self._starts) == 1:
            return np.asarray((end - start) * self._rate[0])
        first, last = (np.searchsorted(self._starts, time, side="right") - 1 for time in (start, end))
        # Within one step the difference of the instants is taken first, which loses no digits however late they are.
        across = self._until(last, end) - self._until(first, start)
        return np.asarray(np.where(first == last, (end - start) * self._rate[first], across))

    def _until(self, step: np.ndarray, time: np.ndarray) -> np.ndarray:
        return np.asarray(self._total[step] + (time - self._starts[step]) * self._rate[step])
