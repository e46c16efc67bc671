"""
Explain a robust forest with SHAP
=================================

``to_sklearn()`` makes a genuine scikit-learn forest with the same predictions. SHAP's tree explainer
reads that, and so does everything else that reads scikit-learn's forests.
"""

# %%
# SHAP is not a dependency of hardwood; without it this example says so and does nothing.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from hardwood import RobustForestClassifier
from hardwood.noise import corrupt, uniform

try:
    import shap
except ImportError:
    shap = None
    print("This example needs SHAP: pip install shap")

# %%
# A forest on tumours, benign or malignant, with a fifth of the training labels flipped.
cancer = load_breast_cancer()
X_train, X_test, y_train, y_test = train_test_split(
    cancer.data, cancer.target, random_state=0, stratify=cancer.target
)
y_noisy, _ = corrupt(y_train, uniform(2, 0.2), random_state=0)
# float32 on both sides: scikit-learn's trees compare in that precision.
X_train, X_test = X_train.astype(np.float32), X_test.astype(np.float32)
forest = RobustForestClassifier(random_state=0, n_jobs=2).fit(X_train, y_noisy)
print(f"accuracy on clean test labels: {forest.score(X_test, y_test):.3f}")

# %%
# The values of a row add up to what the forest predicts for it.
if shap is not None:
    explanation = shap.TreeExplainer(forest.to_sklearn())(X_test)
    benign = explanation[:, :, 1]
    sums = benign.base_values + benign.values.sum(axis=1)
    gap = np.abs(sums - forest.predict_proba(X_test)[:, 1]).max()
    print(f"largest difference from predict_proba: {gap:.1e}")

# %%
# What moves the predictions most: each point is a tumour, to the right where the feature speaks for
# benign.
if shap is not None:
    top = np.argsort(np.abs(benign.values).mean(axis=0))[::-1][:8]
    rng = np.random.default_rng(0)
    fig, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
    for place, feature in enumerate(top[::-1]):
        rank = X_test[:, feature].argsort().argsort() / len(X_test)
        height = place + 0.18 * rng.standard_normal(len(X_test)).clip(-2, 2)
        points = ax.scatter(benign.values[:, feature], height, c=rank, s=12, cmap="viridis")
    ax.set_yticks(range(len(top)), cancer.feature_names[top[::-1]])
    ax.axvline(0, color="#6b6b6b", linewidth=1)
    ax.set_xlabel("SHAP value: change of the probability of benign")
    ax.spines[["top", "right", "left"]].set_visible(False)
    fig.colorbar(points, label="feature's value, as a rank", ticks=[0, 1])
    plt.show()
