"""The rows to review, and hostile text in them."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from audits import HOSTILE, Reader, issues_of, made_up_findings, write
from hypothesis import given
from hypothesis import strategies as st

from hardwood.audit.report import words
from hardwood.audit.report.suspects import find_suspects

pytest.importorskip("jinja2", reason="the report needs Jinja2: hardwood[report]")


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


def test_hostile_text_stays_text(tmp_path, forest_and_data):
    forest, X = forest_and_data
    names = list(HOSTILE[:4])
    findings = made_up_findings(classes=HOSTILE, forest=forest, X=X, feature_names=names)
    # The forest knows three classes only.
    three = (findings.given < 3) & (findings.suggested < 3)
    findings = replace(findings, is_issue=findings.is_issue & three)
    page = Reader(write(findings, tmp_path, title=HOSTILE[0]))
    assert page.tags.count("script") == 3
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


def test_rows_that_are_no_table_have_no_values(tmp_path):
    page = Reader(write(made_up_findings(X=["a text"] * 400), tmp_path))
    assert page.data["others"][0] == []


def test_sparse_rows_show_their_values(tmp_path):
    from scipy.sparse import csr_matrix

    X = np.diag(np.arange(1.0, 401))
    pages = [Reader(write(made_up_findings(X=each), tmp_path)) for each in (X, csr_matrix(X))]
    assert pages[0].data["others"] == pages[1].data["others"] != []


def test_decided_rows_are_left_out(tmp_path):
    findings = made_up_findings()
    decided = np.zeros(400, dtype=bool)
    decided[issues_of(findings).index[:10]] = True
    page = Reader(write(replace(findings, decided=decided), tmp_path))
    assert page.data["row"] == issues_of(findings).index[10:].to_list()
    assert "already decided 10" in page.prose or "10 already decided" in page.prose


def test_as_many_rows_as_fit():
    suspects = find_suspects(made_up_findings(4000, n_issues=2000), 2000)
    fitting, encoded = suspects.within(20_000)
    assert len(encoded) <= 20_000
    assert len(suspects.first(int(1.06 * len(fitting)) + 2).as_json()) > 20_000
