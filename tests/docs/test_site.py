"""The site as it is built: nothing is missing, links lead somewhere, and it works from a disk without a network."""

import importlib
import inspect
import re
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest

import bygones
from bygones import decay
from support.browser import DESKTOP, PHONE, complaints, opened, overflow, until
from support.guides import DOCS

pytestmark = pytest.mark.soak


LOADS = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src"}
"""The attribute of each kind of element that makes a browser load something."""


class Page(HTMLParser):
    """What a page links to, what it loads, the places in it that can be linked to, and its text."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.ids, self.words = [], [], set(), []
        self._silent = 0
        self.feed(path.read_text(encoding="utf-8"))
        self.text = "".join(self.words)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids |= {found["id"]} if found.get("id") else set()
        self._silent += tag in ("script", "style", "pre", "code")
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if found.get(LOADS.get(tag)):
            self.loaded.append(found[LOADS[tag]])

    def handle_endtag(self, tag):
        self._silent -= tag in ("script", "style", "pre", "code")

    def handle_data(self, data):
        if not self._silent:
            self.words.append(data)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as `make docs` builds it."""
    pytest.importorskip("sphinx", reason="Sphinx is not installed: pip install 'bygones[docs]'")
    pytest.importorskip("furo", reason="furo is not installed: pip install 'bygones[docs]'")
    folder = tmp_path_factory.mktemp("site") / "site"
    command = [sys.executable, "-m", "docs.site.build", str(folder)]
    done = subprocess.run(command, cwd=DOCS.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def parsed(site):
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def public(module):
    """The public names of a module, as Python has them: those that it lists, or those that it defines."""
    home = importlib.import_module(module)
    if hasattr(home, "__all__"):
        return set(home.__all__)
    return {
        name
        for name, value in vars(home).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module and not inspect.ismodule(value)
    }


def methods(module, name):
    """The public methods that a class of a module defines and documents itself."""
    value = getattr(importlib.import_module(module), name)
    if not inspect.isclass(value):
        return set()
    return {
        each
        for each, method in vars(value).items()
        if not each.startswith("_") and (inspect.isfunction(method) or isinstance(method, property)) and method.__doc__
    }


def test_every_public_name_is_in_the_reference(parsed):
    from docs.site import module_pages

    ids = {each for page in parsed.values() for each in page.ids}
    linked = {link.rpartition("#")[2] for page in parsed.values() for link in page.links}
    missing, count = [], 0
    for module in [f"bygones.{each}" for page in module_pages.PAGES.values() for each in page.modules]:
        for name in public(module):
            count += 1
            home = f"{module}.{name}"
            if home in ids:
                missing += [f"{home}.{each}" for each in methods(module, name) if f"{home}.{each}" not in ids]
            elif not any(link.endswith(f".{name}") and link in ids for link in linked):
                missing.append(home)
    assert count > 300
    assert missing == []
    assert {f"bygones.{home}.{name}" for home, names in bygones._NAMES.items() for name in names} <= ids


def test_every_link_leads_somewhere_and_nothing_is_loaded_from_elsewhere(site, parsed):
    assert len(parsed) > 45
    for path, page in parsed.items():
        for target in page.links + page.loaded:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                assert target in page.links or parts.scheme == "data", f"{path} loads {target}"
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert file.is_relative_to(site.resolve()) or file == path, f"{path}: {target}"
            assert file.exists(), f"{path}: {target}"
            if parts.fragment and file.suffix == ".html":
                known = parsed.get(site / file.relative_to(site.resolve()) if parts.path else path)
                assert unquote(parts.fragment) in known.ids | {"top", ""}, f"{path}: {target}"
    for sheet in [*site.rglob("*.css"), *site.rglob("*.js")]:
        assert not re.search(r"""(url\(|@import|fetch\(|src\s*=)\s*["']?https?:""", sheet.read_text("utf-8")), sheet


def test_formulas_are_formulas_and_no_markup_is_left(parsed):
    for path, page in parsed.items():
        if path.stem == "changelog":
            continue
        assert not re.search(r"\$[^$\n]*\\\w+|\\(gamma|sum|frac)\b|:math:|```|\{toctree\}|\]\(\w", page.text), path
    assert sum("<math" in path.read_text("utf-8") for path in parsed) >= 10


@pytest.mark.parametrize(("viewport", "scheme"), [(PHONE, "light"), (DESKTOP, "dark")])
def test_every_page_is_accessible_fits_and_asks_for_nothing(site, parsed, chromium, viewport, scheme):
    found = {}
    for path in parsed:
        with opened(chromium, path, viewport, scheme) as page:
            found[path.name] = complaints(page, preload=False)  # or axe asks for style sheets, which a disk refuses
            if over := overflow(page):
                found[path.name].append(("wider than the window", over))
    assert {name: each for name, each in found.items() if each} == {}


def test_search_works_from_a_disk(site, chromium):
    with opened(chromium, site / "index.html") as page:
        page.fill(".sidebar-search", "newcomer")
        page.press(".sidebar-search", "Enter")
        until(lambda: page.locator("ul.search li a").count() >= 3)
        assert "newcomer" in page.url
        page.click("ul.search li a >> nth=0")
        page.wait_for_url(lambda url: "search.html" not in url)  # and until it is loaded
        assert page.locator("h1").count() == 1


def moved(page, value):
    """The words of the answer, after its slider was moved."""
    page.fill(".live input", str(value))
    return page.inner_text(".live")


class TestLivePictures:
    def test_half_life(self, site, chromium):
        with opened(chromium, site / "concepts" / "half-life.html") as page:
            for days in (1, 7, 30, 90):
                weight, share = 0.5 ** (30 / days), decay.share_of_last(30, half_life=days)
                words = moved(page, days)
                assert f"counts as {8 * weight:.1f} hours" in words
                assert f"hold {100 * share:.0f}% of" in words

    def test_memory(self, site, chromium):
        with opened(chromium, site / "concepts" / "memory.html") as page:
            for days in (2, 14, 60):
                gamma = decay.gamma(half_life=days)
                ana, ben = 8 * gamma**21 + 4 * gamma**2, 9 * gamma**7
                words = moved(page, days)
                assert f"{ana:.1f} h" in words
                assert f"{ben:.1f} h" in words
                assert f"{'Ana' if ana > ben else 'Ben'} has more recent hours" in words

    def test_welfare(self, site, chromium):
        with opened(chromium, site / "concepts" / "welfare.html") as page:
            for ana in (0, 2, 5, 9):
                split = [float(ana), 10.0 - ana]
                values = (bygones.utilitarian(split), bygones.nash(split) ** 0.5, bygones.egalitarian(split))
                words = moved(page, ana)
                assert re.findall(r"\d+\.\d", words) == [f"{value:.1f}" for value in values]

    def test_prices(self, site, chromium):
        memory, people = bygones.PerfectRecall(), ["Ana", "Ben"]
        state = memory.init(2)
        for _ in range(20):
            state = memory.update(state, [3.0, 4.0])
        with opened(chromium, site / "concepts" / "prices.html") as page:
            for need in (0.1, 3.9, 4.1, 8):
                today = bygones.ChooseK([need, 6.0], k=1, agents=people)
                decision = bygones.allocate(today, memory, state, "egalitarian", rule="prices")
                assert f"Prices serve {people[decision.served[0]]}" in moved(page, need)

    def test_burdens(self, site, chromium):
        memory, people = bygones.PerfectRecall(), ["Ana", "Ben", "Cem"]
        state, due = memory.update(memory.init(3), [30, 10, 22]), set()
        night = bygones.ChooseK([10, 10, 10], k=1, kind="burden")
        with opened(chromium, site / "concepts" / "burdens.html") as page:
            for share in (0.2, 0.5, 0.6, 0.7, 1):
                decision = bygones.allocate(night, memory, state, "egalitarian", entitlements=[1, share, 1])
                words, name = moved(page, share), people[decision.served[0]]
                assert f"hours weigh {10 / share:.1f}. {name} is due next" in words
                due.add(name)
        assert due == {"Ben", "Cem"}

    def test_standing(self, site, chromium):
        from docs.site.pictures import USAGE

        with opened(chromium, site / "concepts" / "standing.html") as page:
            for days in (2, 7, 60):
                gamma = decay.gamma(half_life=days)
                remembered = {name: sum(hours * gamma**ago for hours, ago in jobs) for name, jobs in USAGE.items()}
                share, words = sum(remembered.values()) / len(USAGE), moved(page, days)
                for name, value in remembered.items():
                    received, owed = sum(hours for hours, _ in USAGE[name]), f"{abs(share - value):.1f}"
                    row = re.search(rf"\b{name}\s+(\S+)\s+(\S+)\s+[+−]?(\S+)", words)
                    assert row.groups() == (f"{received:.0f}", f"{value:.1f}", owed)
                assert f"{min(remembered, key=remembered.get)} is owed most" in words


def test_the_pictures_that_pages_show_are_drawn_when_the_site_is_built(tmp_path, monkeypatch):
    from docs.site import build, pages

    def draw(folder):
        for picture in folder.iterdir():
            picture.write_text("drawn", encoding="utf-8")

    monkeypatch.setattr(build.pictures, "draw", draw)
    monkeypatch.setattr(build.collapse_note, "draw_figures", draw)
    pages.gather(tmp_path)
    build.draw_pictures(tmp_path)
    shown = {
        page.parent / picture
        for page in tmp_path.rglob("*.md")
        for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page.read_text("utf-8"))
    }
    assert len(shown) >= 9
    assert {picture.read_text("utf-8") for picture in shown} == {"drawn"}


def test_the_kept_pictures_are_those_that_are_drawn(tmp_path):
    """Their words, and their lines and areas up to two points, by which another Matplotlib may shift them."""
    from docs.site import pictures

    def words_and_points(path):
        text = path.read_text("utf-8")
        points = " ".join(re.findall(r'<path d="([^"]*)"', text))
        return re.findall(r"<!-- (.*?) -->", text), [float(number) for number in re.findall(r"-?[\d.]+", points)]

    pictures.draw(tmp_path)
    assert {path.name for path in pictures.FOLDER.iterdir()} == {f"{name}.svg" for name in pictures.PICTURES}
    for path in tmp_path.iterdir():
        (words, points), (kept_words, kept) = map(words_and_points, (path, pictures.FOLDER / path.name))
        assert words == kept_words != [], f"draw {path.name} again"
        assert points == pytest.approx(kept, abs=2), f"draw {path.name} again"
