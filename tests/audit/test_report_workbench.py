"""The report as a workbench, in a browser: deciding, keeping, exporting and importing decisions."""

import csv
import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from audits import HOSTILE, issues_of, made_up_findings

from hardwood import RobustForestClassifier
from hardwood.audit import LabelAudit
from hardwood.audit.decisions import COLUMNS, check_decisions, label_text
from hardwood.audit.report import write_report

pytest.importorskip("jinja2", reason="the report needs Jinja2: hardwood[report]")
playwright = pytest.importorskip(
    "playwright.sync_api", reason="the browser is driven by playwright, which is not installed"
)


@pytest.fixture(scope="module")
def findings():
    """Classes, features and cells with hostile names, similar rows and a plan."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    forest = RobustForestClassifier(20, random_state=0).fit(X, rng.integers(5, size=600))
    found = made_up_findings(
        600,
        (*HOSTILE[:3], HOSTILE[7], HOSTILE[4]),
        n_issues=80,
        forest=forest,
        X=X,
        feature_names=HOSTILE[3:7],
        ids=np.array([f"{HOSTILE[k % 8]} {k}" for k in range(600)], dtype=object),
        plan={
            "rows": np.array([0, 40, 90]),
            "found": np.array([0.0, 35, 70]),
            "left": np.array([76.0, 41, 6]),
            "left_low": np.array([60.0, 30, 2]),
            "left_high": np.array([90.0, 50, 15]),
        },
        similar=lambda rows: [
            [(int(row + 1) % 600, 0.5), (int(row + 2) % 600, 0.25)] for row in rows
        ],
    )
    return found


@pytest.fixture(scope="module")
def values():
    texts = np.array([f"{text} {k}" for k in range(600) for text in HOSTILE[:4]], dtype=object)
    return texts.reshape(600, 4)


@pytest.fixture(scope="module")
def report(findings, values, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(findings, path, title="Trees", values=values)
    return path


def open_workbench(page, report):
    page.goto(report.as_uri())
    page.wait_for_selector("#table")  # shown once the decisions have been read
    page.locator("#card").scroll_into_view_if_needed()


@pytest.fixture
def open_page(browser):
    """Open reports, each in a fresh profile, and afterwards: no complaint, no request, nothing run."""
    opened, complaints, requests, allowed = [], [], [], set()

    def open_report(report, **options):
        context = browser.new_context(accept_downloads=True, **options)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        open_workbench(page, report)
        allowed.add(report.as_uri())
        opened.append((context, page))
        return page

    yield open_report
    for context, page in opened:
        assert not page.evaluate("'hacked' in window")
        context.close()
    assert complaints == []
    assert {url for url in requests if not url.startswith("blob:")} <= allowed


def current(page):
    return int(
        re.match(r"Row ([\d,]+)", page.locator("#card-row").inner_text())[1].replace(",", "")
    )


def said(page):
    return page.locator("#said").inner_text()


def stored(page):
    return page.evaluate(
        """async () => {
          const { id } = JSON.parse(document.getElementById("review").textContent);
          return (await (await Store.open()).get(id)) ?? [];
        }"""
    )


def exported(page):
    with page.expect_download() as download:
        page.click("#export")
    assert download.value.suggested_filename == "decisions.csv"
    with open(download.value.path(), encoding="utf-8-sig", newline="") as file:
        return file.read()


def import_text(page, text):
    page.set_input_files(
        "#import-file", {"name": "d.csv", "mimeType": "text/csv", "buffer": text.encode()}
    )
    playwright.expect(page.locator("#said")).to_have_text(re.compile("import"))


def test_nobody_decides_a_row_unseen(open_page, report):
    page = open_page(report)
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    first = current(page)
    page.keyboard.press("a")
    assert stored(page) == []
    assert current(page) == first
    assert said(page) == "Press the key again to decide this row."
    playwright.expect(page.locator("#card")).to_be_in_viewport()
    page.keyboard.press("a")
    assert current(page) != first


KEYS = "akauakakkaaauakaaaka"  # twenty


def decide_twenty(page):
    rows = []
    for key in KEYS:
        rows.append(current(page))
        page.keyboard.press(key)
    return rows


def test_twenty_rows_are_decided_by_keyboard_exported_and_imported(open_page, report, findings):
    page = open_page(report)
    flagged = issues_of(findings)
    rows = decide_twenty(page)
    assert rows == flagged.index[:20].to_list()
    n_unsure = KEYS.count("u")
    assert (
        f"{20 - n_unsure} decided · {KEYS.count('a')} wrong labels found"
        in page.locator("#progress-text").inner_text()
    )
    text = exported(page)
    lines = list(csv.DictReader(io.StringIO(text)))
    assert list(lines[0]) == list(COLUMNS)
    kinds = {"a": "accept", "k": "keep", "u": "unsure"}
    assert [line["decision"] for line in lines] == [kinds[key] for key in KEYS]

    fresh = open_page(report)
    assert stored(fresh) == []
    import_text(fresh, text)
    assert said(fresh) == "20 decisions imported."
    assert stored(fresh) == stored(page)
    for selector in ("#progress-text", "#card-row", "#body", "#curve-words"):
        assert fresh.locator(selector).inner_text() == page.locator(selector).inner_text()
    assert exported(fresh) == text

    decided = check_decisions(
        pd.read_csv(io.StringIO(text), dtype=object), findings.classes, findings.given
    )
    expected = {
        row: int(findings.suggested[row] if key == "a" else findings.given[row])
        for row, key in zip(rows, KEYS, strict=True)
        if key != "u"
    }
    assert dict(zip(decided.rows.tolist(), decided.labels.tolist(), strict=True)) == expected
    assert len(decided.unsure) == n_unsure


def test_decisions_outlive_the_page(open_page, report):
    page = open_page(report)
    decide_twenty(page)
    before = stored(page)
    page.reload()
    playwright.expect(page.locator("#progress-text")).to_have_text(re.compile("^18 decided"))
    assert stored(page) == before
    assert page.locator("#body td.decision").first.inner_text() != ""


def test_two_tabs_of_a_report_do_not_overwrite_each_other(open_page, report):
    page = open_page(report)
    other = page.context.new_page()
    open_workbench(other, report)
    page.keyboard.press("a")
    playwright.expect(other.locator("#progress-text")).to_have_text(re.compile("^1 decided"))
    other.keyboard.press("n")
    other.keyboard.press("k")
    playwright.expect(page.locator("#progress-text")).to_have_text(re.compile("^2 decided"))
    assert [each["decision"] for each in stored(page)] == ["accept", "keep"]


def test_back_and_undo(open_page, report, findings):
    page = open_page(report)
    first, second = issues_of(findings).index[:2]
    page.keyboard.press("a")
    assert current(page) == second
    page.keyboard.press("b")
    assert current(page) == first
    assert page.locator("#accept").get_attribute("aria-pressed") == "true"
    page.keyboard.press("k")
    assert [(each["row"], each["decision"]) for each in stored(page)] == [(first, "keep")]
    page.keyboard.press("b")
    page.click("#clear")
    assert stored(page) == []
    page.keyboard.press("n")
    assert current(page) == second


@pytest.mark.parametrize("height", [500, 650, 660, 900])
def test_what_is_said_does_not_cover_the_buttons(height, open_page, report):
    page = open_page(report)
    page.set_viewport_size({"width": 1280, "height": height})
    page.keyboard.press("k")
    page.keyboard.press("o")
    assert said(page)
    page.wait_for_timeout(300)  # until it has scrolled
    chosen, told = (page.locator(place).bounding_box() for place in ("#other", "#said"))
    assert chosen["y"] + chosen["height"] <= told["y"]


def test_another_class_by_keyboard(open_page, report, findings):
    page = open_page(report)
    row = current(page)
    page.keyboard.press("o")
    assert page.evaluate("document.activeElement.id") == "other"
    page.keyboard.press("Enter")  # before a class is chosen
    assert "Enter confirms, Esc cancels" in said(page)
    page.keyboard.press("Escape")
    assert (stored(page), said(page), current(page)) == ([], "", row)
    page.keyboard.press("o")
    other = next(k for k in range(5) if k not in (findings.given[row], findings.suggested[row]))
    for _ in range(other + 1):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    (decision,) = stored(page)
    assert decision["decision"] == "other"
    assert decision["label"] == label_text(findings.classes[other])
    assert current(page) != row
    page.keyboard.press("a")  # the keys work again
    assert len(stored(page)) == 2


def test_keys_do_not_act_while_one_types(open_page, report):
    page = open_page(report)
    page.focus("#text")
    page.keyboard.type("aku")
    assert stored(page) == []
    page.locator("#accept").focus()
    page.keyboard.press("Control+a")
    assert stored(page) == []


def test_rows_are_filtered_by_decision(open_page, report, findings):
    page = open_page(report)
    rows = decide_twenty(page)
    page.select_option("#size", "100")

    def numbers():
        return [int(text) for text in page.locator("#body td.row button bdi").all_inner_texts()]

    page.select_option("#state", "unsure")
    assert numbers() == [row for row, key in zip(rows, KEYS, strict=True) if key == "u"]
    page.select_option("#state", "decided")
    assert numbers() == [row for row, key in zip(rows, KEYS, strict=True) if key != "u"]
    page.select_option("#state", "open")
    assert numbers() == issues_of(findings).index[20:].to_list()
    page.locator("#body td.row button").nth(3).click()
    assert current(page) == numbers()[3]


def test_a_decision_on_a_filtered_page_stays_in_the_filter(open_page, report, findings):
    page = open_page(report)
    flagged = issues_of(findings)
    given = flagged["given"].iloc[0]
    page.select_option("#given", str(list(findings.classes).index(given)))
    wanted = flagged.index[flagged["given"] == given].to_list()
    for row in wanted[:3]:
        assert current(page) == row
        page.keyboard.press("a")


def test_hostile_text_is_shown_as_text(open_page, report, findings, values):
    page = open_page(report)
    row = current(page)
    shown = page.locator("#card").text_content()
    for text in (findings.classes[findings.given[row]], findings.ids[row]):
        assert label_text(text) in shown.replace("\0", "\ufffd") or "\ud800" in text
    assert page.locator("#card img, #card script").count() == 0
    assert page.locator("#card-values td").count() > 0
    assert any(label_text(text)[:40] in shown for text in values[row])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("row,label\n600,x\n", 'Line 2: there is no row "600" in this table.'),
        ("row,label\n-1,x\n", "there is no row"),
        (
            "row,label\n0,no such class\n",
            'Line 2: the label "no such class" is not one of the classes.',
        ),
        ("a,b\n1,2\n", 'The file has no column "row".'),
        ("", 'The file has no column "row".'),
    ],
)
def test_wrong_files_change_nothing(text, message, open_page, report):
    page = open_page(report)
    page.keyboard.press("a")
    before = stored(page)
    import_text(page, text)
    assert message in said(page)
    assert said(page).startswith("Nothing was imported.")
    assert stored(page) == before


def test_decisions_of_another_table_are_refused(open_page, report, findings):
    page = open_page(report)
    row = current(page)
    wrong = label_text(findings.classes[(findings.given[row] + 1) % 3])
    cell = '"' + wrong.replace('"', '""') + '"'
    import_text(page, f"row,given,label\n{row},{cell},{cell}\n")
    assert "Are these the decisions of another table?" in said(page)


def test_a_file_saved_by_a_spreadsheet_is_read(open_page, report, findings):
    page = open_page(report)
    row = current(page)
    label = label_text(findings.classes[4])  # =HYPERLINK(1)
    import_text(page, f"\ufeffrow;label\r\n{row};'{label}\r\n")
    assert [(each["row"], each["label"]) for each in stored(page)] == [(row, label)]


def test_reports_of_other_tables_do_not_share_decisions(open_page, report, tmp_path):
    page = open_page(report)
    page.keyboard.press("a")
    other = tmp_path / "other.html"
    write_report(made_up_findings(seed=5), other)
    again = open_page(other)
    assert stored(again) == []
    ids = [
        json.loads(re.search(r'id="review">(.*?)</script>', path.read_text("utf-8"))[1])["id"]
        for path in (report, other)
    ]
    assert ids[0] != ids[1]


def test_the_curve_follows_the_review(open_page, report):
    page = open_page(report)
    start = float(page.locator("#curve-now").get_attribute("cx"))
    decide_twenty(page)
    assert float(page.locator("#curve-now").get_attribute("cx")) > start
    words = page.locator("#curve-words").inner_text()
    assert words == "Wrong labels left after 18 decisions: about 64."  # 76 − 12
    assert page.locator("#progress").evaluate("(bar) => bar.value") == 18


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_workbench_fits_every_screen(scheme, width, open_page, report):
    page = open_page(report, color_scheme=scheme, viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for key in ("accept", "keep", "unsure", "back", "skip"):
        box = page.locator(f"#{key}").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["height"] >= 36


def test_what_was_done_is_said_in_view_below_a_tall_card(open_page, report):
    page = open_page(report, viewport={"width": 1280, "height": 420})
    page.locator("#card").evaluate("(card) => card.scrollIntoView(true)")
    assert page.locator("#card").bounding_box()["height"] > 420
    page.keyboard.press("a")
    assert said(page).endswith("accepted.")
    box = page.locator("#said").bounding_box()
    assert box["y"] + box["height"] <= 421


def test_a_phone_decides_by_touch(open_page, report):
    page = open_page(report, viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    page.tap("#accept")
    page.tap("#unsure")
    assert [each["decision"] for each in stored(page)] == ["accept", "unsure"]


def test_a_real_audit_takes_the_decisions_back(open_page, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    y = np.where(X["a"] > 0, "=yes", "no")
    wrong = rng.random(300) < 0.15
    noisy = np.where(wrong, np.where(y == "no", "=yes", "no"), y)
    audit = LabelAudit(RobustForestClassifier(60, min_samples_leaf=5), random_state=0).fit(X, noisy)
    audit.report(tmp_path / "r.html", compare=False, ids=[f"P{k}" for k in range(300)])
    page = open_page(tmp_path / "r.html")
    assert page.locator("#card-row").inner_text().endswith(f"P{current(page)}")
    assert page.locator("#card-values th .label").count() >= 2  # similar rows
    for _ in range(10):
        page.keyboard.press("a")
    decisions = pd.read_csv(io.StringIO(exported(page)))
    assert decisions["id"].tolist() == [f"P{row}" for row in decisions["row"]]
    audit.update(decisions)
    assert audit.issues_["decided"].sum() == 10
    assert audit.issues_["is_issue"][decisions["row"]].all()
    audit.report(tmp_path / "again.html", compare=False)
    again = open_page(tmp_path / "again.html")
    assert "already decided" in again.locator(".facts").inner_text()
    assert current(again) not in decisions["row"].to_list()
