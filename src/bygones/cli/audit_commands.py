"""`bygones audit`: thin. Reads a history, audits it, and prints the answer or JSON, or writes a page."""

from __future__ import annotations

from typing import Annotated, Literal

from tyro.conf import arg

from bygones.cli.arguments import optional
from bygones.cli.history_arguments import AnswerOptions, EntitlementOptions, HistoryFiles, HistoryOptions


def audit(
    history: HistoryFiles,
    options: Annotated[HistoryOptions, arg(name="")],
    shares: Annotated[EntitlementOptions, arg(name="")],
    answer: Annotated[AnswerOptions, arg(name="")],
    utility: Annotated[
        str | None,
        optional(
            "Column with the amount received, several to add up with their weights, such as first=1,booster=0.5, or a "
            "product such as 'cpus*run_time'; utility if left out.",
            "COLUMN",
        ),
    ] = None,
    start: Annotated[
        str | None,
        optional(
            "Column with the time at which usage began, if it lasted until --time; it is spread evenly in between.",
            "COLUMN",
        ),
    ] = None,
    half_life: Annotated[
        str | None,
        optional(
            "Half-lives to compare: durations such as 1d,7d,30d,inf, or numbers of steps if times are step numbers.",
            "LIST",
        ),
    ] = None,
    kind: Annotated[
        Literal["good", "burden"] | None,
        optional(
            "Whether the history is about goods, or about burdens such as shifts; if left out, as in a ledger's rules, "
            "or good.",
            "{good,burden}",
        ),
    ] = None,
    newcomers: Annotated[
        str | None,
        optional(
            "Newcomer rule for agents who join later: zero, mean, median, entitled-share or a number; zero if left "
            "out, or the rule of a ledger.",
            "RULE",
        ),
    ] = None,
    gone_after: Annotated[
        str | None, optional("An agent without an event for this long counts as away; never if left out.", "DURATION")
    ] = None,
    needs: Annotated[
        str | None,
        optional(
            "Column with each agent's need. With --served, also compares the decisions with the rule's.", "COLUMN"
        ),
    ] = None,
    served: Annotated[
        str | None, optional("Column that shows who was served: 1 or 0, true or false, yes or no.", "COLUMN")
    ] = None,
    welfare: Annotated[
        str, arg(metavar="WELFARE", help="Welfare that the rule maximises, with --needs.")
    ] = "egalitarian",
    every: Annotated[
        str | None,
        optional(
            "Length of a period, such as 7d; if left out, a round length that gives at most 60 periods.", "DURATION"
        ),
    ] = None,
    at: Annotated[str | None, optional("Moment of the audit; the time of the last event if left out.", "TIME")] = None,
    refine: Annotated[
        Literal["yes", "no"] | None,
        optional(
            "Whether to search for the half-lives at which conclusions flip; by default yes, up to ten million events.",
            "{yes,no}",
        ),
    ] = None,
    threads: Annotated[
        int | None, optional("Number of threads that DuckDB may use; all if left out.", "NUMBER")
    ] = None,
    memory_limit: Annotated[
        str, arg(metavar="SIZE", help="Memory that DuckDB may use before it spills to disk.")
    ] = "3GB",
    unit: Annotated[str | None, optional("Unit of the amounts, such as doses or hours.", "TEXT")] = None,
    note: Annotated[
        tuple[str, ...] | None, optional("Notes for the reader, each in quotes.", "TEXT [TEXT ...]")
    ] = None,
) -> None:
    """Audit a history under several half-lives: who is owed (or due), since when, and which conclusions hold.

    For example:
        bygones audit history.csv
        bygones audit monday.csv tuesday.csv --where 'state=COMPLETED'
        bygones audit rides.parquet --agent driver --time at --utility fare --half-life 1d,7d,30d,inf
        bygones audit sacct.txt --format sacct --time-zone Europe/Berlin --page audit.html
        bygones audit requests.csv --needs need --served served --welfare nash
        bygones audit shifts.csv --kind burden
    """
    from bygones.audit import audit as run_audit

    answer.check(history, shares.entitlements)
    with options.read(
        history, utility=utility, start=start, needs=needs, served=served, threads=threads, memory=memory_limit
    ) as events:
        audited = run_audit(
            events, None if half_life is None else half_life.split(","),
            entitlements=shares.read(events, options.agent, kind), others=shares.others, newcomers=newcomers,
            title=answer.title or "", unit=unit or "", remarks=note or (), gone_after=gone_after, every=every, at=at,
            welfare=welfare, kind=kind, refine=None if refine is None else refine == "yes",
        )  # fmt: skip
    answer.show(audited.document(), audited.to_dict(), "audit")
