"""Three people read a page and say what to do next: who distributes doses, runs a cluster, makes a rota.

The data are made up and lie in `docs/data`. What each page has to say is computed here from the files, by pandas.
"""

import html
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bygones.cli import program

DATA = Path(__file__).parents[2] / "docs" / "data"
DAY = pd.Timedelta(days=1)


def page_of(tmp_path, *arguments):
    """The visible text of the page that the command writes, and the part of it below `In short`."""
    path = tmp_path / "page.html"
    program.main(["audit", *map(str, arguments), "--page", str(path)])
    text = path.read_text(encoding="utf-8")
    body = re.sub(r"<(script|style).*?</\1>", "", text, flags=re.DOTALL)
    plain = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", body)))
    short = plain[: plain.rindex("Where everyone stands")]
    return plain, short


def owed(remembered, weights):
    """What each is owed, the most per unit of entitlement first."""
    missing = weights / weights.sum() * remembered.sum() - remembered
    return missing.loc[(missing / weights).sort_values(ascending=False).index]


def shown(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def test_whoever_distributes_doses_sees_who_is_next_per_head(tmp_path, capsys):
    table = pd.read_csv(DATA / "doses.csv")
    table["week"] = pd.to_datetime(table["week"], format="%m/%d/%Y")
    people = pd.read_csv(DATA / "population.csv").set_index("region")["thousand people"]
    age = (table["week"].max() - table["week"]) / DAY
    doses = table["first doses"] + table["second doses"]
    faded = (doses * 2 ** (-age / 28)).groupby(table["region"]).sum()
    missing = owed(faded, people)
    plain, short = page_of(
        tmp_path, DATA / "doses.csv", "--agent", "region", "--time", "week", "--utility", "first doses,second doses",
        "--entitlements", DATA / "population.csv", "--entitlement-column", "thousand people", "--half-life", "28d",
        "--unit", "doses", "--title", "Doses by region",
    )  # fmt: skip
    first, second = missing.index[:2]
    assert f"serve {first} first (owed {shown(missing[first])} doses, " in short
    assert f" per unit), then {second} (owed" in short
    last = missing.index[-1]
    others = faded[last] / (people[last] / people.sum()) - faded.sum()
    until = f"once the others have received another {shown(others)} doses"
    assert f"{last} is furthest ahead, and level again {until}" in short
    assert f"{first} is owed most per unit of entitlement" in short
    assert "Doses by region" in plain
    assert "Times were read with the month first" in plain
    # Of all, the largest region has most; that is not what being ahead means.
    assert last != faded.idxmax()


def test_whoever_runs_a_cluster_sees_whose_jobs_go_first(tmp_path, capsys):
    jobs = pd.read_csv(DATA / "cluster.txt", sep="|", parse_dates=["Start", "End"])
    gpus = jobs["AllocTRES"].str.extract(r"gres/gpu=(\d+)")[0].astype(float)
    end = jobs["End"].max()
    rate = math.log(2) / 7
    oldest, newest = ((end - jobs[name]) / DAY for name in ("Start", "End"))
    faded = gpus * 24 * (np.exp(-rate * newest) - np.exp(-rate * oldest)) / rate
    remembered = faded.groupby(jobs["User"]).sum()
    weights = pd.Series({"ana": 1 / 3, "ben": 1 / 3, "cem": 1 / 6, "dana": 1 / 6})
    missing = owed(remembered, weights)
    arguments = (DATA / "cluster.txt", "--entitlements", DATA / "shares.txt", "--half-life")
    plain, short = page_of(tmp_path, *arguments, "7d")
    first, second = missing.index[:2]
    assert f"serve {first} first (owed {shown(missing[first])} GPU-hours, " in short
    assert f" per unit), then {second} (owed" in short
    assert f"{missing.index[-1]} is furthest ahead" in short
    assert "fair tree" in plain
    _, short = page_of(tmp_path, *arguments, "3d,7d,30d")
    # Whoever changes sides is named, with the half-life at which it does.
    assert re.search(r"dana is ahead up to a half-life of [\d.]+d, and dana is owed beyond that\.", short)
    capsys.readouterr()
    program.main(["what-if", str(DATA / "cluster.txt"), "--half-life", "3d,7d"])
    # The starts in this log are made up, and no queue would have led to them.
    assert "No users or jobs are named" in capsys.readouterr().out


def test_whoever_makes_a_rota_sees_whose_turn_it_is(tmp_path, capsys):
    table = pd.read_csv(DATA / "rota.csv", parse_dates=["night"])
    load = pd.read_csv(DATA / "load.csv").set_index("name")["share of the load"]
    age = (table["night"].max() - table["night"]) / DAY
    remembered = (table["hours"] * 2 ** (-age / 14)).groupby(table["name"]).sum()
    missing = owed(remembered, load)
    plain, short = page_of(
        tmp_path, DATA / "rota.csv", "--agent", "name", "--time", "night", "--utility", "hours", "--kind", "burden",
        "--entitlements", DATA / "load.csv", "--entitlement-column", "share of the load", "--half-life", "14d",
    )  # fmt: skip
    first, second = missing.index[:2]
    assert f"the next turn is for {first} (due {shown(missing[first])} hours, " in short
    assert f" per unit), then {second} (due" in short
    assert f"{missing.index[-1]} is furthest ahead" in short
    assert "once the others have worked another" in short
    assert "owed" not in plain
    assert "received" not in plain


@pytest.mark.parametrize("name", ["doses.csv", "population.csv", "cluster.txt", "shares.txt", "rota.csv", "load.csv"])
def test_the_data_are_shipped(name):
    assert (DATA / name).stat().st_size > 50
