"""The model of the labels: its formulas, what it finds, and when it cannot tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from simulated_labels import simulate

from hardwood._io.storing import Decoder, Encoder
from hardwood.noise import class_conditional, corrupt, label_model, pair_flip, uniform
from hardwood.noise.label_model import (
    SURE,
    LabelModel,
    _labels_of,
    _wrong_labels_of,
    fit_label_model,
)
from hardwood.noise.sharpening import Sharpening
from hardwood.noise.vote_likelihoods import EXPONENTS, MIXED_IN, vote_likelihoods

Array = Any


def votes_on(T: Array, n_rows: int, rng: np.random.Generator, n_votes: int = 60) -> Any:
    """Return the true classes, noisy labels, and mean votes of trees that know P(observed | x)."""
    n_classes = len(T)
    true = rng.integers(0, n_classes, n_rows)
    labels, _ = corrupt(true, T, random_state=rng)
    scatter = rng.dirichlet(np.full(n_classes, 2.0), size=n_rows)
    chances = 0.7 * T[true] + 0.3 * scatter  # trees see neighbours of other classes
    votes = rng.multinomial(n_votes, chances) / n_votes
    return true, labels, votes


# --- formulas ------------------------------------------------------------------------------------


@pytest.mark.parametrize("weigh_the_same", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_likelihood_of_a_setting_is_the_largest_of_the_grid(
    n_classes: int, weigh_the_same: bool, rng: np.random.Generator
) -> None:
    votes = rng.gamma(1.0, size=(30, 2, n_classes)).astype(np.float32)
    n_votes = rng.integers(5, 15, 30)
    votes *= (n_votes / votes.sum(axis=2).T).T[:, :, np.newaxis]
    labels, weights = rng.integers(0, n_classes, 30), rng.exponential(size=30)
    weights = np.full(30, 0.3) if weigh_the_same else weights
    found = vote_likelihoods(votes, n_votes, labels, weights)
    even = 1 / n_votes.mean()
    # Unequal weights tell less than as many equal ones.
    scale = weights.sum() / np.square(weights).sum()
    for setting in range(2):
        best = -np.inf
        for a in EXPONENTS:
            for e in MIXED_IN:
                total = 0.0
                for i in range(30):
                    s = votes[i, setting] / n_votes[i]
                    p = ((s + even / n_classes) / (1 + even)) ** a
                    observed = (1 - e) * p[labels[i]] / p.sum() + e / n_classes
                    total += scale * weights[i] * np.log(observed)
                best = max(best, total)
        assert found[setting] == pytest.approx(best, rel=1e-5)


def test_sharpening_is_a_mean_of_powers(rng: np.random.Generator) -> None:
    s = rng.dirichlet(np.ones(3), size=20)
    offsets = np.array([[0.0, 0.0, 0.0], [0.1, -0.2, 0.3]])
    sharpening = Sharpening(np.array([2.0, 5.0]), offsets, np.array([0.4, 0.6]), 0.05)
    expected = np.zeros((20, 3))
    for a, b, weight in ((2, offsets[0], 0.4), (5, offsets[1], 0.6)):
        power = ((s + 0.05 / 3) * np.exp(b)) ** a
        expected += weight * power / power.sum(axis=1, keepdims=True)
    assert_allclose(sharpening.probabilities(s), expected)


@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_without_offsets_the_order_of_the_classes_stays(n_classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    _, labels, votes = votes_on(uniform(n_classes, 0.2), 80, rng)
    model = fit_label_model(votes, labels, may_differ=False)
    p = model.truth(votes)
    assert_allclose(p.sum(axis=1), 1)
    of_winner = p[np.arange(80), votes.argmax(axis=1)]
    assert_allclose(of_winner, p.max(axis=1), rtol=1e-12)


def test_a_wrong_label_follows_from_bayes_rule(rng: np.random.Generator) -> None:
    _, labels, votes = votes_on(pair_flip(3, 0.3), 2000, rng)
    model = fit_label_model(votes, labels)
    p = model.truth(votes)
    joint = p * model.T[:, labels].T
    right = joint[np.arange(2000), labels] / joint.sum(axis=1)
    assert_allclose(model.right(votes, labels), right, atol=1e-12)
    # A probability of 20/(n + 20) is kept for clean labels.
    wrong = (1 - right) * 2000 / 2020
    assert_allclose(model.wrong(votes, labels), wrong, atol=1e-12)
    assert model.noise_rate(votes, labels) == pytest.approx(np.mean(wrong))


# --- what it finds -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "T",
    [
        uniform(2, 0.0),
        uniform(2, 0.2),
        uniform(2, 0.3),
        uniform(4, 0.3),
        pair_flip(4, 0.3),
        class_conditional([0.05, 0.4]),
    ],
    ids=str,
)
def test_the_noise_is_found(T: Array, rng: np.random.Generator) -> None:
    true, labels, votes = votes_on(T, 6000, rng)
    model = fit_label_model(votes, labels, n_votes=60)
    rate = np.mean(labels != true)
    assert model.noise_rate(votes, labels) == pytest.approx(rate, abs=0.03)
    low, high = model.rate_interval
    assert low <= rate <= high
    assert high - low < 0.15
    assert_allclose(model.T, T, atol=0.06)
    assert model.can_tell
    # The probabilities of wrong labels are calibrated.
    wrong = model.wrong(votes, labels)
    for low, high in ((0.0, 0.2), (0.8, 1.0)):
        inside = (wrong >= low) & (wrong <= high)
        if inside.sum() > 100:
            assert wrong[inside].mean() == pytest.approx(
                np.mean((labels != true)[inside]), abs=0.06
            )


def test_different_rates_of_two_classes_move_the_threshold(rng: np.random.Generator) -> None:
    true, labels, votes = votes_on(class_conditional([0.05, 0.45]), 4000, rng)
    model = fit_label_model(votes, labels, n_votes=60)
    assert model.is_asymmetric
    corrected = np.mean(model.truth(votes).argmax(axis=1) == true)
    assert corrected > np.mean(votes.argmax(axis=1) == true) + 0.05
    plain = fit_label_model(votes, labels, n_votes=60, may_differ=False)
    assert not plain.is_asymmetric
    assert_array_equal(plain.truth(votes).argmax(axis=1), votes.argmax(axis=1))


def test_small_rates_do_not_move_it(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The threshold would hardly move, and whether it does would hang on the seed."""
    _, labels, votes = votes_on(class_conditional([0.0, 0.06]), 20_000, rng)
    assert not fit_label_model(votes, labels, n_votes=60).is_asymmetric
    monkeypatch.setattr(label_model, "_LEAST_RATE", 0.0)
    assert fit_label_model(votes, labels, n_votes=60).is_asymmetric


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_equal_rates_do_not_move_it(rate: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    _, labels, votes = votes_on(uniform(2, rate), 500, rng)
    assert not fit_label_model(votes, labels, n_votes=60).is_asymmetric


@pytest.mark.parametrize("T", [class_conditional([0.1, 0.4]), pair_flip(3, 0.3)], ids=str)
def test_a_known_matrix_is_used_as_it_is(T: Array, rng: np.random.Generator) -> None:
    true, labels, votes = votes_on(T, 2000, rng)
    model = fit_label_model(votes, labels, n_votes=60, T=T)
    assert_array_equal(model.T, T)
    assert model.noise_rate(votes, labels) == pytest.approx(np.mean(labels != true), abs=0.03)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_count_as_copies(n_classes: int, rng: np.random.Generator) -> None:
    _, labels, votes = votes_on(uniform(n_classes, 0.2), 1500, rng)
    weighted = fit_label_model(votes, labels, np.where(np.arange(1500) < 500, 2.0, 1.0))
    twice = np.r_[np.arange(1500), np.arange(500)]
    copied = fit_label_model(votes[twice], labels[twice])
    assert_allclose(weighted.T, copied.T, atol=0.02)
    scaled = fit_label_model(votes, labels, np.full(1500, 1e-200))
    assert_allclose(scaled.T, fit_label_model(votes, labels).T, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_labels_at_random_cannot_be_told(seed: int) -> None:
    rng = np.random.default_rng(seed)
    votes = rng.dirichlet(np.full(3, 5.0), size=200)
    assert not fit_label_model(votes, rng.integers(0, 3, 200)).can_tell


def test_exact_probabilities_need_sure_rows(rng: np.random.Generator) -> None:
    """If s is exact, only the prior tells noise from overlap."""
    true = rng.integers(0, 2, 4000)
    labels, _ = corrupt(true, uniform(2, 0.3), random_state=0)
    s = np.where(rng.random(4000) < 0.05, 0.5, 0.3 + 0.4 * true)
    exact = np.column_stack([1 - s, s])
    sure = fit_label_model(exact, labels, sure=SURE).noise_rate(exact, labels)
    assert sure == pytest.approx(0.3, abs=0.03)


@given(st.integers(1, 5), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_any_votes_give_a_model(n_classes: int, n_rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n_rows)
    votes = rng.multinomial(3, np.full(n_classes, 1 / n_classes), size=n_rows) / 3
    model = fit_label_model(votes, labels, n_votes=1)
    assert_allclose(model.T.sum(axis=1), 1)
    assert np.isfinite(model.truth(votes)).all()
    low, high = model.rate_interval
    assert 0 <= low <= high <= 1


# --- files ---------------------------------------------------------------------------------------


def stored(model: LabelModel) -> tuple[Any, list[Array]]:
    encoder = Encoder()
    return encoder.encode(model.sharpening), encoder.arrays


def test_a_sharpening_is_stored(rng: np.random.Generator) -> None:
    _, labels, votes = votes_on(uniform(3, 0.2), 300, rng)
    model = fit_label_model(votes, labels)
    header, arrays = stored(model)
    again = Decoder(arrays).decode(header)
    assert_array_equal(again.probabilities(votes), model.truth(votes))


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [(0, -1.0, "positive"), (1, np.nan, "finite"), (2, -0.5, "sum to 1"), (2, 7.0, "sum to 1")],
)
def test_a_damaged_sharpening_is_refused(
    place: int, value: float, message: str, rng: np.random.Generator
) -> None:
    _, labels, votes = votes_on(uniform(2, 0.2), 300, rng)
    header, arrays = stored(fit_label_model(votes, labels))
    arrays[place] = arrays[place].copy()
    arrays[place].flat[0] = value
    with pytest.raises(ValueError, match=message):
        Decoder(arrays).decode(header)


def test_wrong_labels_of_sure_rows_leave_the_rates_open() -> None:
    labels = np.array([0, 0, 0, 1, 1, 1, 0, 0, 2, 2, 0])
    surest = [np.arange(5), np.array([5, 6, 7, 8]), np.array([9, 10])]
    C = _wrong_labels_of(surest, labels, np.ones(11))
    assert_allclose(np.diag(C), 0.5)
    assert_allclose(C.sum(axis=1), 1)
    # With a prior of one label, a tenth of it for each other class.
    assert_allclose(C[0, 1:], 0.5 * np.array([2.1, 0.1]) / 2.2)
    assert_allclose(C[1, [0, 2]], 0.5 * np.array([2.1, 1.1]) / 3.2)


@pytest.mark.parametrize("reverse", [False, True])
def test_classes_are_mistaken_in_the_way_that_the_labels_tell(
    reverse: bool, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = simulate(pair_flip(3, 0.3), 2000, rng)

    def absurd(surest: Any, labels: Any, weights: Any) -> Array:
        return _labels_of(surest, labels, weights)[:, [1, 0, 2]]

    found = []
    for ways in ((_labels_of,), (_labels_of, absurd)):
        monkeypatch.setattr(
            "hardwood.noise.label_model._WAYS_TO_MISTAKE", ways[:: -1 if reverse else 1]
        )
        found.append(fit_label_model(data.proba, data.observed).T)
    assert_array_equal(*found)
