"""`docs/scenarios.md` runs as it stands, and its table says of every scenario what the scenario says itself."""

import re

from bygones.envs import catalogue
from support.guides import DOCS
from support.walkthrough import walk_through

PAGE = DOCS / "scenarios.md"


def test_the_page_runs(tmp_path):
    walk_through(PAGE, tmp_path)


def test_the_table_lists_every_scenario():
    rows = re.findall(r"^\| `(\w+)` \| `(.+?)` \| .+? \| (.+?) \| (.+?) \|", PAGE.read_text("utf-8"), re.MULTILINE)
    every = {name: catalogue.made(name, {}) for name in catalogue.names()}
    assert [name for name, *_ in rows] == list(every)
    for name, id, policies, bound in rows:
        assert id == catalogue.gymnasium_id(name)
        assert policies == ("mlp" if every[name].n_served is None else "mlp, symmetric")
        assert bound.startswith("none") == (every[name].most() is None)
