"""The share of wrong labels, and an interval around it."""

from __future__ import annotations

import numpy as np

from hardwood.noise.checks import Array, Labels
from hardwood.noise.estimation import NoiseModel, fit_noise_model

_RESAMPLES = 20
# Larger tables are resampled with this many rows; the spread is scaled by √(size / all rows).
_MAX_ROWS = 2_000
# Few are enough: fits to resamples start from the fit to all rows.
_ITERATIONS = 20
_STANDARD_ERRORS = 2.0
# A label counts as certainly wrong above this probability.
_CERTAIN = 0.9


def noise_rate_interval(
    model: NoiseModel, proba: Array, labels: Labels, random_state: int
) -> tuple[float, float]:
    """Return a low and a high estimate of the share of wrong labels.

    The interval allows for *chance*, with two standard errors from bootstrap fits, and for *bias*,
    which resampling cannot show: overlapping classes look like noise, and noise that the model
    learnt does not. The share of certainly wrong labels bounds the rate from below, the share of
    labels that the probabilities contradict (roughly) from above. The interval extends half of the
    way to either.
    """
    n_rows = len(labels)
    rng = np.random.default_rng(random_state)
    size = min(n_rows, _MAX_ROWS)
    rates = []
    for _ in range(_RESAMPLES):
        rows = rng.integers(0, n_rows, size)
        resampled = fit_noise_model(
            proba[rows], labels[rows], start=model, max_iterations=_ITERATIONS
        )
        rates.append(resampled.noise_rate(proba[rows], labels[rows]))
    chance = _STANDARD_ERRORS * float(np.std(rates)) * np.sqrt(size / n_rows)
    wrong = model.wrong(proba, labels)
    rate = wrong.mean()
    certain = np.mean(wrong > _CERTAIN)
    contradicted = np.mean(model.truth(proba).argmax(axis=1) != labels)
    low = min(rate, (rate + certain) / 2) - chance
    high = max(rate, (rate + contradicted) / 2) + chance
    return max(0.0, float(low)), min(1.0, float(high))
