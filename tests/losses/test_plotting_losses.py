"""The figures of losses and impurities: what is drawn, and where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from scipy import stats

from hardwood.losses import (
    CrossEntropy,
    CustomLoss,
    DistributionLoss,
    MeanSquaredError,
    NegativeExponential,
    Sigmoid,
    ZeroOne,
)
from hardwood.plotting import figure_1, figure_8, impurity_curves, loss_curves, split_gains

plt.switch_backend("Agg")


@pytest.fixture
def ax() -> Axes:
    return Figure().subplots()


def names(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_losses_of_a_margin(ax: Axes) -> None:
    loss = NegativeExponential(mu=1)
    assert loss_curves({"NE": loss, "sigmoid": Sigmoid()}, ax=ax) is ax
    x, y = ax.lines[0].get_data()
    assert_allclose(y, np.minimum(1, np.exp(-np.asarray(x) - 1)))
    assert (ax.get_xlabel(), ax.get_ylabel(), names(ax)) == ("margin", "loss", ["NE", "sigmoid"])


def test_losses_over_the_simplex(ax: Axes) -> None:
    loss_curves({"CE": CrossEntropy(), "squared": MeanSquaredError(), "01": ZeroOne()}, ax=ax)
    assert "probability" in ax.get_xlabel()
    x, y = map(np.asarray, ax.lines[0].get_data())
    assert_allclose(y, -np.log(x))  # without the infinite end
    x, y = map(np.asarray, ax.lines[1].get_data())
    assert_allclose(y, 2 * (1 - x) ** 2)


@pytest.mark.parametrize("losses", [{}, {"CE": CrossEntropy(), "sigmoid": Sigmoid()}], ids=len)
def test_losses_without_a_common_axis(losses: Any, ax: Axes) -> None:
    with pytest.raises(ValueError, match="either all margin losses or all losses over the"):
        loss_curves(losses, ax=ax)


@pytest.mark.parametrize(
    ("loss", "formula"),
    [
        (MeanSquaredError(), lambda p: 2 * p * (1 - p)),
        (
            NegativeExponential(lam=0.5),
            lambda p: np.minimum.reduce([p, 1 - p, np.sqrt(p - p**2) / 2]),
        ),
        (CustomLoss(lambda y: (1 - y) ** 2), lambda p: p * (1 - p)),
        (DistributionLoss(stats.cauchy()), lambda p: np.minimum(p, 1 - p)),
        (lambda p: p * (1 - p), lambda p: p * (1 - p)),
    ],
    ids=["simplex", "margin", "custom", "distribution", "function"],
)
def test_any_impurity(loss: Any, formula: Any, ax: Axes) -> None:
    impurity_curves({"it": loss}, ax=ax)
    p, values = map(np.asarray, ax.lines[0].get_data())
    assert_allclose(values, formula(p), atol=1e-9)
    impurity_curves({"it": loss}, scaled=True, ax=ax)
    assert max(ax.lines[1].get_ydata()) == pytest.approx(0.5)
    assert ax.get_ylabel() == "impurity, scaled"


def test_what_has_no_impurity(ax: Axes) -> None:
    with pytest.raises(TypeError, match="function of p"):
        impurity_curves({"it": 3}, ax=ax)


def test_the_gap_is_the_gain(ax: Axes) -> None:
    split_gains(MeanSquaredError(), 0.4, {"one": (0.1, 0.6), "none": (0.4, 0.4)}, ax=ax)
    share = 0.6  # of the rows go right: 0.4 = 0.4·0.1 + 0.6·0.6
    gain = 2 * 0.4 * 0.6 - (1 - share) * 2 * 0.1 * 0.9 - share * 2 * 0.6 * 0.4
    assert names(ax) == [f"one: gain {gain:.3f}", "none: gain 0.000"]
    low, high = ax.lines[2].get_ydata()
    assert high - low == pytest.approx(gain)


def test_children_on_one_side_of_the_parent(ax: Axes) -> None:
    with pytest.raises(ValueError, match=r"parent=0\.5 must lie between the children"):
        split_gains(MeanSquaredError(), 0.5, {"wrong": (0.6, 0.8)}, ax=ax)


def test_figure_1() -> None:
    left, right = figure_1(Figure().subplots(1, 2))
    assert len(left.lines) == 4
    assert len(right.lines) == 8
    assert names(left) == ["NE, λ = 0.2", "NE, λ = 0.5", "NE, λ = 0.8", "CL (λ = 1)"]
    for line in right.lines:
        assert max(line.get_ydata()) == pytest.approx(0.5, abs=1e-6)


def test_figure_8_ranks_the_splits_in_opposite_ways() -> None:
    left, right = figure_8(Figure().subplots(1, 2))

    def gains(ax: Axes) -> list[float]:
        return [float(name.split()[-1]) for name in names(ax)]

    assert gains(left)[0] > gains(left)[1]
    assert gains(right)[0] < gains(right)[1]
    assert names(left)[0].startswith("pure child")


@pytest.mark.parametrize("draw", [figure_1, figure_8])
def test_axes_of_their_own(draw: Any) -> None:
    axes = draw()
    figure = axes[0].figure
    assert [figure.axes[0], figure.axes[1]] == axes
    figure.canvas.draw()
    plt.close(figure)


def test_the_current_axes() -> None:
    figure = plt.figure()
    assert impurity_curves({"Gini": MeanSquaredError()}) is plt.gca()
    assert loss_curves({"NE": NegativeExponential()}) is plt.gca()
    assert split_gains(Sigmoid(), 0.5, {"it": (0.1, 0.9)}) is plt.gca()
    plt.close(figure)
