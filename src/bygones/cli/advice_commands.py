"""`bygones advise`: thin. Reads a history, asks for advice, and prints it or writes JSON or a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import arg

from bygones._files import file_name
from bygones.cli.arguments import optional
from bygones.cli.console import progress
from bygones.cli.history_arguments import AnswerOptions, EntitlementOptions, HistoryFiles, HistoryOptions, typed
from bygones.document.terminal import command_line

if TYPE_CHECKING:
    from bygones.audit.advice.recommendation import Recommendation


def advise(
    history: HistoryFiles,
    options: Annotated[HistoryOptions, arg(name="")],
    shares: Annotated[EntitlementOptions, arg(name="")],
    answer: Annotated[AnswerOptions, arg(name="")],
    period: Annotated[
        str | None,
        optional(
            "Time over which shares should even out, such as 30d; if left out, enough for about three turns each.",
            "TIME",
        ),
    ] = None,
    kind: Annotated[
        Literal["good", "burden"] | None,
        optional(
            "Whether the history is about goods, or burdens such as shifts; if left out, as in a ledger's rules, or "
            "good.",
            "{good,burden}",
        ),
    ] = None,
    reports: Annotated[
        Literal["as-reported", "normalised"],
        arg(
            help="normalised: agents report their needs themselves, which then count as multiples of each agent's "
            "average request, and only a rule that is safe against false reports is recommended."
        ),
    ] = "as-reported",
    half_life: Annotated[
        str | None,
        optional("Half-lives to compare, such as 7d,30d,inf; if left out, several around the period.", "LIST"),
    ] = None,
    needs: Annotated[
        str | None, optional("Column with each agent's need; need if left out and there is one.", "COLUMN")
    ] = None,
    served: Annotated[
        str | None,
        optional(
            "Column that shows who was served: 1 or 0, true or false, yes or no; served if left out and there is one.",
            "COLUMN",
        ),
    ] = None,
    utility: Annotated[
        str | None,
        optional(
            "Column with the amount received, if the history does not record who asked; utility if left out.", "COLUMN"
        ),
    ] = None,
    newcomers: Annotated[
        str | None,
        optional(
            "Newcomer rule: zero, mean, median, entitled-share or a number; zero if left out, or that of a ledger.",
            "RULE",
        ),
    ] = None,
    draws: Annotated[
        int, arg(metavar="NUMBER", help="How often each memory and rule is replayed, with different draws among ties.")
    ] = 3,
) -> None:
    """Recommend a half-life and a rule for a history, with reasons and what would change them.

    If the history has the columns need and served, half-lives, other memories and the rules one-step and prices are
    replayed on it. They are compared by what the worst-off quarter of the agents would have received in each period
    (of burdens, by what the quarter with the most would have worked). If nothing is clearly better than the simplest
    choice, the simplest is recommended.

    For example:
        bygones advise requests.csv
        bygones advise nights.csv --kind burden --agent nurse --time date --needs hours --served worked
        bygones advise requests.csv --period 90d --reports normalised --page advice.html
    """
    from bygones.audit import advise as recommend

    answer.check(history, shares.entitlements)
    columns = {"needs": needs, "served": served, "utility": utility}
    with options.read(history, **columns, look_for_needs=True) as events, ExitStack() as bar:
        entitled = shares.read(events, options.agent, kind)
        advice = recommend(
            events, period=period, half_lives=None if half_life is None else half_life.split(","),
            reported=reports == "normalised", newcomers=newcomers,
            entitlements=None if entitled is None else entitled.entitlements,
            others=shares.others, kind=kind, draws=draws, advance=_shown(bar),
        )  # fmt: skip
    same = typed(options, shares, **columns)
    commands = next_commands(advice, history, same)
    # A page is shared, so its commands name files without their folders.
    shared = advice.document(next_commands(advice, list(map(file_name, history)), same))
    answer.show(advice.document(commands), advice.to_dict() | {"next": commands}, "advise", shared)


def next_commands(advice: Recommendation, history: Sequence[str], same: Sequence[str]) -> dict[str, str]:
    """The commands to type next, by their purpose.

    Args:
        advice: the advice.
        history: the history, in the words that were typed.
        same: the options about its columns and entitlements, which `bygones what-if` takes as well.
    """
    kind = ["--kind", "burden"] if advice.kind == "burden" else []
    rule = ["--rule", advice.rule] if advice.rule != "one-step" else []
    commands = {}
    if advice.is_ledger:
        commands["To begin with it"] = ["ledger", "rules", history[0], "--half-life", advice.takes]
    elif advice.is_log:
        half_lives = f"{advice.takes},inf"
        commands["To see which jobs would have started earlier"] = [
            "what-if", *history, *same, "--half-life", half_lives,
        ]  # fmt: skip
    elif advice.clock.steps:
        commands["To decide with it"] = [
            "allocate", "needs.csv", "--history", "past.csv", "--half-life", advice.takes, *rule, *kind,
        ]  # fmt: skip
    else:
        reports = ["--reports", "normalised"] if advice.reported else []
        commands["To begin with it"] = ["ledger", "new", "team.db", "--half-life", advice.takes, *rule, *kind, *reports]
    if advice.was_replayed:
        commands["To see what it would have changed, and for whom"] = [
            "what-if", *history, *same, "--half-life", advice.takes, *rule, *kind,
            "--newcomers", advice.newcomers, "--page", "what-if.html",
        ]  # fmt: skip
    elif not advice.is_ledger:
        who = "To see who is due" if advice.kind == "burden" else "To see who is owed what"
        commands[who] = [
            "audit", *history, *same, *kind, "--half-life", advice.takes, "--newcomers", advice.newcomers,
            *(["--gone-after", advice.gone_after] if advice.gone_after else []), "--page", "audit.html",
        ]  # fmt: skip
    return {purpose: command_line(words) for purpose, words in commands.items()}


def _shown(bar: ExitStack) -> Callable[[float], None]:
    """Shows how much is done in a progress bar, which appears when there is something to show."""
    percent, advance = 0, None

    def show(done: float) -> None:
        nonlocal percent, advance
        advance = advance or bar.enter_context(progress("Replaying", total=100))
        percent, before = round(100 * done), percent
        advance(percent - before)

    return show
