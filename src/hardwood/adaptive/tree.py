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
    >>> from hardwood import AdaptiveTreeClassifier
    >>> from hardwood.datasets import load
    >>> from hardwood.noise import corrupt, uniform
    >>> data = load("mushrooms")
    >>> noisy_y, _ = corrupt(data.y_train, uniform(2, 0.3), random_state=0)
    >>> tree = AdaptiveTreeClassifier(random_state=0).fit(data.X_train, noisy_y)
    >>> tree.score(data.X_test, data.y_test) > 0.95
    True
    """
