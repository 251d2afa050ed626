"""What the site is made from: pages, links, docstrings and the commands' help. Nothing here needs Sphinx."""

import dataclasses
import importlib
import inspect
import os
import pkgutil
import re
import types
import typing
from pathlib import Path

import pytest
from docs.site import command_pages, docstrings, mending, module_pages, pages

import bygones
from bygones.learn import Settings
from fuzz.generator import commands
from support.guides import DOCS

MODULES = [f"bygones.{module}" for page in module_pages.PAGES.values() for module in page.modules]
WRITTEN = sorted([*DOCS.rglob("*.md"), pages.ROOT / "README.md"])


class TestPages:
    def test_the_contents_name_every_page_once(self):
        named = [name for names in pages.contents().values() for name in names]
        generated = {f"reference/{name}" for name in ("index", *module_pages.PAGES, *command_pages.PAGES)}
        generated |= set(pages.notebooks())
        assert len(named) == len(set(named))
        assert set(named) == (set(pages.sources()) | generated) - {"index"}
        assert set(pages.TITLES) <= set(named)

    def test_a_page_that_the_contents_do_not_name_stands_at_their_end(self, monkeypatch):
        monkeypatch.setitem(pages.SECTIONS, "Concepts", ())
        assert pages.contents()["More"] == [f"concepts/{path.stem}" for path in sorted(DOCS.glob("concepts/*.md"))]

    def test_links_lead_to_what_was_gathered(self, tmp_path):
        pages.gather(tmp_path)
        generated = {tmp_path / "reference" / f"{name}.md" for name in command_pages.PAGES}
        generated |= {tmp_path / f"{name}.md" for name in pages.notebooks()}
        found = 0
        for page in tmp_path.rglob("*.md"):
            text = re.sub(r"^```.*?^```$|`[^`\n]+`", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
            for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
                if not target.startswith("http"):
                    found += 1
                    file = Path(os.path.normpath(page.parent / target))
                    assert file.exists() or file in generated, f"{page}: {target}"
        assert found > 50

    def test_a_link_to_a_module_leads_to_the_reference_and_another_file_is_copied(self, tmp_path):
        page = DOCS / "own-objective.md"
        text = "[a](../src/bygones/paper/optimum.py) [b](../evidence/README.md#x) [c](sql/append-only-role.sql) `[d]`"
        assert pages.translated(text, page, "own-objective", tmp_path) == (
            "[a](#source-bygones.paper.optimum) [b](evidence.md#x) [c](files/docs/sql/append-only-role.sql) `[d]`"
        )
        assert (tmp_path / "files" / "docs" / "sql" / "append-only-role.sql").exists()

    def test_a_link_to_a_folder_is_refused(self, tmp_path):
        with pytest.raises(ValueError, match="a page can link to a file, not to the folder"):
            pages.translated("[a](guides)", DOCS / "rules.md", "rules", tmp_path)

    def test_a_block_that_is_saved_shows_its_name(self, tmp_path):
        text = pages.translated("```csv needs.csv\na,b\n```\n", DOCS / "rules.md", "rules", tmp_path)
        assert text == "```{code-block} text\n:caption: needs.csv\n\na,b\n```\n"


class TestModules:
    def test_every_public_module_of_the_package_has_a_place(self):
        public = {f"bygones.{name}" for name in bygones.__all__ if isinstance(getattr(bygones, name), types.ModuleType)}
        assert public <= set(MODULES)
        assert len(MODULES) == len(set(MODULES))

    def test_every_module_that_a_page_imports_has_a_place(self):
        text = "\n".join(page.read_text("utf-8") for page in WRITTEN)
        imported = set()
        for home, names in re.findall(r"^ *from (bygones[\w.]*) import (.+)$", text, re.MULTILINE):
            below = getattr(importlib.import_module(home), "__path__", ())
            modules = {f"{home}.{each.name}" for each in pkgutil.iter_modules(below)}
            imported |= modules & {f"{home}.{name.strip()}" for name in names.split(",")} or {home}
        assert len(imported) > 15
        assert imported - {"bygones"} <= set(MODULES)


@pytest.fixture(scope="module")
def helps():
    return command_pages.every_command()


def arguments(call):
    """The arguments of a command; options that several commands share are fields of a dataclass."""
    hints = typing.get_type_hints(call)
    for name in inspect.signature(call).parameters:
        if dataclasses.is_dataclass(hints[name]) and hints[name] is not Settings:
            yield from (field.name for field in dataclasses.fields(hints[name]))
        else:
            yield name


class TestCommands:
    def test_every_command_is_there(self, helps):
        assert helps.keys() == commands().keys()

    def test_every_argument_of_a_command_is_there(self, helps):
        for words, call in commands().items():
            shown = [name for box in helps[words].boxes.values() for name, _ in box if not name.startswith("-h,")]
            names = [name.strip("_").replace("_", "-") for name in arguments(call)]
            if words == ("train",):  # every setting is a flag
                names.remove("settings")
                names += [field.name.replace("_", "-") for field in dataclasses.fields(Settings)]
            assert len(shown) == len(names), words

    def test_everything_is_explained(self, helps):
        for words, own in helps.items():
            assert own.about, words
            for name, purpose in (entry for box in own.boxes.values() for entry in box):
                assert purpose, (words, name)

    def test_an_argument_whose_help_begins_on_the_next_line(self):
        text = """usage: bygones x [-h] A

About it.

╭─ options ──────────╮
│ -h, --help  help   │
│ --long {None}|NAME │
│             What   │
│             it is. │
│ --short N   One.   │
│             (default: ) │
╰────────────────────╯
"""
        own = command_pages.parsed(text)
        assert (own.usage, own.about) == ("bygones x [-h] A", "About it.")
        assert own.boxes == {"options": [("-h, --help", "help"), ("--long NAME", "What it is."), ("--short N", "One.")]}

    def test_the_pages_show_text_as_it_is(self, tmp_path):
        command_pages.write(tmp_path)
        page = (tmp_path / "commands.md").read_text("utf-8")
        assert r"'alpha\_fair(alpha=2)'" in page
        assert "## bygones allocate" in page
        assert "## bygones ledger key new" in (tmp_path / "ledger-commands.md").read_text("utf-8")


class TestDocstrings:
    @pytest.mark.parametrize(
        ("docstring", "text"),
        [
            (r"The memory $Z^t$ of `x`.", r"The memory \ :math:`Z^t`\  of `x`."),
            ("Costs $5 and `$x$`.", "Costs $5 and `$x$`."),
            ("Both `good`s.", "Both `good`\\ s."),
            ("Says:\n\n$$ a\n= b $$\n\nand.", "Says:\n\n.. math::\n\n   a = b\n\n\nand."),
            (r"$$ \text{the $k$ largest} $$", ".. math::\n\n   \\text{the }k\\text{ largest}\n"),
            ("One.\n\n    x = 1\n    y = 2\n\nTwo.", "One.\n\n.. code-block:: python\n\n    x = 1\n    y = 2\n\nTwo."),
            ("Args:\n    x: a number.\n\n    y: another.", "Args:\n    x: a number.\n\n    y: another."),
            ("## Rewards\nNone.", "\n.. rubric:: Rewards\n\nNone."),
        ],
    )
    def test_markdown_becomes_restructured_text(self, docstring, text):
        assert docstrings.as_restructured_text(docstring) == text

    def test_a_default_that_is_made_anew_is_an_ellipsis(self):
        given = (None, "class", "X", object, None)
        assert docstrings._signature(*given, "(needs: Needs = <factory>)", None) == ("(needs: Needs = ...)", None)
        assert docstrings._signature(*given, None, None) is None

    def test_what_is_before_a_colon_is_no_type(self):
        lines = ["The rules: `a:b`."]
        docstrings._translate(None, "data", "X", object, None, lines)
        assert ":" not in lines[0]
        docstrings._restore(None, "data", "X", object, None, lines)
        assert lines == ["The rules: `a:b`."]

    def test_a_table_becomes_a_list(self):
        lines = docstrings.as_restructured_text("| a | b |\n|---|---|\n| 1 | 2 |").split("\n")
        assert lines[4:8] == ["   * - a", "     - b", "   * - 1", "     - 2"]


def test_what_scrolls_can_be_reached_and_parts_have_names():
    page = '<aside class="toc-drawer no-toc">'
    page += '<p class="caption" role="heading">A</p><pre>x</pre><th class="head"><p></p></th>'
    assert mending.mended(page) == (
        '<aside aria-label="This page" class="toc-drawer no-toc">'
        '<p class="caption" role="heading" aria-level="2">A</p><pre tabindex="0">x</pre><td></td>'
    )


def test_an_alias_of_a_type_is_its_name():
    name = (
        """<span class="s"><span class="pre">'Number'</span></span><span class="p"><span class="pre">)</span></span>"""
    )
    page = f'<span class="pre">TypeAliasForwardRef</span><span class="p"><span class="pre">(</span></span>{name} | None'
    assert mending.mended(page) == '<span class="pre">Number</span> | None'


def test_that_a_class_is_an_object_is_not_said():
    bases = '<p>Bases: <code class="x"><span class="pre">object</span></code></p>\n'
    other = bases.replace("object", "Memory")
    assert mending.mended(f"<p>a</p>{bases}{other}") == f"<p>a</p>{other}"


def test_the_arguments_of_a_signature_are_no_list_of_definitions():
    page = "<dt>f(<dl>\n<dd>a</dd>\n<dd>b</dd>\n</dl>)</dt><dl><dt>c</dt>\n<dd>d</dd>\n</dl>"
    assert mending.mended(page) == (
        '<dt>f(<span class="arguments"><span class="argument">a</span>\n<span class="argument">b</span>\n</span>)</dt>'
        "<dl><dt>c</dt>\n<dd>d</dd>\n</dl>"
    )


@pytest.mark.parametrize(("value", "is_shown"), [("2", True), ("<b>'a'</b>" * 30, False)])
def test_a_long_value_of_a_constant_is_left_out(value, is_shown):
    equals = '<span class="property"><span class="w"> </span><span class="p"><span class="pre">=</span></span>'
    page = f'<dt>A{equals}<span class="pre">{value}</span></span><a class="headerlink"></a></dt>'
    assert (value in mending.mended(page)) == is_shown
    assert mending.mended(page).endswith('<a class="headerlink"></a></dt>')


def test_an_attribute_and_what_it_is_are_parted_by_a_colon():
    page = "<strong>x</strong> (<em>int</em>) -- a number, <strong>y</strong> -- another, --json"
    assert mending.mended(page) == "<strong>x</strong> (<em>int</em>): a number, <strong>y</strong>: another, --json"
