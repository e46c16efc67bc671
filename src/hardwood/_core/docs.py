"""Descriptions of parameters and attributes that several docstrings share.

`fill_docs` writes them into the docstring of a function, or of a class and its methods. A placeholder is a
paragraph of its own, names of `DESCRIPTIONS` in braces::

    {n_estimators, criterion, max_depth}

    full_data : bool, default=True
        What only this class has.

Defaults are taken from the signature, so they are not written here.
"""

import inspect
import re
from collections.abc import Callable
from textwrap import fill, indent
from types import FunctionType
from typing import Any, TypeVar

from hardwood.criteria import RECORDS


def _names_of_criteria() -> str:
    """Return the names of the engine's criteria, with their aliases."""
    return ", ".join(
        " or ".join(f'"{name}"' for name in (record.name, *record.aliases))
        for record in RECORDS.values()
        if record.class_name
    )


DESCRIPTIONS = {
    # --- parameters of estimators ---
    "n_estimators": """\
n_estimators : int
    Number of trees.""",
    "criterion": "criterion : str or Criterion\n"
    + fill(
        "What splits improve: an object of :mod:`hardwood.criteria`, or one of the names "
        f"{_names_of_criteria()}. Use `FromLoss` or `CustomImpurity` for a criterion of your own.",
        width=96,
        initial_indent="    ",
        subsequent_indent="    ",
    ),
    "splitter": """\
splitter : {"best", "random"}
    "best" considers every threshold of a feature, "random" only a single random one.""",
    "max_depth": """\
max_depth : int or None
    Maximum depth of a tree. None means no limit.""",
    "min_samples_split": """\
min_samples_split : int or float
    Minimum number of rows required to split a node. A float is a fraction of all rows. Under
    bootstrap, a row that was drawn several times counts once.""",
    "min_samples_leaf": """\
min_samples_leaf : int or float
    Minimum number of rows in a leaf, counted as for `min_samples_split`.""",
    "min_weight_fraction_leaf": """\
min_weight_fraction_leaf : float
    Minimum fraction of the total weight in a leaf.""",
    "max_features": """\
max_features : int, float, "sqrt", "log2" or None
    Number of features to consider at each split, among those that vary in the node. A float is
    a fraction of all features, "sqrt" means the square root of their number, rounded up, "log2"
    its binary logarithm, and None all features.""",
    "max_leaf_nodes": """\
max_leaf_nodes : int or None
    Maximum number of leaves. The tree is then grown best-first. None means no limit, and so does
    any number that is not below the number of rows.""",
    "min_impurity_decrease": """\
min_impurity_decrease : float
    Minimum gain of a split, weighted by the node's share of the data. A split that gains nothing
    is never made.""",
    "bootstrap": """\
bootstrap : bool
    Whether each tree is grown from rows drawn with replacement. Otherwise it is grown from all
    rows.""",
    "oob_score": """\
oob_score : bool or callable
    Whether to estimate the accuracy out of bag: the trees that did not draw a row predict it. Pass
    a callable ``metric(y_true, y_pred)`` to use another metric.""",
    "n_jobs": """\
n_jobs : int or None
    Number of threads; −1 uses all processors. The forest is the same for any number.""",
    "tree_random_state": """\
random_state : int, RandomState instance or None
    Seed of random thresholds and of the order in which features are considered, which breaks
    ties. The trees of a forest have numbers of 2**64 or more, which grow the same tree again.""",
    "random_state": """\
random_state : int, RandomState instance or None
    Seed of the bootstrap draws, of random thresholds and of the order in which features are
    considered.""",
    "verbose": """\
verbose : int
    Whether to show a progress bar.""",
    "warm_start": """\
warm_start : bool
    Whether to keep the trees of the previous fit and add new ones.""",
    "class_weight": """\
class_weight : dict, "balanced" or None
    Weights of the classes.""",
    "forest_class_weight": """\
class_weight : dict, "balanced", "balanced_subsample" or None
    Weights of the classes. With `bootstrap` they multiply the probabilities of the draws.""",
    "ccp_alpha": """\
ccp_alpha : float
    Complexity parameter of minimal cost-complexity pruning.""",
    "max_samples": """\
max_samples : int, float or None
    Number of rows that each tree draws, or of groups if `fit` is given any. A float is a fraction
    of them. None means as many as there are.""",
    "monotonic_cst": """\
monotonic_cst : array-like of int of shape (n_features,) or None
    For each feature, whether the probability of the second class may only increase (1), may only
    decrease (−1), or is free (0). For two classes.""",
    "leaf_prediction": """\
leaf_prediction : {"distribution", "optimal"}
    What a leaf predicts: its class proportions, or the prediction that minimises the criterion's
    loss (Theorem 3 of the paper). The optimum is the majority class for "misclassification", the
    proportions for "gini" and "entropy", something between the two for "gce", and one or the
    other for "ne". Criteria that do not come from a loss have no optimal prediction.""",
    "categorical_features": """\
categorical_features : "from_dtype", array-like of bool, int or str, or None
    The features with categories, whose values have no order: a split sends any set of them to one
    side. "from_dtype" takes them from the column types of a data frame: `category`, `object` and
    string columns of pandas, `Categorical`, `Enum` and `String` of polars, dictionaries and
    strings of pyarrow. Or pass a mask, indices or names. None means that all features are numbers.""",
    "category_smoothing": """\
category_smoothing : float
    Number of rows, with the class shares of the whole node, to add to each category before the
    categories are ordered by their class shares. Rare categories then do not stand at the ends
    by chance. With 0 and two classes, the best of all sets is found.""",
    # --- attributes ---
    "classes_": """\
classes_ : ndarray of shape (n_classes,)
    The class labels.""",
    "n_classes_": """\
n_classes_ : int
    Number of classes.""",
    "n_features_in_": """\
n_features_in_ : int
    Number of features seen in fit.""",
    "feature_names_in_": """\
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the features. Only if all column names of X are strings.""",
    "is_categorical_": """\
is_categorical_ : ndarray of bool of shape (n_features_in_,)
    Which features have categories.""",
    "categories_": """\
categories_ : list of ndarray or None, of length n_features_in_
    The categories of each feature that were seen in fit, sorted. None for numbers.""",
    "max_features_": """\
max_features_ : int
    The number of features that `max_features` amounts to.""",
    "tree_": """\
tree_ : sklearn.tree._tree.Tree
    The tree as a scikit-learn object. A tree that splits by sets of categories has none: use
    `plot_tree` and `export_text` of :mod:`hardwood.plotting` to see it.""",
    "estimators_": """\
estimators_ : sequence of RobustTreeClassifier
    The trees. Each is created when you access it.""",
    "feature_importances_": """\
feature_importances_ : ndarray of shape (n_features_in_,)
    Share of the total gain that is due to each feature.""",
    "oob_score_": """\
oob_score_ : float
    Score of the out-of-bag predictions. Only with `oob_score`.""",
    "oob_decision_function_": """\
oob_decision_function_ : ndarray of shape (n_samples, n_classes)
    Probabilities predicted by the trees that did not draw the row. Only with `oob_score`.""",
    "lam_": """\
lam_ : float
    The chosen λ, the first of equals.""",
    "tuning_scores_": """\
tuning_scores_ : pandas.DataFrame
    Each λ with its accuracy on the held-out rows.""",
    # --- parameters of methods ---
    "training_X": """\
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    The training data. NaN is a missing value. Sparse matrices are converted to CSR format. Data
    frames may have columns of categories: see `categorical_features`.""",
    "X": """\
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    The input data. Numbers are compared with thresholds in their own precision. Categories that
    were not seen in fit go where missing values go.""",
    "y": """\
y : array-like of shape (n_samples,)
    The class labels.""",
    "sample_weight": """\
sample_weight : array-like of shape (n_samples,)
    Non-negative weights of the rows. Rows of weight zero are ignored.""",
    "groups": """\
groups : array-like of shape (n_samples,)
    Which rows belong together, such as copies of one record or measurements of one patient: rows
    with the same value, a number or a string, form a group. A tree draws whole groups, so a row
    is out of bag only if no row of its group was drawn. A group is drawn with a probability
    proportional to the mean weight of its rows. Groups have no effect on trees that do not draw
    rows.""",
    # --- trees in words ---
    "drawn_tree": """\
tree : RobustTreeClassifier
    A fitted tree of any kind, for example ``forest.estimators_[0]``.""",
    "feature_names": """\
feature_names : sequence of str
    Names of the features. By default, those of the fit.""",
    "class_names": """\
class_names : sequence of str
    Names of the classes. By default, their labels.""",
    "drawn_depth": """\
max_depth : int or None
    Depth below which nodes are left out.""",
    "decimals": """\
decimals : int
    Number of digits after the decimal point.""",
    "max_categories": """\
max_categories : int
    Number of categories of a set to name.""",
    "words_of_tree": """\
{drawn_tree, feature_names, class_names, drawn_depth, decimals, max_categories}""",
    # --- figures ---
    "colors": """\
colors : mapping of str to str
    Matplotlib colors by name. By default, those of Matplotlib's color cycle.""",
    "ax": """\
ax : matplotlib Axes
    The axes to draw into. By default, the current axes.""",
    "returns_ax": """\
Returns
-------
ax : matplotlib Axes
    The axes.""",
    "two_axes": """\
Parameters
----------
axes : sequence of two matplotlib Axes, default=None
    The axes to draw into. By default, those of a new figure.

Returns
-------
axes : list of two matplotlib Axes
    The axes.""",
    # --- groups: placeholders that expand to others ---
    "growth_parameters": """\
{max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, max_features,
max_leaf_nodes, min_impurity_decrease, categorical_features, category_smoothing}""",
    "data_attributes": """\
{classes_, n_classes_, n_features_in_, feature_names_in_, is_categorical_, categories_}""",
    "robust_forest": """\
Parameters
----------
{n_estimators, criterion, growth_parameters, bootstrap, oob_score, n_jobs, random_state, verbose,
warm_start, forest_class_weight, ccp_alpha, max_samples, monotonic_cst, leaf_prediction}

Attributes
----------
{data_attributes, estimators_, feature_importances_, oob_score_, oob_decision_function_}""",
    "ane_parameters": """\
Parameters
----------
lam_grid : array-like of float, default=(0, 0.25, 0.5, 0.75, 1)
    The values of λ to try, each in [0, 1].

validation_fraction : float, default=0.2
    Fraction of the rows to hold out.

refit : bool, default=True
    Whether to grow the model again from all rows with the chosen λ. The paper's tables do not.""",
    "ane_tree_parameters": """\
{splitter, growth_parameters, tree_random_state, class_weight, ccp_alpha, monotonic_cst,
leaf_prediction}""",
    "ane_tree_attributes": """\
Attributes
----------
{lam_, tuning_scores_, data_attributes, max_features_, tree_, feature_importances_}""",
    "ane_reference": """\
References
----------
J. Wilton and N. Ye, "Robust Loss Functions for Training Decision Trees with Noisy Labels",
AAAI 2024.""",
    # --- whole sections of methods ---
    "takes_X": """\
Parameters
----------
{X}""",
    "takes_training_data": """\
Parameters
----------
{training_X, y, sample_weight}""",
    "takes_grouped_data": """\
{takes_training_data}

{groups}""",
    "returns_self": """\
Returns
-------
self : object
    The fitted model.""",
    "rounds_X": """\
scikit-learn rounds its input to float32. The two agree on every input that float32 represents
exactly.

Parameters
----------
X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
    Data such as the training data. If given, a warning says how many splits send some of its
    values to the other side once they are rounded to float32.""",
    "returns_classes": """\
Returns
-------
y : ndarray of shape (n_samples,)
    The predicted classes.""",
    "returns_probabilities": """\
Returns
-------
p : ndarray of shape (n_samples, n_classes)
    Class probabilities, in the order of `classes_`.""",
}

