"""
Grow a forest on a Dask cluster
===============================

Your table is spread over several machines, and no single one can hold it. Does the forest depend on
how the rows are spread?

It does not: `hardwood.dask` grows the forest that one machine would grow, bit for bit. We confirm
this on a small cluster.
"""

# %%
# The table has 12,000 rows, and a fifth of the labels is wrong.
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster
from sklearn.datasets import make_classification

from hardwood import AdaptiveForestClassifier
from hardwood.dask import DaskAdaptiveForestClassifier
from hardwood.noise import corrupt, uniform

X, truth = make_classification(14_000, 8, n_informative=6, n_redundant=0, random_state=0)
X, X_new, truth, truth_new = X[:12_000], X[12_000:], truth[:12_000], truth[12_000:]
y, _ = corrupt(truth, uniform(2, 0.2), random_state=0)

# %%
# A cluster with two workers on this machine. We split the rows into three partitions, then into
# twelve. The adaptive forest finds out by itself how noisy the labels are.
params = {"n_estimators": 20, "random_state": 0}
found = {}
with (
    LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster,
    Client(cluster),
):
    for n_partitions in (3, 12):
        size = len(X) // n_partitions
        rows = da.from_array(X, chunks=(size, X.shape[1]))
        labels = da.from_array(y, chunks=size)
        found[n_partitions] = DaskAdaptiveForestClassifier(**params).fit(rows, labels).to_local()

# %%
# Both forests are the one of a single machine, and so are their estimates of the noise.
local = AdaptiveForestClassifier(**params).fit(X, y)
for n_partitions, forest in found.items():
    same = np.array_equal(forest.predict_proba(X_new), local.predict_proba(X_new))
    print(f"{n_partitions} partitions: equal {same}, {forest.noise_rate_:.1%} of the labels wrong")
print(f"accuracy on new rows with right labels: {local.score(X_new, truth_new):.1%}")

# %%
# A forest for each partition would be simpler. But each sees fewer rows, so the more partitions there
# are, the worse they get, even all together.
accuracies = {}
for n_partitions in (1, 3, 12, 60):
    parts = zip(np.split(X, n_partitions), np.split(y, n_partitions), strict=True)
    forests = [AdaptiveForestClassifier(**params).fit(*part) for part in parts]
    votes = sum(forest.predict_proba(X_new) for forest in forests)
    accuracies[n_partitions] = np.mean(votes.argmax(axis=1) == truth_new)

fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
ax.axhline(local.score(X_new, truth_new), color="C0", lw=3, label="hardwood.dask")
ax.plot(list(accuracies), list(accuracies.values()), "o--", color="C1", label="one each")
ax.set(xscale="log", xticks=list(accuracies), xlabel="partitions", ylabel="accuracy on new rows")
ax.set_xticks(list(accuracies), list(accuracies))
ax.minorticks_off()
ax.legend(loc="lower left")
plt.show()
