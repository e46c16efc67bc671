"""
Audit labels from several annotators
====================================

Several people labeled a table, each row was labeled by one of them, and some were careless. Which
labels should you check, and whose?

`LabelAudit` grows one forest. For each row, it asks the trees that did not see that row. Their votes
are an independent opinion on its label.
"""

# %%
# The table has the 1,797 handwritten digits of scikit-learn, and eight people label them. Six of them
# get one digit in fifty wrong, one every fifth, and one every second. Here we know the truth, so we
# can check the audit.
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
# The result has one row per label: the label given, the label suggested, and the probability that the
# given one is wrong.
audit = LabelAudit(random_state=0, n_jobs=2).fit(X, label)
issues = audit.issues_
low, high = audit.noise_rate_interval_
print(f"{audit.noise_rate_:.1%} estimated, between {low:.1%} and {high:.1%}")
print(issues.sort_values("rank").head(3))

suspects = issues.sort_values("rank").index.to_numpy()
n_wrong = np.sum(label != truth)
for n_checked in (50, 100, n_wrong):
    found = np.sum((label != truth)[suspects[:n_checked]])
    print(f"of the {n_checked} most suspicious labels, {found} are wrong")

# %%
# The twelve most suspicious digits, with the label given and the label suggested:
fig, axes = plt.subplots(2, 6, figsize=(9, 3.6), layout="constrained")
for ax, row in zip(axes.flat, suspects, strict=False):
    ax.imshow(digits.images[row], cmap="gray_r")
    ax.set_title(f"given {label[row]}, suggested {issues.suggested[row]}", fontsize=9)
    ax.set_axis_off()
plt.show()

# %%
# How often does the audit contradict each person? About as often as that person was wrong.
contradicted = issues.groupby(person)["is_issue"].mean()

fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
places = np.arange(len(error_rates))
ax.bar(places - 0.2, error_rates, width=0.4, color="#c9c9c9", label="wrong labels")
ax.bar(places + 0.2, contradicted, width=0.4, color="#14532d", label="contradicted labels")
ax.set_xticks(places, [f"person {who}" for who in places], fontsize=8)
ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="upper left")
plt.show()

# %%
# You can use the suggested labels. Where scores are close to one half, let a person decide.
repaired = issues["suggested"].to_numpy()
print(f"{audit.n_issues_} labels changed; {np.mean(repaired != truth):.1%} are wrong now")

# %%
# ``audit.report("audit.html")`` writes all of this as an HTML page.
