"""What a fitted adaptive forest keeps, how it predicts, and how it is stored."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hardwood._core.base_forest import BaggedForest
from hardwood._core.grow import TrainingSet
from hardwood._core.model import estimator
from hardwood._core.validation import MAX_ROWS
from hardwood._io.frames import frame, table_from_stored
from hardwood._io.onnx import Decision
from hardwood._io.storing import Stored
from hardwood.adaptive._choice import Choice
from hardwood.adaptive._findings import LabelFindings
from hardwood.noise.checks import Array, proba_from_votes
from hardwood.noise.correction import AS_IS, Unmixed
from hardwood.noise.matrices import check_matrix
from hardwood.noise.sharpening import Sharpening

_STORED = (
    *("_adaptation", "_unmixed", "_sharpening", "oob_votes_", "oob_n_votes_", "class_prior_"),
    *("decision_", "decision_reason_", "splitter_", "noise_matrix_", "noise_rate_", "n_copies_"),
    *("_n_drawn", "_votes_again"),
)
FITTED = (*_STORED, "_compact", "_groups", "oob_decision_function_", "oob_score_")


@estimator
class AdaptedForest(BaggedForest):
    """A forest whose votes are turned into probabilities of the true classes. Subclasses fit it."""

    # --- what was found -------------------------------------------------------------------------

    def _set_choice(self, choice: Choice) -> None:
        self._adaptation = choice.adaptation
        self._unmixed = choice.unmixed
        self._sharpening = choice.labels.sharpening
        splitters = {setting.cuts.splitter for setting, _ in choice.parts}
        self.splitter_ = splitters.pop() if len(splitters) == 1 else "mixed"
        self.decision_ = "corrected" if choice.is_corrected else "plain"
        self.decision_reason_ = choice.reason
        self._set_noise(choice.labels)

    def _set_noise(self, found: LabelFindings) -> None:
        self.noise_matrix_, self.noise_rate_ = found.noise_matrix, found.noise_rate
        self.class_prior_ = found.class_prior

    def _estimate_noise(self, data: TrainingSet, T: Array | None) -> None:
        """Estimate the noise from the votes on all rows, as an audit of this forest does."""
        if self.noise_matrix_ is None or len(data.classes) == 1:
            return
        votes = self.oob_votes_ if data.kept is None else self.oob_votes_[data.kept]
        labels = data.labels.astype(np.intp)
        scores = proba_from_votes(votes, labels, data.classes)
        if self._unmixed is not None:
            scores = self._unmixed.scores(scores)
        n_votes, is_weighted = self.oob_n_votes_, self.class_weight is not None
        found = LabelFindings.of(scores, labels, data.weights, n_votes, T, not is_weighted)
        if is_weighted and data.weights is not None:
            found = found.without_class_weights(scores, labels, data.weights, n_votes)
        self._set_noise(found)

    # --- predict --------------------------------------------------------------------------------

    def predict_proba(self, X: Any, *, noisy: bool = False) -> NDArray[np.float64]:
        """Return the probabilities of the true classes.

        They follow from the votes of the trees, which are probabilities of the noisy labels. Noise
        and smoothing make votes less sure than they could be: the probabilities are sharper, as far
        as the labels of out-of-bag rows justify it. Unless the decision is corrected, the most
        probable class is the one with most votes.

        Parameters
        ----------
        {X}

        noisy : bool, default=False
            Whether to return the probabilities of the observed labels instead: the mean of the class
            proportions in each row's leaves.

        {returns_probabilities}
        """
        votes = super().predict_proba(X)
        return votes if noisy else self._mapped(votes)

    def _mapped(self, votes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities of the true classes from the mean votes for the labels."""
        scores = votes if self._unmixed is None else self._unmixed.scores(votes)
        return self._sharpening.probabilities(scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class, or as `decision` says.

        {takes_X, returns_classes}
        """
        proba = self.predict_proba(X)
        if self.decision == "balanced":
            proba = proba / np.maximum(self.class_prior_, np.finfo(np.float64).tiny)
        labels: NDArray[Any] = self.classes_.take(np.argmax(proba, axis=1))
        return labels

    def _decision(self) -> Decision:
        sharpening, unmixed = self._sharpening, self._unmixed
        return Decision(
            sharpening.even,
            sharpening.exponents,
            sharpening.offsets,
            sharpening.weights,
            unmix=None
            if unmixed is None
            else np.asarray(np.linalg.inv(unmixed.M), dtype=np.float64),
            as_is=AS_IS,
            prior=self.class_prior_ if self.decision == "balanced" else None,
        )

    def to_sklearn(self, X: Any = None) -> Any:
        """Return a genuine scikit-learn forest with the same trees.

        Its probabilities are those of ``predict_proba(X, noisy=True)``: the votes, without the map
        to probabilities of the true classes, which scikit-learn's forests cannot carry. Unless the
        decision is corrected or balanced, it predicts the same classes.

        {rounds_X}

        Returns
        -------
        forest : sklearn.ensemble.RandomForestClassifier
            A fitted forest.
        """
        return super().to_sklearn(X)

    # --- files ----------------------------------------------------------------------------------

    def _to_stored(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in _STORED if hasattr(self, name)}
        return super()._to_stored() | own

    @classmethod
    def _from_stored(cls, stored: Stored) -> Self:
        forest = super()._from_stored(stored)
        n_classes = forest.n_classes_
        forest._unmixed = stored.instance("_unmixed", Unmixed | None)
        forest._sharpening = stored.instance("_sharpening", Sharpening)
        if forest._unmixed is not None and len(forest._unmixed.M) != n_classes:
            raise stored.wrong("_unmixed", f"for {n_classes} classes")
        if forest._sharpening.n_classes != n_classes:
            raise stored.wrong("_sharpening", f"for {n_classes} classes")
        forest.class_prior_ = stored.array("class_prior_", "f8", (n_classes,))
        forest.splitter_ = stored.instance("splitter_", str)
        forest.decision_ = stored.instance("decision_", str)
        if forest.decision_ not in ("plain", "corrected"):
            raise stored.wrong("decision_", "'plain' or 'corrected'")
        forest.decision_reason_ = stored.instance("decision_reason_", str)
        forest.noise_matrix_ = None
        if stored["noise_matrix_"] is not None:
            T = stored.array("noise_matrix_", "f8", (n_classes, n_classes))
            forest.noise_matrix_ = check_matrix(T, "noise_matrix_")
        forest.noise_rate_ = stored.instance("noise_rate_", float)
        forest.n_copies_ = stored.integer("n_copies_", 0, MAX_ROWS)
        forest._n_drawn = stored.integer("_n_drawn", 0, len(forest._compact))
        forest._adaptation = table_from_stored(stored, "_adaptation")
        if "oob_votes_" in stored:
            forest.oob_votes_ = stored.array("oob_votes_", "f8", (None, n_classes))
            forest.oob_n_votes_ = stored.number("oob_n_votes_")
        if "_votes_again" in stored:
            if "oob_votes_" not in stored:
                raise stored.wrong("_votes_again", "stored with oob_votes_")
            forest._votes_again = stored.array("_votes_again", "f8", forest.oob_votes_.shape)
        return forest

    @property
    def joined_features_(self) -> list[tuple[int, int]]:
        """The pairs of features with categories that trees also see joined."""
        check_is_fitted(self)
        return [(pair.first, pair.second) for pair in self._pairs]

    @property
    def adaptation_(self) -> Any:
        """Every setting considered, with its out-of-bag score and error, a pandas DataFrame."""
        check_is_fitted(self)
        return frame(self._adaptation)
