import re

from bygones.ledger.model import events, rules
from bygones.ledger.storage import schema
from support.guides import DOCS
from support.walkthrough import walk_through

GUIDE = DOCS / "guides" / "keeping-a-ledger.md"


def test_the_guide_backs_up_moves_checks_and_signs(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("BYGONES_AUTHOR", raising=False)
    walk_through(GUIDE, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "ward.db", "quota.db", "ward-2026-01-31.db", "restored.db", "copy.db", "from-python.db", "ward.key", "ward.pub",
        "ward.key.signed", "anchors.jsonl",
    }  # fmt: skip


def test_the_guide_tells_the_rights_that_the_script_grants():
    script = (DOCS / "sql" / "append-only-role.sql").read_text(encoding="utf-8")
    granted = {table: rights for rights, table in re.findall(r"^GRANT ([A-Z, ]+) ON (\w+) TO", script, re.MULTILINE)}
    told = dict(re.findall(r"^\| `(\w+)` \| ([A-Z, ]+) \|", GUIDE.read_text(encoding="utf-8"), re.MULTILINE))
    assert granted == told
    assert set(granted) == set(schema.metadata.tables)
    columns = re.search(r"^GRANT UPDATE \(([a-z_, ]+)\) ON agents TO", script, re.MULTILINE)[1]
    assert set(columns.split(", ")) == set(schema.agents.c.keys()) - {"id", "name"}


def test_the_guide_tells_the_bounds():
    text = GUIDE.read_text(encoding="utf-8")
    assert events.LARGEST == 1e15
    assert rules.ENTITLEMENTS == (1e-9, 1e9)
    assert rules.HALF_LIVES == (1.0, 1000 * 365.25 * 86400)
    for words in (
        "| amount received | 0 | 10¹⁵ |",
        "10⁻⁹ (or 0, exempt from a burden) | 10⁹ |",
        "1 second | 1000 years",
    ):
        assert words in text
