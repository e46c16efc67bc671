"""The page and its file. What it does in a browser: test_report_browser.py."""

import re
import sys
from importlib.resources import files

import pytest
from audits import Reader, made_up_findings, write

from hardwood.audit.gain import Gain
from hardwood.audit.report import words, write_report

pytest.importorskip("jinja2", reason="the report needs Jinja2: hardwood[report]")


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


def test_own_scripts_cannot_end_early():
    scripts = [
        file for file in files("hardwood.audit.report").iterdir() if file.name.endswith(".js")
    ]
    assert len(scripts) > 3
    for script in scripts:
        assert not re.search(r"</|<!--|<script", script.read_text("utf-8"), re.IGNORECASE)
