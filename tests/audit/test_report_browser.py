"""The audit's report in a browser: headless Chromium, driven by playwright."""

import csv
import io

import numpy as np
import pytest
from audits import HOSTILE, issues_of, made_up_findings

from hardwood import AdaptiveForestClassifier
from hardwood.audit.report import write_report
from hardwood.audit.report.words import as_text
from hardwood.tables.formulas import escape

pytest.importorskip("jinja2", reason="the report needs Jinja2: hardwood[report]")
playwright = pytest.importorskip(
    "playwright.sync_api", reason="the browser is driven by playwright, which is not installed"
)


@pytest.fixture(scope="module")
def findings():
    """Three classes and four features, all of hostile names."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4))
    X[:, 0] = (X[:, 0] > 0).round()
    y = rng.integers(3, size=900)
    forest = AdaptiveForestClassifier(20, random_state=0).fit(X, X[:, 0] + (X[:, 1] > 0.5) + y // 2)
    return made_up_findings(900, HOSTILE[:3], forest=forest, X=X, feature_names=HOSTILE[3:7])


@pytest.fixture(scope="module")
def report(findings, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(findings, path, title=HOSTILE[0])
    return path


@pytest.fixture
def page(browser, report):
    """The page, and afterwards: no complaint, nothing asked for, nothing hostile run."""
    context = browser.new_context(accept_downloads=True, color_scheme="light")
    opened = context.new_page()
    complaints, requests = [], []
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("request", lambda request: requests.append(request.url))
    opened.goto(report.as_uri())
    opened.wait_for_selector("#table")  # shown once the browser has read what it keeps
    yield opened
    assert not opened.evaluate("'hacked' in window")
    assert complaints == []
    assert {url for url in requests if not url.startswith("blob:")} == {report.as_uri()}
    context.close()


@pytest.fixture
def flagged(findings):
    return issues_of(findings)


def column(page, name):
    return page.locator(f"#body td.{name} bdi").all_inner_texts()


def shown_rows(page):
    return [int(text) for text in page.locator("#body td.row button bdi").all_inner_texts()]


def sort_by(page, key):
    page.locator(f'th[data-key="{key}"] button').click()


def count(page):
    return page.locator("#count").inner_text()


def test_it_opens_with_the_most_suspect_rows(page, flagged):
    assert page.title().strip() == HOSTILE[0]
    assert "About 1 label in 8 looks wrong" in page.locator("h1").inner_text()
    assert shown_rows(page) == flagged.index[:25].to_list()
    assert count(page) == f"{len(flagged)} of {len(flagged)} rows"
    assert page.locator('th[data-key="score"]').get_attribute("aria-sort") == "descending"


@pytest.mark.parametrize("key", ["row", "given", "suggested", "score"])
def test_rows_sort_by_every_column_both_ways(key, page, flagged):
    numbers = flagged.assign(row=flagged.index)
    if key in ("given", "suggested"):  # in the order of the classes
        numbers[key] = numbers[key].map(list(HOSTILE).index)
    page.select_option("#size", "100")
    if key == "score":  # it is sorted by that already, from the top
        sort_by(page, "row")
        sort_by(page, "score")
        sort_by(page, "score")
    else:
        sort_by(page, key)
    for ascending, word in ((True, "ascending"), (False, "descending")):
        expected = numbers.sort_values([key, "rank"], ascending=[ascending, True])
        if key == "score":  # which the page knows to four digits
            found = numbers.loc[shown_rows(page), "score"].round(4)
            assert (found.is_monotonic_increasing, found.is_monotonic_decreasing)[not ascending]
        else:
            assert shown_rows(page) == expected.index[:100].to_list()
        assert page.locator(f'th[data-key="{key}"]').get_attribute("aria-sort") == word
        assert page.locator("th[aria-sort]").count() == 1
        sort_by(page, key)


def test_rows_are_filtered_by_label_score_and_text(page, flagged, findings):
    page.select_option("#size", "100")
    page.select_option("#given", label=" ".join(HOSTILE[1].split()))
    assert shown_rows(page) == flagged.index[flagged.given == HOSTILE[1]].to_list()
    page.select_option("#suggested", label=" ".join(HOSTILE[2].split()))
    both = flagged[(flagged.given == HOSTILE[1]) & (flagged.suggested == HOSTILE[2])]
    assert shown_rows(page) == both.index.to_list()
    page.fill("#least", "80")
    assert shown_rows(page) == both.index[both.score >= 0.8].to_list()
    assert count(page) == f"{(both.score >= 0.8).sum()} of {len(flagged)} rows"
    page.click("#filters button[type=reset]")
    playwright.expect(page.locator("#count")).to_have_text(f"{len(flagged)} of {len(flagged)} rows")
    page.fill("#text", f"{HOSTILE[4]} = 1".upper())
    assert 0 < len(shown_rows(page)) < len(flagged)
    for row in shown_rows(page):  # in a reason or in another value of the row
        assert as_text(findings.X[row, 1]).startswith("1")
    page.fill("#text", "no such text")
    assert page.locator("#body").inner_text() == "No rows match."
    assert page.locator("#export-rows").is_disabled()


def test_pages_turn(page, flagged):
    rows = flagged.index.to_list()
    n_pages = -(-len(rows) // 25)
    assert page.locator("#previous").is_disabled()
    page.click("#next")
    assert shown_rows(page) == rows[25:50]
    assert page.locator("#page").inner_text() == f"Page 2 of {n_pages}"
    page.click("#last")
    assert shown_rows(page) == rows[25 * (n_pages - 1) :]
    assert page.locator("#next").is_disabled()
    page.click("#previous")
    page.click("#first")
    assert shown_rows(page) == rows[:25]
    page.click("#next")
    page.select_option("#size", "100")
    assert shown_rows(page) == rows[:100]


def test_a_pair_of_classes_leads_to_its_rows(page, flagged):
    button = page.locator(".pairs button").first
    given, suggested = (
        HOSTILE[int(button.get_attribute(f"data-{side}"))] for side in ("given", "suggested")
    )
    page.fill("#text", "no such text")
    button.click()
    pair = flagged[(flagged.given == given) & (flagged.suggested == suggested)]
    assert button.text_content().startswith(f"{len(pair)} to review: ")
    playwright.expect(page.locator("#count")).to_have_text(f"{len(pair)} of {len(flagged)} rows")
    assert shown_rows(page) == pair.index[:25].to_list()


def test_export_holds_the_filtered_rows_in_their_order(page, flagged):
    page.fill("#least", "70")
    sort_by(page, "row")
    with page.expect_download() as download:
        page.click("#export-rows")
    assert download.value.suggested_filename == "suspect-rows.csv"
    with open(download.value.path(), encoding="utf-8-sig", newline="") as file:
        text = file.read()
    found = list(csv.DictReader(io.StringIO(text)))
    expected = flagged[flagged.score.round(4) >= 0.7].sort_index()
    assert [int(line["row"]) for line in found] == expected.index.to_list()
    assert [line["given"] for line in found] == [as_text(label) for label in expected.given]
    assert [line["suggested"] for line in found] == [as_text(label) for label in expected.suggested]
    np.testing.assert_allclose([float(line["score"]) for line in found], expected.score, atol=1e-4)
    assert any(" = " in line["reasons"] for line in found)
    for line in found:  # the names of three features are formulas
        assert not line["reasons"].startswith(("=", "@", "-", "+"))


def test_cells_that_start_like_formulas_are_kept_from_running(page):
    cells = {
        "=1+1": "'=1+1",
        "+1+1": "'+1+1",
        "-1+1": "'-1+1",
        "@SUM(A1)": "'@SUM(A1)",
        "\t=1": "'\t=1",
        " =1": "' =1",
        "spaces ": '"spaces "',
        "\uff1d1": "'\uff1d1",
        "-": "'-",
        "-1": "-1",
        "+2.5e-3": "+2.5e-3",
        "plain": "plain",
        'a "b", c\nd': '"a ""b"", c\nd"',
        "a=1": "a=1",
        "'=1": "''=1",
        "'tis": "'tis",
    }
    assert page.evaluate("cells => cells.map(csvCell)", list(cells)) == list(cells.values())
    read = page.evaluate(
        "cells => parseCsv(csv([['x', 'y'], ...cells.map((c) => [c, 1])]))", list(cells)
    )
    assert read == [["x", "y"], *([cell, "1"] for cell in cells)]
    assert [escape(text) for text in cells] == page.evaluate(
        "c => c.map(escapeFormula)", list(cells)
    )


def test_light_and_dark(page, browser, report):
    def paper(of):
        return of.evaluate("getComputedStyle(document.body).backgroundColor")

    light = paper(page)
    button = page.locator("#theme")
    assert button.get_attribute("aria-pressed") == "false"
    button.click()
    dark = paper(page)
    assert dark != light
    assert button.get_attribute("aria-pressed") == "true"
    for _ in range(20):  # Chromium loses a few writes to localStorage (see decisions.js)
        page.reload()
        if paper(page) == dark:
            break
        button.click()
    assert paper(page) == dark
    page.emulate_media(media="print")
    assert paper(page) == "rgb(255, 255, 255)"
    with browser.new_context(color_scheme="dark") as context:
        other = context.new_page()
        other.goto(report.as_uri())
        assert paper(other) == dark
        other.locator("#theme").click()
        assert paper(other) == light


def test_everything_is_reached_by_keyboard(page, flagged):
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    reached = []
    for _ in range(90):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        assert page.evaluate(
            "document.activeElement.matches(':focus-visible')"
            " && getComputedStyle(document.activeElement).outlineStyle !== 'none'"
        )
        reached.append(
            page.evaluate(
                "(e => e.id || e.closest('th')?.dataset.key || e.className || e.type)"
                "(document.activeElement)"
            )
        )
    wanted = ["link", "scroll", "import", "accept", "keep", "other", "unsure", "skip"]
    wanted += ["given", "suggested", "state", "least", "text", "quiet", "export-rows"]
    wanted += ["row", "given", "suggested", "score", "next", "last", "size"]
    places = iter(reached)
    assert all(name in places for name in wanted), reached  # in this order
    page.locator('th[data-key="row"] button').focus()
    page.keyboard.press("Enter")
    assert shown_rows(page) == sorted(flagged.index)[:25]
    page.keyboard.press("Space")
    assert shown_rows(page) == sorted(flagged.index, reverse=True)[:25]


@pytest.mark.parametrize("width", [320, 400, 700, 1280])
def test_no_page_scrolls_sideways(width, page):
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_text_has_contrast(page):
    """4.5 to 1, what WCAG asks of text, for the words and for the darkest cell, light and dark."""
    contrast = """() => {
      const luminance = (color) => {
        const canvas = new OffscreenCanvas(1, 1).getContext("2d");
        canvas.fillStyle = color;
        canvas.fillRect(0, 0, 1, 1);
        const parts = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((v) => v / 255);
        const [r, g, b] = parts.map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const ratio = (a, b) => {
        const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
        return (high + 0.05) / (low + 0.05);
      };
      const style = (selector) => getComputedStyle(document.querySelector(selector));
      const cells = [...document.querySelectorAll(".heat td:not(.right)")].map((td) => getComputedStyle(td));
      const paper = style("body").backgroundColor;
      return [
        ratio(style("body").color, paper),
        ratio(style(".note").color, paper),
        ratio(style(".suggested").color, paper),
        ratio(style(".filters label").color, style(".filters").backgroundColor),
        ratio(style("#accept").color, style("#accept").backgroundColor),
        ...cells.map((cell) => ratio(cell.color, cell.backgroundColor)),
      ];
    }"""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert min(page.evaluate(contrast)) >= 4.5


def test_half_a_million_rows_open(browser, forest_and_data, tmp_path, record_property):
    X = np.random.default_rng(0).normal(size=(500_000, 4))
    many = made_up_findings(500_000, n_issues=60_000, forest=forest_and_data[0], X=X)
    path = tmp_path / "report.html"
    write_report(many, path)
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("#table")
    paint = page.evaluate(
        """() => new Promise((resolve) => {
          const first = (list) => resolve(list.getEntries()[0].startTime);
          new PerformanceObserver(first).observe({ type: "paint", buffered: true });
        })"""
    )
    record_property("megabytes", path.stat().st_size / 1e6)
    record_property("milliseconds_to_first_paint", paint)
    assert count(page) == "10,000 of 10,000 rows"
    page.fill("#text", "feature 1")
    assert page.locator("#body tr").count() == 25
    page.close()


def test_tables_without_reasons_open(browser, tmp_path):
    path = tmp_path / "report.html"
    write_report(made_up_findings(), path)
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("#table")
    assert page.locator("#body tr").first.locator("td").count() == 5
    page.close()
