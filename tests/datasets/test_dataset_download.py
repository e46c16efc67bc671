"""Downloads: made only when asked for and needed, and kept only if the checksum is right."""

import dataclasses
import hashlib
import sys

import numpy as np
import pytest

from hardwood import datasets
from hardwood.datasets._download import Remote, download

ROWS = "\n".join(",".join(["3"] * 54 + [str(1 + row % 7)]) for row in range(20)) + "\n"


@pytest.fixture
def cache(monkeypatch, tmp_path):
    monkeypatch.delenv("HARDWOOD_DATA", raising=False)
    monkeypatch.delenv("HARDWOOD_DOWNLOAD", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "hardwood"


@pytest.fixture
def server(tmp_path):
    """A file to be downloaded, by an address that needs no network."""
    path = tmp_path / "server" / "file"
    path.parent.mkdir()
    path.write_text(ROWS)
    return path


def remote(path, *, file="covtype.data", urls=None, content=ROWS):
    digest = hashlib.sha256(content.encode()).hexdigest()
    return Remote(file, urls or (path.as_uri(),), "sha256", digest)


@pytest.fixture
def small_covertype(monkeypatch, server):
    """Covertype, to be had from the server here."""
    source = dataclasses.replace(datasets._SOURCES["covertype"], remotes=(remote(server),))
    monkeypatch.setitem(datasets._SOURCES, "covertype", source)


def test_nothing_is_downloaded_unless_asked_for(cache, small_covertype):
    with pytest.raises(FileNotFoundError, match="download=True"):
        datasets.load("covertype")
    assert not cache.exists()


@pytest.mark.parametrize("by_environment", [False, True])
def test_a_download_is_kept_in_the_cache(
    cache, small_covertype, server, monkeypatch, by_environment
):
    if by_environment:
        monkeypatch.setenv("HARDWOOD_DOWNLOAD", "1")
    first = datasets.load("covertype", download=None if by_environment else True)
    assert first.X_train.shape == (16, 54)
    assert [path.name for path in (cache / "covertype").iterdir()] == ["covtype.data"]
    server.unlink()  # from now on the copy serves, asked for or not
    again = datasets.load("covertype", download=False)
    np.testing.assert_array_equal(again.y_train, first.y_train)


def test_nothing_is_downloaded_that_is_there(cache, small_covertype, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "covtype.data").write_text(ROWS)
    datasets.load("covertype", data_home=home, download=True)
    assert not cache.exists()


def test_what_cannot_be_downloaded_is_explained(cache):
    with pytest.raises(FileNotFoundError, match="UNSW_NB15_training-set"):
        datasets.load("unsw_nb15", download=True)


def test_addresses_are_tried_in_turn(tmp_path, server):
    missing = (tmp_path / "missing").as_uri()
    path = download(remote(server, urls=("no address", missing, server.as_uri())), tmp_path / "to")
    assert path.read_text() == ROWS


@pytest.mark.parametrize("damage", ["cut short", "changed", "missing"])
def test_a_failed_download_leaves_nothing_behind(tmp_path, server, damage):
    if damage == "missing":
        server.unlink()
    else:
        server.write_text(ROWS[:-1] if damage == "cut short" else ROWS.replace("3", "4"))
    with pytest.raises(OSError, match=r"covtype\.data could not be downloaded") as failure:
        download(remote(server), tmp_path / "to")
    assert server.as_uri() in str(failure.value)
    assert ("sha256" in str(failure.value)) == (damage != "missing")
    assert not list((tmp_path / "to").iterdir())


@pytest.mark.parametrize("with_rich", [False, True])
def test_progress_is_shown(tmp_path, server, monkeypatch, capsys, with_rich):
    if not with_rich:
        monkeypatch.setitem(sys.modules, "rich", None)
    download(remote(server), tmp_path / "to")
    captured = capsys.readouterr()
    assert "covtype.data" in captured.err
    assert not captured.out


@pytest.mark.parametrize("name", datasets.NAMES)
def test_what_is_downloaded_is_named_as_the_originals_are(name):
    source = datasets._SOURCES[name]
    assert {remote.algorithm for remote in source.remotes} <= {"md5", "sha256"}
    for known in source.remotes:
        assert known.file.removesuffix(".gz") in source.originals
        assert len(known.checksum) == hashlib.new(known.algorithm).digest_size * 2
