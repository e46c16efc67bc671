"""
Search λ by the noisy labels themselves
=======================================

The parameter λ of the negative exponential criterion says how much noise a tree resists: λ = 1 is
the misclassification rate, λ → 0 the square root of Gini. How much is right depends on how many
labels are wrong, which one rarely knows. Held-out rows can choose λ although their labels are wrong
as well: under noise that spares no class, the better model is also the better one on noisy labels.
"""

# %%
# A criterion is an object with parameters, so a grid search reaches them as ``criterion__lam``.
import matplotlib.pyplot as plt
from sklearn.model_selection import GridSearchCV

from hardwood import RobustTreeClassifier
from hardwood.criteria import NegativeExponential
from hardwood.datasets import load
from hardwood.noise import corrupt, uniform

mushrooms = load("mushrooms")
lams = [0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1]
tree = RobustTreeClassifier(criterion=NegativeExponential(), random_state=0)

searches = {}
for rate in (0.1, 0.3):
    y_noisy, _ = corrupt(mushrooms.y_train, uniform(2, rate), random_state=0)
    search = GridSearchCV(tree, {"criterion__lam": lams}, cv=5, n_jobs=2)
    searches[rate] = search.fit(mushrooms.X_train, y_noisy)
    accuracy = search.score(mushrooms.X_test, mushrooms.y_test)
    print(
        f"{rate:.0%} noise: λ = {search.best_params_['criterion__lam']}, "
        f"accuracy on clean test labels {accuracy:.3f}"
    )

# %%
# What the search saw, and what it did not. Measured on noisy labels, even a perfect model is right
# only as often as the labels are (dotted); the curves still rise together.
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
for ax, (rate, search) in zip(axes, searches.items(), strict=True):
    y_noisy, _ = corrupt(mushrooms.y_train, uniform(2, rate), random_state=0)
    clean = [
        tree.set_params(criterion__lam=lam)
        .fit(mushrooms.X_train, y_noisy)
        .score(mushrooms.X_test, mushrooms.y_test)
        for lam in lams
    ]
    ax.plot(lams, clean, color="#14532d", label="test rows, clean labels")
    ax.plot(
        lams,
        search.cv_results_["mean_test_score"],
        color="#8a8a8a",
        label="held-out rows, noisy labels",
    )
    ax.axhline(1 - rate, color="#8a8a8a", linewidth=1, linestyle=":")
    ax.axvline(search.best_params_["criterion__lam"], color="#14532d", linewidth=1, alpha=0.3)
    ax.set_title(f"{rate:.0%} of the labels wrong")
    ax.set_xlabel("λ")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("accuracy")
axes[0].legend(frameon=False, loc="lower right")
plt.show()
