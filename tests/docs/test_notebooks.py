"""The notebooks run in an empty folder, and what comes out is what their text says."""

import ast
import base64
import json
import re
import struct
from types import SimpleNamespace

import pytest
from docs.site import pages

from bygones import _notebook
from support.guides import DOCS, run_guide
from support.reading_html import Read

NOTEBOOKS = pages.notebooks()
PRIVATE = re.compile(r"(?:^|\.)_(?!_)")


def cells(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


@pytest.mark.parametrize("path", NOTEBOOKS.values(), ids=list(NOTEBOOKS))
class TestStored:
    def test_without_outputs(self, path):
        for cell in cells(path):
            assert cell.get("outputs", []) == []
            assert cell.get("execution_count") is None

    def test_with_public_names_only(self, path):
        code = ast.parse("\n".join("".join(cell["source"]) for cell in cells(path) if cell["cell_type"] == "code"))
        imported = [node.module for node in ast.walk(code) if isinstance(node, ast.ImportFrom)]
        used = [node.attr for node in ast.walk(code) if isinstance(node, ast.Attribute)]
        named = [alias.name for node in ast.walk(code) if isinstance(node, ast.ImportFrom) for alias in node.names]
        assert [name for name in (*imported, *used, *named) if PRIVATE.search(name)] == []

    def test_in_lines_that_fit_a_page(self, path):
        for cell in cells(path):
            longest = {"code": 92, "markdown": 120}[cell["cell_type"]]
            assert [line for line in "".join(cell["source"]).splitlines() if len(line) > longest] == []

    def test_with_links_that_lead_somewhere(self, path):
        text = "\n".join("".join(cell["source"]) for cell in cells(path) if cell["cell_type"] == "markdown")
        links = re.findall(r"\]\(([^)#\s]+)\)", text)
        assert links
        assert [link for link in links if not (path.parent / link).exists()] == []


class Outputs:
    """What a notebook printed and showed."""

    def __init__(self, name, folder):
        from docs.site.notebook_pages import executed

        self.cells = [cell for cell in executed(NOTEBOOKS[f"notebooks/{name}"], folder).cells if "outputs" in cell]
        every = [output for cell in self.cells for output in cell.outputs]
        self.printed = "".join(output.text for output in every if output.get("name") == "stdout")
        self.complaints = "".join(output.text for output in every if output.get("name") == "stderr")
        self.cards = [output.data["text/html"] for output in every if "text/html" in output.get("data", {})]
        self.pictures = [
            base64.b64decode(output.data["image/png"]) for output in every if "image/png" in output.get("data", {})
        ]

    def numbers(self, pattern):
        """The numbers in the printed lines that match."""
        return [tuple(map(float, found.groups())) for found in re.finditer(pattern, self.printed)]

    def check_pictures(self, count):
        """That there are so many pictures, all of a readable size and with words for those who do not see them."""
        assert len(self.pictures) == count
        for picture in self.pictures:
            assert picture.startswith(b"\x89PNG")
            width, height = struct.unpack(">II", picture[16:24])
            assert 500 < width < 1500
            assert height > 200
        shown = [cell for cell in self.cells if any("image/png" in output.get("data", {}) for output in cell.outputs)]
        assert all(len(cell.metadata["alt"]) > 40 for cell in shown)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    pytest.importorskip("nbclient", reason="nbclient is not installed: pip install 'bygones[docs]'")
    return lambda name: Outputs(name, tmp_path_factory.mktemp(name))


@pytest.mark.soak
def test_the_paper(run):
    done = run("the-paper")
    assert done.complaints == ""
    discounted, recall, runs = done.cards
    assert "counts half after 7 steps" in discounted
    assert "without a known limit" in recall
    assert "60 runs" in Read(runs).text
    done.check_pictures(2)
    waits = done.numbers(r"Alice gets nothing in +(\d+) steps and ends +([\d.]+) ahead")
    assert [wait for wait, _ in waits] == [0, 4, 6, 8, 9]
    assert waits[0][1] == 15
    assert waits[-1][1] == 0
    myopic, discounted, recall = done.numbers(r"Gini ([\d.]+)  utility per step ([\d.]+)")
    assert myopic[0] > 0.4 > 0.06 > max(discounted[0], recall[0])
    assert min(discounted[1], recall[1]) > 0.94 * myopic[1]
    assert "100 (γ = 0.99) 100,000 (perfect recall)" in done.printed
    (plain, plain_recall), (relative, relative_recall) = (
        [gini for (gini,) in done.numbers(rf"observation scale {scale} .*Gini ([\d.]+)")]
        for scale in ("none", "relative")
    )
    assert plain < 0.1 < 0.6 < plain_recall
    assert max(relative, relative_recall) < 0.05


@pytest.mark.soak
def test_your_environment(run):
    done = run("your-environment")
    assert done.complaints == ""
    assert "at most 14.9 if no utility is above 1" in done.cards[0]
    assert "reward: 0.1" in done.printed
    done.check_pictures(1)
    plain, fair, blind = done.numbers(r"north +([\d.]+)  south +([\d.]+)  Gini ([\d.]+)")
    assert plain[0] > 180 > 10 > plain[1]
    assert fair[2] < 0.1
    assert min(fair[:2]) > 60
    assert sum(fair[:2]) < sum(plain[:2])
    assert min(blind[:2]) == 0
    assert blind[2] == 0.5


@pytest.mark.soak
def test_audit_your_history(run):
    done = run("audit-your-history")
    assert done.complaints == ""
    audit, advice, standing, proposal = (Read(card).text for card in done.cards)
    done.check_pictures(1)
    for words in (
        "Cem and Dora are owed.",
        "Ana and Ben are ahead.",
        "Ana comes before Ben up to a half-life of 35.3d, and Ben comes before Ana beyond that.",
    ):
        assert words in audit
    assert "the rule one-step" in advice
    assert re.search(r"Cem is next.*Cem.*Dora.*Ana.*Ben.*half after 14 days.*2026-05-31", standing)
    assert "Cem gets the place on 31 May 2026: lowest recent total of the three who asked." in proposal


PROGRESS = """
import time
from types import SimpleNamespace
from bygones.cli.console import progress
from bygones.learn import Settings, RunProgress
from bygones.learn.logging import to_screen
from bygones.paper.grid import grid
from bygones.paper.progress import Tracker, watched

with progress("Replaying <b>", 500) as advance:
    for _ in range(500):
        advance()
        time.sleep(0.001)
runs = grid("quick", horizon=(100,)).runs()
with watched() as tell:
    tracker = Tracker(runs, 2, tell)
    for steps in range(0, 250_001, 1000):
        tracker.heard(0, steps, 0.5)
    tell(tracker.now())
small = Settings(total_steps=4096)
watch = to_screen(small)
for steps in (2048, 4096):
    watch(RunProgress((0,), steps, 4096, ({"gini": [0.25]},)))
"""


@pytest.mark.soak
def test_progress_is_a_line_that_changes_in_place(tmp_path):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed: pip install 'bygones[docs]'")
    from docs.site.notebook_pages import executed

    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(PROGRESS)])
    nbformat.write(made, tmp_path / "progress.ipynb")
    outputs = executed(tmp_path / "progress.ipynb", tmp_path).cells[0].outputs
    assert [output.output_type for output in outputs] == ["display_data"] * 3
    first, second, third = (Read(output.data["text/html"]).text.strip() for output in outputs)
    assert first == "100% Replaying <b>, 500 of 500"
    assert re.match(r"\d+% 2/12 runs, 0.2 of 10.0 million steps", second)
    assert third == "100% 4,096 of 4,096 steps, Gini 0.25"


def test_outside_a_notebook_there_is_no_notebook():
    assert not _notebook.is_notebook()


@pytest.mark.parametrize(("share", "shown"), [(0.25, "25% a &lt;b&gt;"), (-1, "0% a"), (2, "100% a")])
def test_a_line_of_progress(share, shown):
    assert shown in _notebook.progress_html(share, "a <b>")


def test_a_line_changes_now_and_then_and_at_the_end(monkeypatch):
    told = []
    clock = iter([0.0, 0.1, 0.3, 0.35])
    monkeypatch.setattr(_notebook, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    line = _notebook.ProgressLine.__new__(_notebook.ProgressLine)
    line._changed = None
    line._handle = type("Handle", (), {
        "display": lambda self, content, raw: told.append(("new", content["text/plain"])),
        "update": lambda self, content, raw: told.append(("again", content["text/plain"])),
    })()  # fmt: skip
    for share in (0.1, 0.2, 0.3, 1.0):
        line.show(share, "done")
    assert told == [("new", "10% done"), ("again", "30% done"), ("again", "100% done")]


def test_the_page_about_notebooks_is_true(capsys):
    run_guide(DOCS / "notebooks.md")
    assert capsys.readouterr().out == "1\n"
