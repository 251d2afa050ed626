"""The report in a real browser: charts are drawn, controls change them, and its numbers are the library's."""

import itertools

import numpy as np
import pytest

from bygones.paper import examples
from bygones.paper.grid import SCALES, WELFARES
from bygones.paper.judging import PROTOCOL
from bygones.paper.paper_claims import PAPER_CLAIMS
from bygones.paper.untrained import RULES
from bygones.report.paper.packing import METRICS
from bygones.report.paper.paper_page import HALF_LIVES, write_report
from bygones.report.paper.rule_lines import RULE_LOOK
from support.browser import DESKTOP, PHONE, complaints, opened, overflow, until
from support.evidence_page import as_own, evidence, memory_of

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def results():
    return evidence()


@pytest.fixture(scope="module")
def path(tmp_path_factory, results):
    return write_report(tmp_path_factory.mktemp("report") / "report.html", as_own(results), results)


@pytest.fixture(scope="module")
def of_evidence(tmp_path_factory, results):
    return write_report(tmp_path_factory.mktemp("report") / "report.html", None, results)


def test_a_page_of_all_the_evidence_is_small_enough(path):
    assert path.stat().st_size < 8_000_000


def see(page, selector):
    """Brings an element into view and waits until its chart is drawn."""
    element = page.locator(selector)
    element.scroll_into_view_if_needed()
    element.locator("svg").first.wait_for()
    return element


def drawn(page, selector):
    """What a chart shows: names and numbers of its traces."""
    return page.locator(selector).evaluate(
        "chart => chart.data.map(({name, mode, x, y, marker}) => ({name, mode, x, y, symbol: marker && marker.symbol}))"
    )


def named_rules(page, selector):
    """The rules whose names stand beside the ends of their lines."""
    texts = page.locator(selector).evaluate("chart => chart.layout.annotations.map(({text}) => text)")
    return sorted(name for text in texts for name in text.split("<br>"))


def overlapping(boxes):
    """Pairs of boxes, one above the other, that share some height."""
    ordered = sorted(boxes, key=lambda box: box["y"])
    return [(a, b) for a, b in itertools.pairwise(ordered) if a["y"] + a["height"] > b["y"] + 1]


def dots(traces, symbol=None):
    return sum(len(one["y"]) for one in traces if one["mode"] == "markers" and one["symbol"] == symbol)


def test_the_first_charts_show_every_run(chromium, path, results):
    cell = {"aggregation": "additive", "observation_scale": "none"}
    with opened(chromium, path) as page:
        for number, welfare in enumerate(WELFARES):
            runs = results.where(**PROTOCOL, **cell, welfare=welfare, gamma=(0.0, 0.99, 1.0))
            shared = results.where(**{**PROTOCOL, "policy": "symmetric"}, **cell, welfare=welfare, gamma=1.0)
            assert len(shared) == {"egalitarian": 50, "nash": 140}[welfare]
            chart = see(page, f"[data-runs] >> nth={number}")
            assert chart.locator("path.point").count() > 150
            traces = drawn(page, f"[data-runs] >> nth={number}")
            assert dots(traces) == len(runs) + len(shared)
            assert dots(traces, "diamond") == 3 * 3


def test_own_runs_alone_are_drawn_as_any_and_named_in_the_legend(chromium, tmp_path, results):
    with opened(chromium, write_report(tmp_path / "own.html", as_own(results))) as page:
        chart = see(page, "[data-runs] >> nth=0")
        assert chart.locator(".legendtext").all_text_contents() == [
            "myopic",
            "past-discounted, γ = 0.99",
            "perfect recall",
            "best stationary policy",
        ]
        assert sorted(
            " ".join(
                chart.locator(".annotation-text tspan, .annotation-text:not(:has(tspan))").all_text_contents()
            ).split()
        ) == sorted(RULE_LOOK)
        assert dots(drawn(page, "[data-runs] >> nth=0")) == 3 * 3
        named = see(page, "[data-part=chart]").locator(".legendtext").all_text_contents()
        assert {"myopic", "γ = 0.99", "perfect recall"} <= set(named)


