"""Pages looked at in a real browser.

A test asks for the fixture `chromium`, opens a file with `opened(chromium, path)`, and is marked `soak`. Without
Chromium or Playwright it is skipped, and says so.
"""

import contextlib
import shutil
import time

import pytest

EXECUTABLE = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", "--no-first-run"]  # fmt: skip
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="session")
def chromium():
    """A headless Chromium for all the tests that look at pages."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if EXECUTABLE is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=EXECUTABLE, args=ARGUMENTS)
        yield browser
        browser.close()


@contextlib.contextmanager
def opened(browser, path, viewport=DESKTOP, scheme="light"):
    """A page opened from a file, without a network; on leaving, that it asked for nothing else and had no errors."""
    context = browser.new_context(viewport=viewport, color_scheme=scheme, offline=True)
    page, troubles = context.new_page(), []
    page.on("console", lambda message: message.type in ("error", "warning") and troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("request", lambda request: request.url.startswith(("http", "ws")) and troubles.append(request.url))
    page.goto(path.resolve().as_uri())
    yield page
    context.close()
    assert troubles == []


def overflow(page):
    """By how many pixels the page is wider than the window."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def complaints(page, **options):
    """What axe-core, the accessibility checker, finds wrong with the page as it is now: rules and where they broke."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    found = axe.Axe().run(page, options=options or None).response["violations"]
    return [(one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in found]


def until(condition, seconds=60):
    """Waits for a condition, which the page's policy does not let the browser evaluate by itself."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "this did not come about"
        time.sleep(0.05)
