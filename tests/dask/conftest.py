"""A cluster of two processes for all tests of this folder."""

import pytest

pytest.importorskip("distributed")

from clusters import assert_nothing_left, make_cluster
from distributed import Client

from hardwood.dask.placement import Placement


@pytest.fixture(scope="session")
def _session_client():
    with make_cluster(2) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture
def client(_session_client):
    with _session_client.as_current():
        yield _session_client
    assert_nothing_left(_session_client)


@pytest.fixture
def small_subtrees(monkeypatch):
    """Trunks that reach down to nodes of 4,096 rows."""

    def small(asked, *_):
        return Placement("distribute" if asked == "auto" else asked)

    monkeypatch.setattr("hardwood.dask.growing.choose_placement", small)
