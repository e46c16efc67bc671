"""The audit's report as it is written. What it does in a browser: test_audit_report_browser.py."""

import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pandas as pd
import polars as pl
import pytest
from audits import HOSTILE, issues_of, made_up_findings
from hypothesis import given
from hypothesis import strategies as st

from hardwood import AdaptiveForestClassifier, RobustForestClassifier
from hardwood.audit.gain import Gain
from hardwood.audit.report import words, write_report
from hardwood.audit.report.confusions import confused_pairs, heat_map
from hardwood.audit.report.settings_chart import settings_chart
from hardwood.audit.report.suspects import find_suspects
from hardwood.noise import corrupt, uniform

pytest.importorskip("jinja2", reason="the report needs Jinja2: hardwood[report]")


@pytest.fixture(scope="module")
def forest_and_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y, _ = corrupt((X[:, 0] > 0).astype(int) + (X[:, 1] > 1), uniform(3, 0.2), random_state=0)
    return AdaptiveForestClassifier(40, random_state=0).fit(X, y), X


def write(findings, folder, **options):
    path = folder / "report.html"
    write_report(findings, path, **options)
    return path.read_text(encoding="utf-8")


class Reader(HTMLParser):
    """All text and attributes of a page, as a browser reads them."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], {"": []}
        self._raw = ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, *attribute) for attribute in attributes]
        self._raw = tag if tag in ("script", "style") else ""

    def handle_endtag(self, tag):
        self._raw = ""

    def handle_data(self, data):
        self.text.setdefault(self._raw, []).append(data)

    @property
    def data(self):
        return json.loads(self.text["script"][-1])

    @property
    def prose(self):
        return " ".join(" ".join(self.text[""]).split())


# --- words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rate", "said"),
    [
        (0.0001, "Hardly any labels are wrong"),
        (0.0123, "About 1 label in 81 is"),
        (0.00123, "About 1 label in 810 is"),
        (0.125, "About 1 label in 8 is"),
        (0.2, "About 1 label in 5 is"),
        (0.282, "About 3 labels in 10 are"),
        (0.34, "About 1 label in 3 is"),
        (0.4, "About 2 labels in 5 are"),
        (0.5, "About 1 label in 2 is"),
        (0.99, "About 9 labels in 10 are"),
        (float("nan"), "The share of wrong labels cannot be estimated"),
    ],
)
def test_noise_is_said_as_people_say_it(rate, said):
    assert words.noise_in_words(rate, 0.9 * rate, 1.1 * rate).startswith(said)


@given(st.floats(0.001, 0.95))
def test_the_fraction_said_is_near_the_rate(rate):
    said = re.match(
        r"(About|More than|Nearly) (\d+) labels? in ([\d,]+)",
        words.noise_in_words(rate, 0.99 * rate, 1.01 * rate),
    )
    fraction = int(said[2]) / int(said[3].replace(",", ""))
    assert fraction == pytest.approx(rate, rel=0.13)
    if said[1] == "About":
        assert fraction == pytest.approx(rate, abs=0.015)  # the interval, rounded
    else:
        assert said[1] == ("More than" if fraction < rate else "Nearly")


@given(st.text() | st.floats() | st.integers() | st.none() | st.booleans() | st.dates())
def test_any_value_can_be_shown(value):
    text = words.as_text(value)
    text.encode()
    assert len(text) <= 120
    assert "\0" not in text


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT, np.float32("nan")])
def test_missing_values_are_called_so(missing):
    assert words.as_text(missing) == "missing"


# --- classes that are confused --------------------------------------------------------------------


def test_pairs_are_ranked_by_the_wrong_labels_expected():
    findings = made_up_findings(
        1000,
        class_prior=np.array([0.5, 0.3, 0.2]),
        noise_matrix=np.array([[0.8, 0.2, 0.0], [0.1, 0.8, 0.1], [0.0, 0.4, 0.6]]),
    )
    found = confused_pairs(findings)
    assert [(pair.true, pair.given, pair.expected) for pair in found] == [
        ("ash", "beech", "100"),
        ("oak", "beech", "80"),
        ("beech", "ash", "30"),
        ("beech", "oak", "30"),
    ]
    assert sum(pair.share for pair in found) == pytest.approx(1)
    issues = issues_of(findings)
    for pair in found:
        assert (pair.true, pair.given) == tuple(findings.classes[list(pair.places)])
        of_pair = (issues.given == pair.given) & (issues.suggested == pair.true)
        assert pair.flagged == of_pair.sum()


def test_many_classes_are_cut_to_the_noisiest():
    T = np.eye(50)
    T[7, [7, 31]] = 0.6, 0.4
    heat = heat_map(made_up_findings(1000, np.arange(50), noise_matrix=T))
    assert len(heat.classes) == 20
    assert heat.n_left_out == 30
    assert {"7", "31"} <= set(heat.classes)
    assert heat.rows[heat.classes.index("7")][heat.classes.index("31")].darkness == 1


def test_an_unknown_noise_matrix_is_said_to_be_unknown(tmp_path):
    unknown = made_up_findings(
        noise_matrix=np.full((3, 3), np.nan),
        noise_rate=float("nan"),
        noise_rate_interval=(float("nan"),) * 2,
    )
    page = Reader(write(unknown, tmp_path))
    assert "The share of wrong labels cannot be estimated from this data." in page.prose
    assert "This cannot be estimated from this data." in page.prose
    assert "nan" not in page.prose


# --- the rows -------------------------------------------------------------------------------------


def test_rows_are_the_flagged_ones_by_rank(tmp_path, forest_and_data):
    forest, X = forest_and_data
    findings = made_up_findings(forest=forest, X=X)
    data = Reader(write(findings, tmp_path)).data
    flagged = issues_of(findings)
    assert data["row"] == flagged.index.to_list()
    assert [data["classes"][k] for k in data["given"]] == flagged.given.to_list()
    assert [data["classes"][k] for k in data["suggested"]] == flagged.suggested.to_list()
    np.testing.assert_allclose(
        np.array(data["score"]) / data["scoreUnit"], flagged.score, atol=1e-4
    )


def test_reasons_name_features_and_their_values(forest_and_data, tmp_path):
    forest, X = forest_and_data
    frame = pd.DataFrame(X, columns=["pH", "lime", "rain", "height"])
    findings = made_up_findings(forest=forest, X=frame, feature_names=list(frame.columns))
    data = Reader(write(findings, tmp_path)).data
    assert any(data["reasons"])
    for row, reasons in zip(data["row"], data["reasons"], strict=True):
        assert len(reasons) in (0, 2, 4, 6)
        for feature, value in zip(reasons[::2], reasons[1::2], strict=True):
            shown = frame.iloc[row][data["features"][feature]]
            assert data["values"][value] == f"{shown:.6g}"


@pytest.mark.parametrize("as_frame", [pd.DataFrame, pl.DataFrame, np.asarray])
def test_reasons_are_the_same_for_frames_and_arrays(as_frame, forest_and_data):
    forest, X = forest_and_data
    found, expected = (
        find_suspects(made_up_findings(forest=forest, X=rows), 10).reasons
        for rows in (as_frame(X), X)
    )
    assert found == expected


def test_wide_rows_are_explained_in_parts(forest_and_data, monkeypatch):
    forest, X = forest_and_data
    findings = made_up_findings(forest=forest, X=X)
    at_once = find_suspects(findings, 50).reasons
    monkeypatch.setattr("hardwood.audit.report.suspects._MAX_CONTRIBUTIONS", 30)
    assert find_suspects(findings, 50).reasons == at_once


def test_other_values_may_be_shown(forest_and_data, tmp_path):
    forest, X = forest_and_data
    findings = made_up_findings(forest=forest, X=X)
    spoken = np.where(X > 0, "high", "low").astype(object)
    data = Reader(write(findings, tmp_path, values=spoken)).data
    assert set(data["values"]) == {"high", "low"}
    with pytest.raises(ValueError, match=r"values must have the shape of X, \(400, 4\)"):
        write(findings, tmp_path, values=spoken[:, :2])


def test_rows_left_out_are_counted(tmp_path):
    page = Reader(write(made_up_findings(n_issues=50), tmp_path, max_rows=20))
    assert len(page.data["row"]) == 20
    assert "This page lists the 20 most suspect. For the other 30, see issues_" in page.prose
    here = re.findall(r"(\d+) to review, (\d+|none) here", page.prose)
    assert sum(int(n) if n.isdigit() else 0 for _, n in here) <= 20 < sum(int(n) for n, _ in here)


def test_long_texts_leave_rows_out_rather_than_swell_the_file(tmp_path, forest_and_data):
    forest, _ = forest_and_data
    texts = np.array([f"{k} " + "é" * 500 for k in range(40_000)]).reshape(10_000, 4)
    X = np.random.default_rng(0).normal(size=texts.shape)
    findings = made_up_findings(10_000, n_issues=9_000, forest=forest, X=X)
    page = write(findings, tmp_path, values=texts)
    assert len(page.encode()) < 5_000_000
    assert len(Reader(page).data["row"]) >= 1000


def test_half_a_million_rows_fit_into_a_small_file(tmp_path, forest_and_data):
    forest, X = forest_and_data
    many = np.random.default_rng(0).normal(size=(500_000, X.shape[1]))
    findings = made_up_findings(500_000, n_issues=60_000, forest=forest, X=many)
    page = write(findings, tmp_path)
    assert len(page.encode()) < 5_000_000
    assert "For the other 50,000, see" in Reader(page).prose


def test_without_suspect_rows_there_is_no_table(tmp_path):
    page = Reader(write(made_up_findings(n_issues=0), tmp_path))
    assert "No labels look wrong." in page.prose
    assert ("table", "class", "rows") not in page.attributes


def test_probabilities_alone_are_enough(tmp_path):
    page = Reader(write(made_up_findings(gain="there is no model to train"), tmp_path))
    assert page.data["reasons"] is None
    assert "Why" not in page.prose
    assert "This cannot be measured: there is no model to train." in page.prose
    assert "How the forest chose" not in page.prose


# --- hostile text ---------------------------------------------------------------------------------


def test_hostile_text_stays_text(tmp_path, forest_and_data):
    forest, X = forest_and_data
    names = list(HOSTILE[:4])
    findings = made_up_findings(classes=HOSTILE, forest=forest, X=X, feature_names=names)
    # The forest knows three classes only.
    three = (findings.given < 3) & (findings.suggested < 3)
    findings = replace(findings, is_issue=findings.is_issue & three)
    page = Reader(write(findings, tmp_path, title=HOSTILE[0]))
    assert page.tags.count("script") == 2
    assert "img" not in page.tags
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    shown = [words.as_text(text) for text in HOSTILE]
    assert set(page.data["classes"]) <= set(shown)
    assert set(page.data["features"]) <= set(shown)
    prose = "".join(page.text[""])
    for text in shown:
        assert text in prose
    assert shown[0] in page.text[""]  # the title


@given(st.lists(st.text(), min_size=2, max_size=2, unique_by=words.as_text))
def test_data_of_any_text_can_be_read_back(classes):
    findings = made_up_findings(60, classes)
    encoded = find_suspects(findings, 60).as_json()
    assert not set("<>&") & set(encoded)
    encoded.encode("ascii")
    assert set(json.loads(encoded)["classes"]) <= {words.as_text(text) for text in classes}


def test_a_page_asks_for_nothing(tmp_path, forest_and_data):
    forest, X = forest_and_data
    page = write(made_up_findings(forest=forest, X=X), tmp_path)
    reader = Reader(page)
    addresses = [
        (tag, value)
        for tag, name, value in reader.attributes
        if name in ("src", "srcset", "href", "action", "data", "poster")
    ]
    assert addresses == [("a", "#content")]
    assert "url(" not in page
    assert "@import" not in page
    assert "http" not in page.replace("http-equiv", "")
    policy = next(
        value for _, name, value in reader.attributes if name == "content" and "src" in value
    )
    assert policy.startswith("default-src 'none'")


def test_own_script_cannot_end_early():
    script = files("hardwood.audit.report").joinpath("page.js").read_text("utf-8")
    assert not re.search(r"</|<!--|<script", script, re.IGNORECASE)


# --- settings -------------------------------------------------------------------------------------


def test_the_chart_shows_every_setting_and_the_one_chosen(forest_and_data):
    forest, _ = forest_and_data
    table = forest.adaptation_
    chart = settings_chart(table)
    assert chart.n_settings == len(table) == sum(len(panel.points) for panel in chart.panels)
    assert sum(panel.chosen is not None for panel in chart.panels) == 1
    heights = [y for panel in chart.panels for _, y in panel.points]
    assert heights[int(table.score.argmax())] == min(heights)  # the best is the highest
    assert heights[int(table.chosen.argmax())] == pytest.approx(chart.level)
    assert heights[int(table.score.argmin())] == max(heights)
    for panel in chart.panels:
        xs = [x for x, _ in panel.points]
        assert xs == sorted(xs)
        assert chart.left <= xs[0] < xs[-1] <= chart.right
    for y in (tick.place for tick in chart.y_ticks):
        assert 0 <= y <= chart.bottom


def test_a_forest_that_adapted_nothing_has_no_chart(tmp_path):
    assert settings_chart(None) is None
    X, y = np.zeros((400, 1)), np.arange(400) % 3
    forest = RobustForestClassifier(2, random_state=0).fit(X, y)
    assert "How the forest chose" not in write(made_up_findings(forest=forest, X=X), tmp_path)


def test_where_nothing_can_be_learnt_the_chart_leaves_the_trees_as_they_are(rng):
    X, y = rng.normal(size=(200, 2)), rng.integers(2, size=200)
    forest = AdaptiveForestClassifier(20, random_state=0).fit(X, y)
    chart = settings_chart(forest.adaptation_, forest.decision_reason_)
    assert chart.chosen == "keep the trees fully grown"
    assert chart.reason == forest.decision_reason_


@pytest.mark.parametrize("low", [0.0, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("span", [0.0, 0.0003, 0.004, 0.03, 0.0986, 0.2, 0.6, 0.9999, 1.0])
def test_ticks_are_few_and_span_the_range(low, span):
    from hardwood.audit.report.settings_chart import _decimals, _y_ticks

    ticks = _y_ticks(low, low + span)
    assert 2 <= len(ticks) <= 6
    assert ticks[0] <= low + 1e-9
    assert ticks[-1] >= low + span - 1e-9
    texts = [words.percent(tick, _decimals(ticks)) for tick in ticks]
    assert len(set(texts)) == len(texts)


# --- what cleaning gains --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gained", "said"),
    [
        (
            (0.018, 0.003),
            "Yes. A model trained on the cleaned rows is more accurate, by 1.8 points.",
        ),
        (
            (-0.018, 0.003),
            "No. A model trained on the cleaned rows is less accurate, by 1.8 points.",
        ),
        ((0.005, 0.003), "Not measurably."),
        ((0.0, 0.0), "Not measurably."),
    ],
)
def test_the_gain_is_said_in_words(gained, said, tmp_path):
    found = Gain(800, 100, (0.99, 0.01), (0.99 + gained[0], 0.01), gained)
    page = Reader(write(made_up_findings(gain=found), tmp_path))
    assert said in page.prose
    assert "all rows 800" in page.prose
    assert "cleaned rows 700" in page.prose
    assert "−100" in page.prose
    assert not re.search(r"\b10[1-9]\.\d ±", page.prose)  # no accuracy above 100 %


# --- the file -------------------------------------------------------------------------------------


def test_an_old_report_is_replaced_whole(tmp_path, monkeypatch):
    write(made_up_findings(), tmp_path, title="first")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write(made_up_findings(), tmp_path, title="second")
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert "first" in (tmp_path / "report.html").read_text("utf-8")


def test_no_file_can_be_where_there_is_no_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist; create it first"):
        write_report(made_up_findings(), tmp_path / "no" / "report.html")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_report(made_up_findings(), tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(PermissionError, match="no permission to write"):
        write_report(made_up_findings(), tmp_path / "report.html")


def test_a_missing_jinja2_is_named_with_its_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"Jinja2.*hardwood\[report\]"):
        write_report(made_up_findings(), tmp_path / "report.html")


@pytest.mark.parametrize("max_rows", [0, -1, 2.5, True, "10"])
def test_max_rows_must_be_a_count(max_rows, tmp_path):
    with pytest.raises(ValueError, match="max_rows must be an integer of at least 1"):
        write_report(made_up_findings(), tmp_path / "report.html", max_rows=max_rows)


@pytest.mark.parametrize("classes", [(0, 1), (False, True), (-1.5, 2.0), ("1", "2")])
def test_labels_of_any_type_are_shown(classes, tmp_path):
    page = Reader(write(made_up_findings(classes=classes), tmp_path))
    assert page.data["classes"] == [words.as_text(label) for label in classes]
