"""
Audit a table labelled by a crowd
=================================

A table was labelled by several people, each row by one of them. Some were careless. Which labels
should somebody look at again, and whose?

`LabelAudit` grows one forest and asks, for each row, the trees that did not see it. Their votes are
an independent opinion on the label that the row was given.
"""

# %%
# The table: 1,797 handwritten digits of scikit-learn, and eight people. Six mistake one digit in
# fifty, one every fifth and one every second. We know the truth here, to check the audit by it.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from hardwood.audit import LabelAudit
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
# One line for each label: given, suggested, and the probability that the given one is wrong.
audit = LabelAudit(random_state=0, n_jobs=2).fit(X, label)
issues = audit.issues_
low, high = audit.noise_rate_interval_
print(f"{audit.noise_rate_:.1%} estimated, between {low:.1%} and {high:.1%}")
print(issues.sort_values("rank").head(3))

suspects = issues.sort_values("rank").index.to_numpy()
n_wrong = np.sum(label != truth)
for n_checked in (50, 100, n_wrong):
    found = np.sum((label != truth)[suspects[:n_checked]])
    print(f"of the {n_checked} most suspect labels, {found} are wrong")

# %%
# The twelve most suspect, with the label given and the one suggested.
fig, axes = plt.subplots(2, 6, figsize=(9, 3.6), layout="constrained")
for ax, row in zip(axes.flat, suspects, strict=False):
    ax.imshow(digits.images[row], cmap="gray_r")
    ax.set_title(f"given {label[row]}, rather {issues.suggested[row]}", fontsize=9)
    ax.set_axis_off()
plt.show()

# %%
# Whose labels are contradicted how often? That is close to how often each of them was wrong.
contradicted = issues.groupby(person)["is_issue"].mean()

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
# With the labels that are suggested. Where scores are near one half, a person should look.
repaired = issues["suggested"].to_numpy()
print(f"{audit.n_issues_} labels changed; {np.mean(repaired != truth):.1%} are wrong now")

# %%
# ``audit.report("audit.html")`` writes all of it as a page for a browser.
