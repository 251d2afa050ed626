import re
from pathlib import Path

import pytest

from bygones.cli import program
from bygones.paper.results import writing
from support.evidence_page import as_own, some_evidence


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    with writing(folder) as writer:
        writer.add_table(as_own(some_evidence()).where(welfare="nash").table)
    return folder


def runs(path):
    return re.search(r"This page shows the results of ([\d,]+) training runs", path.read_text(encoding="utf-8"))[1]


@pytest.mark.soak
def test_a_report_of_own_runs(capsys, tmp_path, own):
    program.main(
        ["report", str(own), "--evidence", str(tmp_path / "nowhere"), "--out", str(tmp_path / "new" / "mine.html")]
    )
    assert "wrote" in capsys.readouterr().out
    assert runs(tmp_path / "new" / "mine.html") == "15"


def test_own_runs_beside_a_set_of_evidence(tmp_path, own):
    sets = tmp_path / "sets"
    sets.mkdir()
    (sets / "tenfold").symlink_to(Path("evidence/grid/tenfold").resolve())
    program.main(["report", str(own), "--evidence", str(sets), "--out", str(tmp_path / "both.html")])
    assert runs(tmp_path / "both.html") == "55"


def test_a_part_of_the_evidence_is_no_ones_own(tmp_path):
    program.main(["report", "evidence/grid/tenfold", "--out", str(tmp_path / "part.html")])
    assert runs(tmp_path / "part.html") == "40"
    assert '"origin":"own"' not in (tmp_path / "part.html").read_text(encoding="utf-8")


def test_nothing_to_report_is_one_sentence(capsys, tmp_path):
    with pytest.raises(SystemExit) as stop:
        program.main(["report", "--evidence", str(tmp_path / "nowhere"), "--out", str(tmp_path / "none.html")])
    assert stop.value.code == 2
    assert "a report needs at least one run" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
