"""A tree in words: what its nodes ask, what they answer, and all of it as text."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hardwood._core.compact import CompactForest, ExpandedTree
from hardwood._core.docs import fill_docs
from hardwood._core.pairs import Pair


class TreeWords:
    """The nodes of a fitted tree in words.

    Parameters
    ----------
    tree : RobustTreeClassifier
        A fitted tree.
    feature_names : sequence of str or None
        Names of the features; None takes those of the fit.
    class_names : sequence of str or None
        Names of the classes; None takes the labels.
    decimals : int
        Digits after the decimal point.
    max_categories : int
        Number of categories to name in a set.
    """

    def __init__(
        self,
        tree: Any,
        feature_names: Sequence[str] | None,
        class_names: Sequence[str] | None,
        decimals: int,
        max_categories: int,
    ) -> None:
        check_is_fitted(tree)
        if not isinstance(getattr(tree, "_compact", None), CompactForest) or len(tree._compact) > 1:
            raise TypeError(
                "tree must be a fitted decision tree of hardwood, such as RobustTreeClassifier() or "
                f"forest.estimators_[0], but got {tree!r}."
            )
        self._compact: CompactForest = tree._compact
        self.nodes: ExpandedTree = tree._compact.expand()
        self._is_set = tree._compact.are_sets()
        self._categories = [
            None if known is None else [str(category) for category in known]
            for known in tree.categories_
        ]
        self._features = _names(
            feature_names,
            getattr(tree, "feature_names_in_", None),
            [f"feature_{j}" for j in range(tree.n_features_in_)],
            "feature_names",
        )
        for pair in tree._pairs:
            self._features.append(f"({self._features[pair.first]}, {self._features[pair.second]})")
            self._categories.append(self._joint_categories(pair))
        self._classes = _names(class_names, None, tree.classes_, "class_names")
        self._decimals, self._max_categories = decimals, max_categories

    def is_leaf(self, node: int) -> bool:
        """Return whether a node has no children."""
        return bool(self.nodes["left_child"][node] < 0)

    def children(self, node: int) -> tuple[int, int]:
        """Return the left child and the right child."""
        return int(self.nodes["left_child"][node]), int(self.nodes["right_child"][node])

    def conditions(self, node: int) -> tuple[str, str]:
        """Return what holds for the rows that go left, and for those that go right.

        Rows with a missing value or a category that the split does not know are "not in" its set.
        """
        feature = self._features[self.nodes["feature"][node]]
        if not self._is_set[node]:
            threshold = f"{self.nodes['threshold'][node]:.{self._decimals}f}"
            return f"{feature} <= {threshold}", f"{feature} >  {threshold}"
        inside, outside = (f"{feature} {word} {self._set(node)}" for word in ("in", "not in"))
        return (outside, inside) if self.nodes["missing_go_to_left"][node] else (inside, outside)

    def _set(self, node: int) -> str:
        numbers = self._compact.category_set(node)
        known = self._categories[self.nodes["feature"][node]]
        names = [str(number) if known is None else known[number] for number in numbers]
        if len(names) > self._max_categories:
            n_more = len(names) - self._max_categories
            names = [*names[: self._max_categories], f"… {n_more} more"]
        return "{" + ", ".join(names) + "}"

    def _joint_categories(self, pair: Pair) -> list[str]:
        """Return the joint categories of a pair by number."""
        sides = ((pair.first, pair.n_first), (pair.second, pair.n_second))
        names = (self._categories[column] or list(map(str, range(n))) for column, n in sides)
        return [f"({a}, {b})" for a, b in product(*names)]

    def majority(self, node: int) -> int:
        """Return the index of the class that a node predicts."""
        return int(np.argmax(self.nodes["value"][node]))

    def majority_name(self, node: int) -> str:
        """Return the name of that class."""
        return self._classes[self.majority(node)]

    def shares(self, node: int) -> str:
        """Return the class probabilities."""
        return "[" + ", ".join(f"{p:.{self._decimals}f}" for p in self.nodes["value"][node]) + "]"


@fill_docs
def export_text(
    tree: Any,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int = 10,
    decimals: int = 2,
    max_categories: int = 10,
    show_weights: bool = False,
) -> str:
    """Return the rules of a tree as text, like scikit-learn's function of this name.

    It also shows splits by sets of categories. Rows with a missing value, or with a category that
    the split has not met, are "not in" its set.

    Parameters
    ----------
    {words_of_tree}

    show_weights : bool, default=False
        Whether to show the class probabilities of the leaves.

    Returns
    -------
    text : str
        A line for each branch and each leaf.

    Examples
    --------
    >>> import pandas as pd
    >>> from hardwood import RobustTreeClassifier
    >>> from hardwood.plotting import export_text
    >>> X = pd.DataFrame({"color": ["red", "green", "blue", "green"], "size": [1, 2, 3, 4]})
    >>> tree = RobustTreeClassifier(random_state=0).fit(X, ["no", "yes", "no", "yes"])
    >>> print(export_text(tree))
    |--- color in {blue, red}
    |   |--- class: no
    |--- color not in {blue, red}
    |   |--- class: yes
    <BLANKLINE>
    """
    words = TreeWords(tree, feature_names, class_names, decimals, max_categories)
    lines: list[str] = []

    def write(node: int, depth: int) -> None:
        indent = "|   " * depth + "|--- "
        if words.is_leaf(node):
            shares = f"weights: {words.shares(node)} " if show_weights else ""
            lines.append(f"{indent}{shares}class: {words.majority_name(node)}")
        elif depth > max_depth:
            lines.append(f"{indent}truncated branch")
        else:
            for condition, child in zip(words.conditions(node), words.children(node), strict=True):
                lines.append(indent + condition)
                write(child, depth + 1)

    write(0, 0)
    return "\n".join(lines) + "\n"


def _names(
    given: Sequence[str] | None,
    fitted: NDArray[Any] | None,
    default: Sequence[Any] | NDArray[Any],
    argument: str,
) -> list[str]:
    if given is not None and len(given) != len(default):
        raise ValueError(f"{argument} must have {len(default)} names, got {len(given)}.")
    chosen = given if given is not None else fitted if fitted is not None else default
    return [str(name) for name in chosen]