_PLACEHOLDER = re.compile(r"^( *)\{(\w+(?:,\s+\w+)*)\}$", re.MULTILINE)

Described = TypeVar("Described", bound=Callable[..., Any])


def fill_docs(described: Described) -> Described:
    """Fill the placeholders in the docstring of a function, or of a class and its own methods."""
    if described.__doc__ is not None:  # python -OO strips docstrings
        described.__doc__ = _filled(described.__doc__, described)
    if isinstance(described, type):
        for method in vars(described).values():
            if isinstance(method, FunctionType):
                fill_docs(method)
    return described


def _filled(doc: str, described: Any) -> str:
    parameters = inspect.signature(described).parameters

    def with_default(text: str) -> str:
        first, newline, rest = text.partition("\n")
        parameter = parameters.get(first.partition(" ")[0])
        if parameter is not None and parameter.default is not parameter.empty:
            value = parameter.default
            first += f', default="{value}"' if isinstance(value, str) else f", default={value}"
        return first + newline + rest

    def descriptions(match: re.Match[str]) -> str:
        names = match[2].replace(",", " ").split()
        return indent("\n\n".join(with_default(DESCRIPTIONS[name]) for name in names), match[1])

    while _PLACEHOLDER.search(doc):
        doc = _PLACEHOLDER.sub(descriptions, doc)
    return doc
