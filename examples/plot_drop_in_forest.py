"""
Replace a scikit-learn forest
=============================

`AdaptiveForestClassifier` is a drop-in replacement for scikit-learn's ``RandomForestClassifier``.
Change the import and leave the rest of your program as it is. You do not need to know how many
labels are wrong.
"""

# %%
# Mushrooms are poisonous or edible. We flip an increasing share of the training labels, as a careless
# annotator would, and measure the accuracy on clean test labels.
import matplotlib.pyplot as plt
from sklearn.ensemble import RandomForestClassifier
from sklearn.inspection import permutation_importance
from sklearn.model_selection import cross_val_score

from hardwood import AdaptiveForestClassifier
from hardwood.datasets import load
from hardwood.noise import corrupt, uniform
from hardwood.plotting import adaptation_curve, noise_curves

mushrooms = load("mushrooms")
rates = [0.0, 0.1, 0.2, 0.3, 0.4]

forests = {
    "scikit-learn": RandomForestClassifier(random_state=0, n_jobs=2),
    "hardwood": AdaptiveForestClassifier(random_state=0, n_jobs=2),
}
accuracies = {name: [] for name in forests}
for rate in rates:
    y_noisy, _ = corrupt(mushrooms.y_train, uniform(2, rate), random_state=0)
    for name, forest in forests.items():
        forest.fit(mushrooms.X_train, y_noisy)
        accuracies[name].append(forest.score(mushrooms.X_test, mushrooms.y_test))

ax = noise_curves(
    rates,
    accuracies,
    ylabel="accuracy on clean test labels",
    colors={"scikit-learn": "#8a8a8a", "hardwood": "#14532d"},
)
ax.set_ylim(0.5, 1.01)
ax.legend(frameon=False, loc="lower left")
plt.show()

# %%
# The trees show why. A forest that fits every label also has leaves for the wrong ones.
for name, forest in forests.items():
    leaves = sum(tree.get_n_leaves() for tree in forest.estimators_)
    print(f"{name:13} {leaves:7,} leaves at {rates[-1]:.0%} noise")

# %%
# How did the forest know? Every tree contains smaller and smoother trees, and the rows outside its
# bootstrap sample tell how good they are. Their labels are noisy, too, so even the best setting
# agrees with only about 60 % of them. But it is still the best one.
adaptive = forests["hardwood"]
_, ax = plt.subplots(figsize=(7, 4), layout="constrained")
adaptation_curve(adaptive, ax=ax)
plt.show()
print(f"estimated share of wrong labels: {adaptive.noise_rate_:.1%}")

# %%
# The forest works wherever a scikit-learn classifier does: in cross-validation, searches, pipelines
# and inspection.
y_noisy, _ = corrupt(mushrooms.y_train, uniform(2, 0.3), random_state=0)
scores = cross_val_score(adaptive, mushrooms.X_train, y_noisy, cv=3)
print(f"cross-validated on noisy labels: {scores.mean():.3f}; no model can exceed about 0.7")

adaptive.fit(mushrooms.X_train, y_noisy)
importance = permutation_importance(
    adaptive, mushrooms.X_test, mushrooms.y_test, n_repeats=2, random_state=0
)
for feature in importance.importances_mean.argsort()[::-1][:3]:
    print(f"feature {feature}: {importance.importances_mean[feature]:.3f}")