def test_every_chart_is_drawn_without_scrolling(chromium, of_evidence):
    """A capture of the whole page scrolls nowhere; only the curves in a closed part are left."""
    with opened(chromium, of_evidence) as page:
        charts = page.locator(".chart:visible")
        until(lambda: all(charts.nth(number).locator("svg").count() for number in range(charts.count())))
        assert charts.count() > 5
        assert page.evaluate("window.scrollY") == 0


def test_a_link_to_a_claim_opens_it(chromium, of_evidence):
    with opened(chromium, of_evidence) as page:
        page.locator(".sentences a[href='#C6a']").first.click()
        until(lambda: page.locator("#C6a").evaluate("claim => claim.open"))


@pytest.mark.parametrize("chart", [0, 1])
def test_names_of_rules_do_not_overlap(chromium, path, chart):
    """Their own runs take a line of the legend, which leaves the charts least height."""
    with opened(chromium, path) as page:
        labels = see(page, f"[data-runs] >> nth={chart}").locator(".annotation-text").all()
        assert labels
        assert not overlapping([label.bounding_box() for label in labels])


def test_charts_by_scale_show_every_scale(chromium, path, results):
    with opened(chromium, path) as page:
        chart = see(page, "[data-runs] >> nth=2")
        assert set(RULE_LOOK) <= {one["name"] for one in drawn(page, "[data-runs] >> nth=2")}
        assert named_rules(page, "[data-runs] >> nth=2") == sorted(RULE_LOOK)
        labels = [text.replace(" ", "") for text in chart.locator(".xtick").all_text_contents()]
        assert labels == [words.removeprefix("memory ").replace(" ", "") for words in SCALES.values()]
        cell = {"welfare": "egalitarian", "aggregation": "additive", "horizon": 10000, "gamma": (0.99, 1.0)}
        assert dots(drawn(page, "[data-runs] >> nth=2")) == len(results.where(**PROTOCOL, **cell))


def test_each_choice_changes_the_chart_and_its_description(chromium, of_evidence):
    choices = {
        "welfare": "nash",
        "aggregation": "averaged",
        "observation_scale": "relative",
        "metric": "utility_least",
        "variant": "dₜ observed",
    }
    with opened(chromium, of_evidence) as page:
        see(page, "[data-part=chart]")
        for name, value in choices.items():
            before = drawn(page, "[data-part=chart]")
            described = page.locator("#chooser [data-part=description]").text_content()
            page.locator(f"select[name={name}]").select_option(value)
            assert drawn(page, "[data-part=chart]") != before
            assert page.locator("#chooser [data-part=description]").text_content() != described
            assert page.locator(f"select[name={name}]").input_value() == value


def test_a_choice_that_was_not_run_leads_to_the_nearest_that_was(chromium, of_evidence):
    with opened(chromium, of_evidence) as page:
        see(page, "[data-part=chart]")
        page.locator("select[name=welfare]").select_option("nash")
        page.locator("select[name=variant]").select_option("λ = 0.9")
        assert page.locator("select[name=welfare]").input_value() == "egalitarian"
        assert page.locator("select[name=aggregation]").input_value() == "averaged"
        page.locator("select[name=welfare]").select_option("nash")
        assert page.locator("select[name=variant]").input_value() != "λ = 0.9"


@pytest.mark.parametrize("metric", [metric.name for metric in METRICS])
def test_the_chart_and_its_table_show_the_results(chromium, of_evidence, results, metric):
    with opened(chromium, of_evidence) as page:
        see(page, "[data-part=chart]")
        page.locator("select[name=welfare]").select_option("nash")
        page.locator("select[name=observation_scale]").select_option("window")
        page.locator("select[name=metric]").select_option(metric)
        traces = drawn(page, "[data-part=chart]")
        assert ("best possible" in [one["name"] for one in traces]) == (metric not in ("gini", "utility_most"))
        assert set(RULE_LOOK) <= {one["name"] for one in traces}
        assert named_rules(page, "[data-part=chart]") == sorted(RULE_LOOK)
        described = page.locator("#chooser [data-part=description]").text_content()
        assert all(f"{rule} without training: " in described for rule in RULE_LOOK)
        page.locator("#chooser details").first.locator("summary").click()
        table = page.locator("[data-part=numbers]")
        assert table.locator("tbody th").all_text_contents()[5:] == [f"{rule}, without training" for rule in RULES]
        if metric == "share":
            return
        runs = results.where(
            **PROTOCOL, welfare="nash", aggregation="additive", observation_scale="window", gamma=1.0, horizon=10000
        )  # fmt: skip
        values = runs[f"final_{metric}"]
        shown = [one for one in traces if one["mode"] == "markers"][-1]["y"][-10:]
        np.testing.assert_allclose(sorted(shown), sorted(values), rtol=1e-6)
        cell = table.locator("tbody tr").nth(4).locator("td").last.text_content().replace("−", "-")
        assert float(cell.split(" ")[0]) == pytest.approx(values.mean(), rel=0.006)


