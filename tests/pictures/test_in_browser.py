"""Pages in a real Chromium: they load without a complaint, their filters work, a keyboard is enough."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browser import Page, find_browser, open_browser
from click.testing import CliRunner

from harness.cli.repro import repro
from harness.codec import decode
from harness.report.page import render_page
from harness.report.section import Section
from harness.report.waivers import render_waivers

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    program = find_browser()
    if program is None:
        pytest.skip("no Chromium: apt-get install chromium, or name one in HARNESS_BROWSER")
    with open_browser(program, tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Section:
    """nvbugs/6535874 with its fault, in three orders."""
    file = tmp_path_factory.mktemp("run") / "run.json"
    options = ["--worker", "dflash", "--orders", "sample:3", "--isolation", "none", "--json", str(file)]
    assert CliRunner().invoke(repro, ["6535874", "--fault", "capacity-from-bucket", *options]).exit_code == 1
    data: dict[str, Any] = json.loads(file.read_text())
    data.pop("description")
    return decode(Section, data)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, broken: Section) -> Path:
    """One page of three sections: with its fault, healthy, and with hostile texts and a wide pool."""
    folder = tmp_path_factory.mktemp("pages")
    healthy = replace(
        broken, bug="nvbugs/2", target="sglang", maps=[], results=[r for r in broken.results if r.word == "ok"]
    )
    payload = "<script>document.title='taken'</script>\"><img src=x onerror=\"document.title='taken'\">"
    first = broken.maps[0]
    lines = tuple(replace(line, cells=(line.cells[-1],) * 40) for line in first.lines)
    wide = replace(first, rows=tuple(range(40)), lines=lines)
    link = "javascript:document.title='taken'"
    hostile = replace(broken, bug=payload, title=payload, target=payload, url=link, maps=[wide])
    (folder / "page.html").write_text(render_page([broken, healthy, hostile]))
    waivers = {
        "file": payload, "today": "2026-07-01", "soon": 30, "count": 0, "unreadable": 0, "median_age": None,
        "oldest_age": None, "states": dict.fromkeys(("expired", "expiring", "dated", "undated"), 0),
        "groups": {}, "waivers": [],
        "trend": [{"day": f"2026-0{n}-01", "commit": "1", "waivers": n} for n in (1, 2)],
    }  # fmt: skip
    (folder / "waivers.html").write_text(render_waivers(waivers))
    return folder


def visible(browser: Page, selector: str) -> int:
    found: int = browser.run(f"[...document.querySelectorAll({selector!r})].filter(e => e.offsetParent).length")
    return found


def choose(browser: Page, name: str, value: str) -> None:
    browser.run(
        f"(() => {{ const s = document.getElementById('f-{name}'); s.value = {value!r}; "
        "s.dispatchEvent(new Event('change')); })()"
    )


@pytest.mark.parametrize("name", ["page.html", "waivers.html"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_a_page_loads_without_a_complaint_asks_for_nothing_and_fits(
    browser: Page, pages: Path, name: str, scheme: str, width: int
) -> None:
    browser.open(pages / name, width, 800, scheme)
    assert browser.complaints == []
    assert browser.requested == [(pages / name).resolve().as_uri()]
    assert browser.run("document.title").endswith(" - harness")
    browser.run("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert browser.run("document.documentElement.scrollWidth") <= width
    background = browser.run("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") is (scheme == "light")


def test_the_first_screen_has_the_silent_cell_the_reason_every_word_the_map_and_the_command(
    browser: Page, pages: Path, broken: Section
) -> None:
    (pages / "one.html").write_text(render_page([broken]))
    browser.open(pages / "one.html", 1280, 800)
    bottoms = browser.run(
        "['td.w-silent', 'td.w-FAIL', '.callout', '.small', '.slots .told', '.command'].map("
        "s => document.querySelector(s).getBoundingClientRect().bottom)"
    )
    assert max(bottoms) <= 800


def test_filters_show_what_they_say(browser: Page, pages: Path) -> None:
    browser.open(pages / "page.html")
    assert visible(browser, ".section") == 3
    choose(browser, "bug", "nvbugs/2")
    assert visible(browser, ".section") == visible(browser, "[data-section]") == 1
    assert browser.run("document.getElementById('shown').textContent") == "1 of 3 shown"
    choose(browser, "word", "silent")
    assert visible(browser, ".section") == 0
    assert visible(browser, "#nothing") == 1
    choose(browser, "bug", "")
    assert visible(browser, ".section") == 2
    assert visible(browser, ".example[data-words='FAIL']") == 0
    assert browser.run("document.querySelectorAll('td.w-ok.dim').length") > 0
    choose(browser, "word", "")
    choose(browser, "target", "sglang")
    assert visible(browser, ".section") == 1


def test_a_keyboard_reaches_everything_in_reading_order(browser: Page, pages: Path) -> None:
    browser.open(pages / "page.html")
    stops = []
    for _ in range(9):
        browser.press("Tab")
        stops.append(browser.run("document.activeElement.className || document.activeElement.id"))
    assert stops[:5] == ["skip", "f-bug", "f-target", "f-word", "theme"]
    assert stops[5] == "scroll"  # the overview, which a keyboard scrolls
    assert browser.run("getComputedStyle(document.activeElement).outlineStyle") != "none"


def test_the_skip_link_leads_past_the_filters(browser: Page, pages: Path) -> None:
    browser.open(pages / "page.html")
    browser.press("Tab")
    browser.press("Enter")
    assert browser.run("document.activeElement.id") == "main"


def test_details_open_and_the_theme_turns_by_keys_alone(browser: Page, pages: Path) -> None:
    browser.open(pages / "page.html")
    browser.run("document.querySelector('.every > summary').focus()")
    browser.press("Enter")
    assert browser.run("document.querySelector('.every').open") is True
    browser.run("document.getElementById('theme').focus()")
    assert browser.run("document.activeElement.getAttribute('aria-pressed')") == "false"
    browser.press(" ")
    assert browser.run("document.activeElement.getAttribute('aria-pressed')") == "true"
    assert browser.run("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"


def test_a_command_is_copied_or_selected(browser: Page, pages: Path) -> None:
    browser.open(pages / "page.html")
    said = browser.run(
        "(async () => { const b = document.querySelector('.copy'); b.click(); "
        "for (let i = 0; i < 200 && b.textContent === 'Copy'; i++) await new Promise(r => setTimeout(r, 10)); "
        "return [b.textContent, getSelection().toString()]; })()"
    )
    assert said[0] == "Copied" or (said[0] == "Selected" and said[1].startswith("harness repro 6535874"))


def test_text_has_contrast_in_both_themes(browser: Page, pages: Path) -> None:
    """4.5 to 1, the ratio that WCAG AA asks for, of every colour on the ground that it stands on."""
    measure = """(() => {
      const rgb = c => c.match(/[\\d.]+/g).map(Number);
      const linear = v => v <= 10 ? v / 255 / 12.92 : ((v / 255 + .055) / 1.055) ** 2.4;
      const lum = c => { const [r, g, b] = rgb(c).map(linear);
        return .2126 * r + .7152 * g + .0722 * b; };
      const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
        if (rgb(c).length === 3) return c; } return 'rgb(255, 255, 255)'; };
      let worst = [99, ''];
      for (const e of document.querySelectorAll('main *')) {
        if (!e.offsetParent || ![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
        const a = lum(getComputedStyle(e).color), b = lum(ground(e));
        const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
        if (ratio < worst[0]) worst = [ratio, e.className + ': ' + e.textContent.slice(0, 40)];
      }
      return worst; })()"""
    for scheme in ("light", "dark"):
        browser.open(pages / "page.html", 1280, 800, scheme)
        ratio, where = browser.run(measure)
        assert ratio >= 4.5, where
