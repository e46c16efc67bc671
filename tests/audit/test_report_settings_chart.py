"""The chart of the settings that an adaptive forest compared."""

import numpy as np
import pytest
from audits import made_up_findings, write

from hardwood import AdaptiveForestClassifier, RobustForestClassifier
from hardwood.audit.report import words
from hardwood.audit.report.settings_chart import _decimals, _y_ticks, settings_chart

pytest.importorskip("jinja2", reason="the report needs Jinja2: hardwood[report]")


def test_the_chart_shows_every_setting_and_the_one_chosen(forest_and_data):
    forest, _ = forest_and_data
    table = forest.adaptation_
    chart = settings_chart(table)
    assert chart.n_settings == len(table)
    for row in table[table.chosen].itertuples():
        assert f"in trees with {row.splitter} cuts of {row.max_features} features" in chart.chosen
    largest = table.loc[table.share.idxmax()]
    is_shown = (table.splitter == largest.splitter) & (table.max_features == largest.max_features)
    table = table[is_shown].reset_index(drop=True)
    assert 0 < len(table) < chart.n_settings
    assert len(table) == sum(len(panel.points) for panel in chart.panels)
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


def test_the_chart_says_how_decisions_are_made(rng):
    X = rng.normal(size=(200, 2))
    forest = AdaptiveForestClassifier(20, random_state=0).fit(X, X[:, 0] > 0)
    chart = settings_chart(forest.adaptation_, forest.decision_reason_)
    assert chart.reason == forest.decision_reason_
    assert not chart.is_corrected
    assert settings_chart(forest.adaptation_, "told", True).is_corrected


def test_a_mixture_is_told_in_words(forest_and_data):
    forest, _ = forest_and_data
    table = forest.adaptation_.assign(share=0.0, chosen=False)
    one = table.assign(share=np.eye(len(table))[0], chosen=np.arange(len(table)) == 0)
    chart = settings_chart(one)
    assert not chart.is_mixed
    assert "of the trees" not in chart.chosen
    last = table.index[-1]
    two = one.copy()
    two.loc[[0, last], "share"] = [0.25, 0.75]
    two.loc[last, "chosen"] = True
    chart = settings_chart(two)
    assert chart.is_mixed
    assert chart.chosen.endswith("(25\xa0% of the trees)")
    assert "(75\xa0% of the trees); and keep the trees fully grown" in chart.chosen


@pytest.mark.parametrize("low", [0.0, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("span", [0.0, 0.0003, 0.004, 0.03, 0.0986, 0.2, 0.6, 0.9999, 1.0])
def test_ticks_are_few_and_span_the_range(low, span):
    ticks = _y_ticks(low, low + span)
    assert 2 <= len(ticks) <= 6
    assert ticks[0] <= low + 1e-9
    assert ticks[-1] >= low + span - 1e-9
    texts = [words.percent(tick, _decimals(ticks)) for tick in ticks]
    assert len(set(texts)) == len(texts)