def test_training_curves_on_demand(chromium, path, results):
    with opened(chromium, path) as page:
        see(page, "[data-part=chart]")
        assert page.locator("[data-part=curve-chart] svg").count() == 0
        page.locator("[data-part=curves] > summary").click()
        see(page, "[data-part=curve-chart]")
        few = drawn(page, "[data-part=curve-chart]")
        assert set(RULE_LOOK) <= {one["name"] for one in few}
        assert named_rules(page, "[data-part=curve-chart]") == sorted(RULE_LOOK)
        last = next(one for one in few if one["name"] == "perfect recall")["y"][-1]
        cell = results.where(**PROTOCOL, observation_scale="none", welfare="egalitarian", aggregation="additive",
                             gamma=1.0, horizon=10000)  # fmt: skip
        _, curves = cell.curves("gini")
        low, high = np.sort(curves[:, -2:].mean(axis=0))
        assert 0.95 * low <= last <= 1.05 * high
        page.locator("[data-part=every-seed]").check()
        every = results.where(**PROTOCOL, observation_scale="none", welfare="egalitarian", aggregation="additive",
                              horizon=10000)  # fmt: skip
        assert len(drawn(page, "[data-part=curve-chart]")) == len(few) + len(every) + 5
        page.locator("select[name=horizon]").select_option("100")
        assert drawn(page, "[data-part=curve-chart]") != few
        page.locator("select[name=metric]").select_option("utility_least")
        assert "Only final values were stored" in page.locator("[data-part=curve-note]").text_content()


def test_hovering_a_dot_tells_its_number(chromium, path):
    with opened(chromium, path) as page:
        see(page, "[data-part=chart]")
        page.locator("[data-part=chart] path.point").nth(20).hover(force=True)
        page.locator("[data-part=chart] .hoverlayer text").first.wait_for()
        assert "seed" in page.locator("[data-part=chart] .hoverlayer").text_content()


