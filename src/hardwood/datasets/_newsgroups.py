"""20 Newsgroups: its texts, packed or not, as averages of GloVe word vectors.

The features of a document are the mean of its words' vectors. A word is a run of two or more
letters; stop words are left out. A word is looked up as written, then in lower case.
"""

from __future__ import annotations

import os
import re
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

import numpy as np
import numpy.typing as npt

from hardwood.datasets._dataset import Dataset
from hardwood.datasets._download import Remote
from hardwood.datasets._source import BinaryTask, Layout, Shape, Source

_PARTS = ("20news-bydate-train", "20news-bydate-test")
_ARCHIVES = ("20news-bydate.tar.gz", "20news-bydate.tar")
_GLOVE = re.compile(r"glove\.(?P<corpus>[\w.]+?)(\.(?P<n_dimensions>\d+)d)?\.(txt|zip)")
_PAPERS_CORPUS = "840B"
_WORD = re.compile(r"[A-Za-z]{2,}")
_FIRST_GROUPS = {"alt", "comp", "misc", "rec"}


class _Document(NamedTuple):
    part: str
    group: str
    number: str
    text: str


def _find_glove(folder: Path) -> Path | None:
    """Return the file that HARDWOOD_GLOVE names, or the best match in the folder."""
    if given := os.environ.get("HARDWOOD_GLOVE"):
        return Path(given).expanduser()
    candidates = [path for path in folder.glob("glove.*") if _GLOVE.fullmatch(path.name)]
    return max(candidates, key=lambda path: _nearness(path.name), default=None)


def _nearness(name: str) -> tuple[bool, int, str]:
    """Return a key by which the file nearest to the paper's, glove.840B.300d, is the largest."""
    match = _GLOVE.fullmatch(name)
    if not match:
        return (False, 0, name)
    return (match["corpus"] == _PAPERS_CORPUS, int(match["n_dimensions"] or 0), name)


def _read(paths: list[Path]) -> Dataset:
    from sklearn.feature_extraction.text import CountVectorizer

    *texts, glove = paths
    documents = sorted(_documents(texts))
    if {document.part for document in documents} != set(_PARTS):
        raise ValueError(f"it must hold documents in {' and '.join(_PARTS)}")
    counter = CountVectorizer(analyzer=_words, dtype=np.float32)
    counts = counter.fit_transform(document.text for document in documents)
    known, vectors = _vectors(glove, counter.get_feature_names_out().tolist())
    counts = counts[:, known]
    # A document without known words gets zeros.
    totals = np.maximum(np.asarray(counts.sum(axis=1)), 1)
    X = (counts @ vectors / totals).astype(np.float32)

    classes, y = np.unique([document.group for document in documents], return_inverse=True)
    y = y.astype(np.uint8)
    training = np.array([document.part == _PARTS[0] for document in documents])
    names = np.array([f"glove_{dimension}" for dimension in range(X.shape[1])])
    return Dataset(X[training], y[training], X[~training], y[~training], classes, names)


def _documents(texts: list[Path]) -> Iterator[_Document]:
    """Yield the documents of an archive, or of one folder for each part."""
    if len(texts) > 1:
        for folder in texts:
            for path in folder.glob("*/*"):
                text = path.read_text("latin-1")
                yield _Document(folder.name, path.parent.name, path.name, text)
        return
    with tarfile.open(texts[0]) as archive:
        for member in archive:
            file = archive.extractfile(member)
            places = PurePosixPath(member.name).parts
            if file and len(places) >= 3 and places[-3] in _PARTS:
                part, group, number = places[-3:]
                yield _Document(part, group, number, file.read().decode("latin-1"))


def _words(text: str) -> list[str]:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return [word for word in _WORD.findall(text) if word.lower() not in ENGLISH_STOP_WORDS]


def _vectors(glove: Path, words: list[str]) -> tuple[list[int], npt.NDArray[np.float32]]:
    """Return the indices of the words that the file has, and their vectors."""
    wanted = {spelling.encode() for word in words for spelling in (word, word.lower())}
    found: dict[str, npt.NDArray[np.float32]] = {}
    n_dimensions = 0
    with _open_glove(glove) as file:
        for line in file:
            word, _, numbers = line.partition(b" ")
            n_dimensions = n_dimensions or len(numbers.split())
            if word in wanted:
                values = numbers.split()
                # Some entries consist of several words; the first may be one of ours.
                if len(values) == n_dimensions:
                    found[word.decode()] = np.array(values, dtype=np.float32)
    spellings = [word if word in found else word.lower() for word in words]
    known = [index for index, spelling in enumerate(spellings) if spelling in found]
    if not known:
        raise ValueError(f"{glove.name} has vectors for none of the documents' words")
    return known, np.stack([found[spellings[index]] for index in known])


@contextmanager
def _open_glove(path: Path) -> Iterator[IO[bytes]]:
    """Open the file of vectors, in an archive of several the one with the most dimensions."""
    if path.suffix != ".zip":
        with path.open("rb") as file:
            yield file
        return
    with zipfile.ZipFile(path) as archive:
        members = [name for name in archive.namelist() if name.endswith(".txt")]
        if not members:
            raise ValueError(f"{path.name} contains no .txt file")
        with archive.open(max(members, key=_nearness)) as file:
            yield file


SOURCE = Source(
    name="20news",
    shape=Shape(11_314, 7_532, 300, 20),
    binary_task=BinaryTask(
        ("alt, comp, misc, rec", "sci, soc, talk"),
        lambda group: group.split(".")[0] in _FIRST_GROUPS,
    ),
    layouts=(
        Layout(tuple((f"{part}/",) for part in _PARTS), (".", "20news-bydate")),
        Layout((_ARCHIVES,)),
    ),
    find_companion=_find_glove,
    read=_read,
    originals=(
        "20news-bydate.tar.gz (http://qwone.com/~jason/20Newsgroups/) or the two folders in it, "
        "and glove.840B.300d.txt or .zip (https://nlp.stanford.edu/projects/glove/), in the same "
        "folder or named by the environment variable HARDWOOD_GLOVE (it cannot be downloaded)"
    ),
    remotes=(
        Remote(
            _ARCHIVES[0],
            ("https://ndownloader.figshare.com/files/5975967",),
            "sha256",
            "8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
        ),
    ),
)
