"""
Audit a table labelled by a crowd
=================================

A table was labelled by several people, each row by one of them. Some were careless. Which labels
should somebody look at again, and whose?

A forest with ``oob_score=True`` asks, for each row, the trees that did not see it. With a robust
criterion these trees have not learnt their neighbours' wrong labels either, so their votes are an
independent opinion on the label that the row was given.
"""

# %%
# The table: 1,797 handwritten digits of scikit-learn, and eight people. Six mistake one digit in
# fifty, one every fifth and one every second. We know the truth here, to check the audit by it.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from hardwood import RobustForestClassifier
from hardwood.noise import corrupt, uniform

digits = load_digits()
X, truth = digits.data, digits.target
rng = np.random.default_rng(0)
error_rates = np.array([0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.2, 0.5])
person = rng.integers(len(error_rates), size=len(truth))

label = truth.copy()
for who, rate in enumerate(error_rates):
    theirs = person == who
    label[theirs], _ = corrupt(truth[theirs], uniform(10, rate), random_state=who)
print(f"{np.mean(label != truth):.1%} of the labels are wrong")

# %%
# What the others' trees think of each label: the probability they give it. The lower, the more
# doubtful.
forest = RobustForestClassifier(300, oob_score=True, random_state=0, n_jobs=2).fit(X, label)
votes = forest.oob_decision_function_
confidence = votes[np.arange(len(label)), label]
suggestion = votes.argmax(axis=1)

suspects = np.argsort(confidence)
n_wrong = np.sum(label != truth)
for n_checked in (50, 100, n_wrong):
    found = np.sum((label != truth)[suspects[:n_checked]])
    print(f"of the {n_checked} most doubtful labels, {found} are wrong")

# %%
# The twelve most doubtful, with the label given and the one suggested.
fig, axes = plt.subplots(2, 6, figsize=(9, 3.6), layout="constrained")
for ax, row in zip(axes.flat, suspects, strict=False):
    ax.imshow(digits.images[row], cmap="gray_r")
    ax.set_title(f"given {label[row]}, rather {suggestion[row]}", fontsize=9)
    ax.set_axis_off()
plt.show()

# %%
# Whose labels are contradicted how often? That is close to how often each of them was wrong.
contradicted = [np.mean((suggestion != label)[person == who]) for who in range(len(error_rates))]

fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
places = np.arange(len(error_rates))
ax.bar(places - 0.2, error_rates, width=0.4, color="#c9c9c9", label="labels wrong, in truth")
ax.bar(places + 0.2, contradicted, width=0.4, color="#14532d", label="labels contradicted")
ax.set_xticks(places, [f"person {who}" for who in places], fontsize=8)
ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="upper left")
plt.show()

# %%
# A forest trained on the labels after the clear cases were put right. Only those are changed in
# which the votes are clear: where they are not, a person should look.
clear = (suggestion != label) & (votes.max(axis=1) > 2 * confidence) & (votes.max(axis=1) > 0.4)
repaired = np.where(clear, suggestion, label)
print(f"{clear.sum()} labels changed; {np.mean(repaired != truth):.1%} are wrong now")
