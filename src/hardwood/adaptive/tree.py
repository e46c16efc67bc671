"""A tree that finds out by itself how far to trust noisy labels."""

from hardwood._core.model import estimator
from hardwood._io.storing import storable
from hardwood.adaptive.ane import ANETreeClassifier


@storable("AdaptiveTreeClassifier")
@estimator
class AdaptiveTreeClassifier(ANETreeClassifier):
    """A decision tree that is robust at any level of label noise, with nothing to tune.

    At present this is `ANETreeClassifier`: it chooses its robustness λ by held-out rows.

    {ane_parameters}

    {ane_tree_parameters}

    {ane_tree_attributes}

    See Also
    --------
    AdaptiveForestClassifier : A forest, which needs no held-out rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hardwood import AdaptiveTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> AdaptiveTreeClassifier(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """
