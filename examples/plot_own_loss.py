"""
Grow forests by a loss of your own
==================================

The paper builds a loss from any distribution function F of margins: what a prediction costs is
F(−margin). It is bounded, so that no label costs more than 1, however wrong; and its impurity, the
smallest risk in a node, is what trees then reduce.
"""

# %%
# Take Student's t, heavy-tailed, shifted by `loc`. hardwood works its impurity out and tabulates it
# for the engine, which grows trees by it nearly as fast as by Gini.
import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from hardwood import RobustForestClassifier, RobustTreeClassifier
from hardwood.criteria import CustomImpurity, FromLoss
from hardwood.datasets import load
from hardwood.losses import DistributionLoss, MeanSquaredError
from hardwood.noise import corrupt, uniform
from hardwood.plotting import impurity_curves

losses = {f"Student's t, loc = {loc}": DistributionLoss(stats.t(df=3, loc=loc)) for loc in (0.2, 1)}
ax = impurity_curves(
    {"Gini": MeanSquaredError(), **losses},
    scaled=True,
    colors=dict(zip(["Gini", *losses], ["#8a8a8a", "#14532d", "#4fae62"], strict=True)),
)
plt.show()

# %%
# Up to its kink the impurity is a straight line, and on a line no split gains anything. So a node of
# one class is left alone as long as the share of wrong labels in it stays below the kink.
for name, loss in losses.items():
    print(f"{name}: straight up to a share of {loss.kinks()[0]:.3f}")

# %%
# Trees on Mushrooms with 30 % of the training labels flipped: the first loss stops at such nodes,
# the second does not.
mushrooms = load("mushrooms")
y_noisy, _ = corrupt(mushrooms.y_train, uniform(2, 0.3), random_state=0)
criteria = {"Gini": "gini", **{name: FromLoss(loss) for name, loss in losses.items()}}
for name, criterion in criteria.items():
    tree = RobustTreeClassifier(criterion=criterion, random_state=0)
    tree.fit(mushrooms.X_train, y_noisy)
    accuracy = tree.score(mushrooms.X_test, mushrooms.y_test)
    print(f"{name:24} {tree.get_n_leaves():5} leaves, accuracy {accuracy:.3f}")

# %%
# There need not be a loss at all. Any impurity will do, for any number of classes: a function from
# class shares, one row a node, to one number each.


def tsallis(p):
    """Return the Tsallis entropy of order 1.5."""
    return 1 - (p**1.5).sum(axis=1)


rng = np.random.default_rng(0)
X = rng.normal(size=(600, 4))
y = np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7])
forest = RobustForestClassifier(50, criterion=CustomImpurity(tsallis), random_state=0)
print(f"three classes, out of bag: {forest.set_params(oob_score=True).fit(X, y).oob_score_:.3f}")
