"""Forests on text: fit and prediction times on a sparse TF-IDF matrix, relative to scikit-learn.

The corpus is made up, with the shape of 20 Newsgroups: 11,314 training and 7,532 test documents of
20 classes, and about 130,000 different words. Words are drawn from a distribution like Zipf's, and
some of each document's from the favourite words of its class.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer

from hardwood import RobustExtraTreesClassifier, RobustForestClassifier
from hardwood.noise import corrupt, uniform
from lab import options
from lab.benchmarks.memory import memory, reset_peak
from lab.benchmarks.timing import interleaved
from lab.library import versions
from lab.tables import as_markdown

N_TRAIN, N_TEST, N_CLASSES = 11_314, 7_532, 20
N_WORDS = 165_000  # that could occur

COLUMNS = (
    *("noise", "model", "fit (s)", "× as fast", "predict (s)", "× as fast"),
    *("peak memory (MB)", "test accuracy (%)"),
)


class Corpus(NamedTuple):
    """Documents as TF-IDF, with their classes."""

    X_train: csr_matrix
    y_train: NDArray[Any]
    X_test: csr_matrix
    y_test: NDArray[Any]


def bench(
    noise: options.Rates = None,
    trees: options.Trees = 100,
    rounds: options.Rounds = 3,
    threads: options.Threads = 1,
) -> None:
    """Measure forests on a sparse matrix: time and memory of fits and predictions."""
    rates = options.choose_rates(noise, (0.0, 0.3))
    corpus = make_corpus()
    X = corpus.X_train
    print(as_markdown(COLUMNS, measure(corpus, rates, trees, rounds, threads), n_text_columns=2))
    print(f"\n{X.shape[0]:,} × {X.shape[1]:,}, {X.nnz:,} stored values; {trees} trees,", end=" ")
    print(f"{threads} threads; {versions(['hardwood', 'scikit-learn', 'numpy'])}")


def make_corpus(n_train: int = N_TRAIN, n_test: int = N_TEST, n_words: int = N_WORDS) -> Corpus:
    """Make documents up, always the same."""
    random = np.random.default_rng(0)
    n = n_train + n_test
    y = random.integers(N_CLASSES, size=n)
    common = 1 / (np.arange(n_words) + 2.7) ** 1.07
    is_favourite = random.random((N_CLASSES, n_words)) < 0.02
    is_favourite[:, :50] = False  # no class has words such as "the" to itself
    of_class = [np.cumsum(common * favourite) for favourite in is_favourite]
    of_all = np.cumsum(common)
    lengths = np.maximum(20, random.lognormal(5.1, 0.8, n)).astype(int)

    def draw(cumulative: NDArray[Any], size: int) -> NDArray[np.intp]:
        drawn: NDArray[np.intp] = np.searchsorted(cumulative, random.random(size) * cumulative[-1])
        return drawn

    documents = []
    for label, length in zip(y, lengths, strict=True):
        n_own = length // 8
        words = np.concatenate([draw(of_all, length - n_own), draw(of_class[label], n_own)])
        documents.append(" ".join(f"word{word}" for word in words))
    vectorizer = TfidfVectorizer()
    X_train = vectorizer.fit_transform(documents[:n_train])
    return Corpus(X_train, y[:n_train], vectorizer.transform(documents[n_train:]), y[n_train:])


def measure(
    corpus: Corpus, rates: list[float], trees: int, rounds: int, threads: int
) -> Iterator[list[str]]:
    shared: dict[str, Any] = {"n_estimators": trees, "random_state": 0, "n_jobs": threads}
    for rate in rates:
        y, _ = corrupt(corpus.y_train, uniform(N_CLASSES, rate), random_state=0)
        for kind, peer, own in (
            ("forest", RandomForestClassifier, RobustForestClassifier),
            ("extra trees", ExtraTreesClassifier, RobustExtraTreesClassifier),
        ):
            models: dict[str, Any] = {
                f"scikit-learn, {kind}": peer(**shared),
                f"hardwood, {kind}, gini": own(criterion="gini", **shared),
                f"hardwood, {kind}, ne": own(criterion="ne", **shared),
            }
            fits = interleaved(
                {name: partial(model.fit, corpus.X_train, y) for name, model in models.items()},
                rounds,
            )
            predictions = interleaved(
                {name: partial(model.predict, corpus.X_test) for name, model in models.items()},
                rounds,
            )
            first = next(iter(models))
            for name, model in models.items():
                reset_peak()
                accuracy = model.fit(corpus.X_train, y).score(corpus.X_test, corpus.y_test)
                peak = memory("VmHWM")
                yield [
                    f"{100 * rate:.0f}%",
                    name,
                    f"{fits[name].wall:.3g}",
                    f"{fits[first].cpu / fits[name].cpu:.2f}",
                    f"{predictions[name].wall:.3g}",
                    f"{predictions[first].cpu / predictions[name].cpu:.2f}",
                    "" if peak is None else f"{peak / 1e6:,.0f}",
                    f"{100 * accuracy:.1f}",
                ]
