"""How far the estimated share of wrong labels may be off."""

from __future__ import annotations

import numpy as np

from hardwood.noise.checks import Array, Labels
from hardwood.noise.estimation import NoiseModel, fit_noise_model

_RESAMPLES = 20
# A resample of more rows is drawn smaller; its spread is scaled by √(rows / all rows).
_MOST_ROWS = 2_000
# A fit to a resample starts from the fit to all rows, which is near.
_ITERATIONS = 20
_ERRORS = 2.0
# A label is wrong beyond doubt from this probability on.
_BEYOND_DOUBT = 0.9


def noise_rate_interval(
    model: NoiseModel, proba: Array, labels: Labels, random_state: int
) -> tuple[float, float]:
    """Return a low and a high estimate of the share of wrong labels.

    Two doubts are added up. *Chance*: two standard errors, from fits to rows drawn with
    replacement. *Bias*, which no resampling shows: classes that overlap look like noise, and noise
    that is learnt does not. At least the labels wrong beyond doubt are wrong, and hardly more than
    those that the probabilities contradict; the interval goes half of the way to either.
    """
    n_rows = len(labels)
    rng = np.random.default_rng(random_state)
    size = min(n_rows, _MOST_ROWS)
    rates = []
    for _ in range(_RESAMPLES):
        rows = rng.integers(0, n_rows, size)
        resampled = fit_noise_model(
            proba[rows], labels[rows], start=model, max_iterations=_ITERATIONS
        )
        rates.append(resampled.noise_rate(proba[rows], labels[rows]))
    chance = _ERRORS * float(np.std(rates)) * np.sqrt(size / n_rows)
    wrong = model.wrong(proba, labels)
    rate = wrong.mean()
    certain = np.mean(wrong > _BEYOND_DOUBT)
    contradicted = np.mean(model.truth(proba).argmax(axis=1) != labels)
    low = min(rate, (rate + certain) / 2) - chance
    high = max(rate, (rate + contradicted) / 2) + chance
    return max(0.0, float(low)), min(1.0, float(high))