@pytest.mark.parametrize("example", list(examples.EXAMPLES))
def test_the_sliders_numbers_are_the_librarys(chromium, path, example):
    with opened(chromium, path) as page:
        see(page, "[data-part=lead-chart]")
        page.locator(f"input[name=example][value={example}]").check()
        slider = page.locator("[data-part=half-life]")
        for stop in (0, 1, 4, 12, 17, 23, len(HALF_LIVES) - 2, len(HALF_LIVES) - 1):
            slider.fill(str(stop))
            memory = memory_of(HALF_LIVES[stop])
            history = examples.run(examples.EXAMPLES[example], memory)
            shown = {
                name: float(page.locator(f"[data-part={name}]").get_attribute("data-value"))
                for name in ("gamma", "alice", "bob", "lead", "perceived")
            }
            expected = [memory.gamma, *history.cumulative[-1], history.difference[-1], history.perceived_difference[-1]]
            np.testing.assert_allclose(list(shown.values()), expected, rtol=1e-9, atol=1e-12)
            lead, perceived = (drawn(page, f"[data-part={name}-chart]")[-1] for name in ("lead", "perceived"))
            np.testing.assert_allclose(lead["y"], history.difference, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(perceived["y"], history.perceived_difference, rtol=1e-9, atol=1e-12)
            owners = page.locator(".handed-out .row").evaluate_all(
                "rows => rows.map((row) => [...row.querySelectorAll('.square')].map((one) => one.textContent))"
            )
            assert owners == [["AB"[owner] for owner in column] for column in history.owners.T]


def test_the_slider_answers_to_the_keyboard(chromium, path):
    with opened(chromium, path) as page:
        see(page, "[data-part=lead-chart]")
        page.locator("[data-part=half-life]").focus()
        before = page.locator("[data-part=gamma]").get_attribute("data-value")
        page.keyboard.press("ArrowRight")
        assert page.locator("[data-part=gamma]").get_attribute("data-value") != before
        assert "A half-life of 8 steps" in page.locator("[data-part=half-life]").get_attribute("aria-valuetext")
        page.keyboard.press("End")
        assert page.locator("[data-part=in-words]").text_content() == "Perfect recall: the half-life is inf."


def test_claims_open_from_the_keyboard(chromium, path):
    with opened(chromium, path) as page:
        page.locator("#C3 > summary").focus()
        page.keyboard.press("Enter")
        assert page.locator("#C3").get_attribute("open") is not None
        assert page.locator("#C3 svg.seeds").first.is_visible()


def test_the_tab_key_reaches_every_control(chromium, path):
    with opened(chromium, path) as page:
        reached = set()
        for _ in range(200):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.name || document.activeElement.parentElement.id"))
        names = {claim.name for claim in PAPER_CLAIMS}
        names |= {"welfare", "aggregation", "observation_scale", "metric", "variant", "example"}
        assert names <= reached


def test_every_control_has_a_name(chromium, path):
    with opened(chromium, path) as page:
        unnamed = page.evaluate(
            "[...document.querySelectorAll('select, input, [role=img]')].filter((one) =>"
            " !(one.ariaLabel || (one.labels && one.labels.length))).map((one) => one.outerHTML.slice(0, 80))"
        )
        assert unnamed == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_it_without_scrolling_sideways(chromium, path, scheme):
    with opened(chromium, path, PHONE, scheme) as page:
        page.locator("#C1a > summary").click()
        see(page, "[data-part=chart]")
        page.locator("[data-part=curves] > summary").click()
        see(page, "[data-part=curve-chart]")
        see(page, "[data-part=perceived-chart]")
        assert overflow(page) == 0


@pytest.mark.parametrize(("viewport", "scheme"), [(DESKTOP, "light"), (DESKTOP, "dark"), (PHONE, "light")])
def test_axe_finds_nothing_to_complain_of(chromium, path, viewport, scheme):
    with opened(chromium, path, viewport, scheme) as page:
        page.locator("#C3 > summary").click()
        see(page, "[data-part=chart]")
        page.locator("[data-part=curves] > summary").click()
        see(page, "[data-part=curve-chart]")
        see(page, "[data-part=lead-chart]")
        assert complaints(page) == []


def test_a_closed_claim_prints_its_criterion_without_its_comparisons(chromium, of_evidence):
    with opened(chromium, of_evidence) as page:
        shown = "document.querySelector('#C3 > {}').checkVisibility()"
        assert not page.evaluate(shown.format("p"))
        page.emulate_media(media="print")
        assert page.evaluate(shown.format("p"))
        assert not page.evaluate(shown.format("h4"))
        assert page.locator("#C3 > p").first.text_content().startswith("Criterion.")


def test_alice_and_bob_are_on_the_first_screen_and_the_answer_comes_next(chromium, of_evidence):
    with opened(chromium, of_evidence, {"width": 1280, "height": 800}) as page:
        strip = page.locator("[data-part=handed-out]").bounding_box()
        assert strip["y"] + 0.75 * strip["height"] < 800
        sections = page.locator("main section h2").all_text_contents()
        assert sections[:2] == ["Alice and Bob", "The short answer"]
        answer = page.locator("main section").nth(1)
        for number in (0, 1):
            assert answer.locator(f"[data-runs] >> nth={number}").count() == 1


def test_the_night_changes_the_charts_colours(chromium, path):
    with opened(chromium, path) as page:
        see(page, "[data-part=chart]")
        colour = "getComputedStyle(document.querySelector('[data-part=chart] .legendtext')).fill"
        before = page.evaluate(colour)
        page.emulate_media(color_scheme="dark")
        until(lambda: page.evaluate(colour) != before)
