"""What an audit tells about the people who gave the labels."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hardwood._io.frames import frame
from hardwood.audit.annotators import Annotations, agreement_table, annotators_table
from hardwood.audit.consensus import Consensus
from hardwood.noise.checks import Array, Labels


class AnnotatorMethods:
    """What `LabelAudit` knows if several people labelled the rows."""

    classes_: NDArray[Any]
    _labels: Labels
    _annotations: Annotations | None
    _consensus: Consensus | None

    @property
    def consensus_(self) -> Any:
        """The most probable label of each row, given the labels of several people."""
        self._check_annotators("consensus_")
        return self.classes_[self._labels]

    @property
    def annotators_(self) -> Any:
        """One line per annotator, as a pandas DataFrame."""
        annotations, consensus = self._check_annotators("annotators_")
        return frame(annotators_table(annotations, consensus))

    @property
    def annotator_noise_matrices_(self) -> Array:
        """The noise matrix of each annotator, an array of shape (n_annotators, n_classes, n_classes)."""
        return self._check_annotators("annotator_noise_matrices_")[1].matrices

    @property
    def annotator_agreement_(self) -> Any:
        """One line per pair of annotators, those that disagree most first, as a pandas DataFrame."""
        return frame(agreement_table(self._check_annotators("annotator_agreement_")[0]))

    def _check_annotators(self, name: str) -> tuple[Annotations, Consensus]:
        check_is_fitted(self)
        if self._annotations is None or self._consensus is None:
            raise AttributeError(
                f"{name} requires labels from several people. Pass y with one column for each person."
            )
        return self._annotations, self._consensus
