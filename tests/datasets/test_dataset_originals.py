"""Original files, as people download them: each format is read from a small file of that format."""

import csv
import gzip
import io
import pickle
import tarfile
import zipfile

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from hardwood import datasets


@pytest.fixture
def home(monkeypatch, tmp_path):
    """A folder for originals; nothing is found elsewhere, except the embedded data set."""
    monkeypatch.delenv("HARDWOOD_DATA", raising=False)
    monkeypatch.delenv("HARDWOOD_GLOVE", raising=False)
    monkeypatch.delenv("HARDWOOD_DOWNLOAD", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    home = tmp_path / "home"
    home.mkdir()
    return home


def assert_same(dataset, X_train, y_train, X_test, y_test):
    np.testing.assert_array_equal(dataset.X_train, X_train)
    np.testing.assert_array_equal(dataset.y_train, y_train)
    np.testing.assert_array_equal(dataset.X_test, X_test)
    np.testing.assert_array_equal(dataset.y_test, y_test)
    assert dataset.y_train.dtype == dataset.y_test.dtype == np.uint8
    assert dataset.feature_names.shape == (dataset.X_train.shape[1],)


def assert_equal(dataset, other):
    for array, expected in zip(dataset, other, strict=True):
        np.testing.assert_array_equal(array, expected)
        assert array.dtype == expected.dtype


def shape_of(dataset):
    assert len(dataset.X_train) == len(dataset.y_train)
    assert len(dataset.X_test) == len(dataset.y_test)
    n_features = dataset.X_test.shape[1]
    return (*map(len, (dataset.y_train, dataset.y_test)), n_features, len(dataset.classes))


def before_the_split(dataset):
    """Return the rows in the order they had before the paper's split."""
    X = np.concatenate([dataset.X_train, dataset.X_test])
    y = np.concatenate([dataset.y_train, dataset.y_test])
    drawn = train_test_split(np.arange(len(y)), train_size=0.8, random_state=0)
    order = np.argsort(np.concatenate(drawn))
    return X[order], y[order]


def in_the_papers_split(X, y):
    """Return X_train, y_train, X_test, y_test as the paper draws them."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=0.8, random_state=0)
    return X_train, y_train, X_test, y_test


def write_arff(path, X, y, quote=""):
    """Write a dense ARFF file, labels last."""
    lines = ["% a comment", "@RELATION data", ""]
    lines += [f"@ATTRIBUTE x{column} REAL" for column in range(X.shape[1])]
    lines += ["@ATTRIBUTE class {0,1,2}", "", "@DATA"]
    lines += [
        ",".join([*map(str, row), f"{quote}{label}{quote}"])
        for row, label in zip(X, y, strict=True)
    ]
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt") as file:
        file.write("\n".join(lines) + "\n")


# MNIST


def idx(array):
    """Return an array of bytes in the idx format."""
    lengths = b"".join(length.to_bytes(4, "big") for length in array.shape)
    return bytes([0, 0, 8, array.ndim]) + lengths + array.astype(np.uint8).tobytes()


def small_mnist(rng):
    images = rng.integers(0, 256, (7, 4, 5), dtype=np.uint8)
    labels = np.array([3, 0, 9, 5, 1, 4, 7], dtype=np.uint8)
    return images[:5], labels[:5], images[5:], labels[5:]


def write_mnist(folder, arrays, suffix="-idx{}-ubyte"):
    folder.mkdir(parents=True, exist_ok=True)
    stems = ("train-images", "train-labels", "t10k-images", "t10k-labels")
    for stem, array in zip(stems, arrays, strict=True):
        content = idx(array)
        path = folder / f"{stem}{suffix.format(array.ndim)}"
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


@pytest.mark.parametrize("suffix", ["-idx{}-ubyte", "-idx{}-ubyte.gz", ".idx{}-ubyte"])
@pytest.mark.parametrize("place", [".", "mnist", "MNIST/raw"])
def test_mnist_is_read_from_idx_files(home, rng, suffix, place):
    arrays = small_mnist(rng)
    write_mnist(home / place, arrays, suffix)
    images_train, y_train, images_test, y_test = arrays
    mnist = datasets.load("mnist", data_home=home)
    assert_same(mnist, images_train.reshape(5, 20), y_train, images_test.reshape(2, 20), y_test)
    assert mnist.feature_names[:6].tolist() == [*(f"pixel_0_{c}" for c in range(5)), "pixel_1_0"]
    assert mnist.classes.tolist() == list("0123456789")
    assert mnist.X_train.flags.writeable
    binary = datasets.load("mnist", "binary", home)
    np.testing.assert_array_equal(binary.y_train, y_train % 2)


@pytest.mark.parametrize("file", ["mnist_784.arff", "mnist_784.arff.gz"])
@pytest.mark.parametrize("quote", ["", "'"])
def test_mnist_is_read_from_openml(home, rng, file, quote):
    X = rng.integers(0, 256, (14, 9), dtype=np.uint8)
    y = rng.integers(0, 10, 14)
    write_arff(home / file, X, y, quote)
    mnist = datasets.load("mnist", data_home=home)
    assert_same(mnist, X[:12], y[:12], X[12:], y[12:])
    assert mnist.X_train.dtype == np.uint8
    assert mnist.feature_names[3] == "pixel_1_0"


def test_idx_files_that_are_not_whole_are_refused(home, rng):
    arrays = small_mnist(rng)
    images = "train-images-idx3-ubyte"
    for content, message in [
        (b"", "does not start like an idx file"),
        (b"\x1f\x8b and so on", "does not start like an idx file"),
        (idx(arrays[0])[:-1], "should hold 100 values, holds 99"),
        (idx(arrays[0])[:6], "does not start like an idx file"),
        (idx(arrays[0][:4]), "numbers of images and labels differ"),
    ]:
        write_mnist(home, arrays)
        (home / images).write_bytes(content)
        with pytest.raises(ValueError, match=message) as failure:
            datasets.load("mnist", data_home=home)
        assert images in str(failure.value)


def test_a_compressed_file_that_is_cut_short_is_refused(home, rng):
    write_mnist(home, small_mnist(rng), "-idx{}-ubyte.gz")
    path = home / "train-images-idx3-ubyte.gz"
    whole = path.read_bytes()
    for content in (whole[:-20], b"not compressed"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="mnist could not be read"):
            datasets.load("mnist", data_home=home)


# CIFAR-10

BATCHES = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]


def small_cifar10(rng):
    X = rng.integers(0, 256, (12, 3072), dtype=np.uint8)
    y = rng.integers(0, 10, 12)
    return X, y


def cifar10_batches(X, y):
    """Return the six batches, each a sixth of the rows, as Python 3's pickle writes them."""
    size = len(y) // 6
    return {
        name: pickle.dumps(
            {
                b"batch_label": name.encode(),
                b"labels": y[size * i : size * (i + 1)].tolist(),
                b"data": X[size * i : size * (i + 1)],
                b"filenames": [b"image.png"] * size,
            },
            protocol=4,
        )
        for i, name in enumerate(BATCHES)
    }


def write_batches(folder, batches):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in batches.items():
        (folder / name).write_bytes(content)


def write_tar(path, files):
    with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


@pytest.mark.parametrize("packing", ["folder", "files", "tar.gz", "tar"])
def test_cifar10_is_read_from_its_batches(home, rng, packing):
    X, y = small_cifar10(rng)
    batches = cifar10_batches(X, y)
    if packing == "folder":
        write_batches(home / "cifar-10-batches-py", batches)
    elif packing == "files":
        write_batches(home / "cifar10", batches)
    else:
        files = {f"cifar-10-batches-py/{name}": content for name, content in batches.items()}
        files = {"cifar-10-batches-py/readme.html": b"<html>", **files}
        write_tar(home / f"cifar-10-python.{packing}", files)
    cifar10 = datasets.load("cifar10", data_home=home)
    assert_same(cifar10, X[:10], y[:10], X[10:], y[10:])
    assert cifar10.classes[[0, 9]].tolist() == ["airplane", "truck"]
    assert cifar10.feature_names[[0, 33, 1024, 3071]].tolist() == [
        "red_0_0",
        "red_1_1",
        "green_0_0",
        "blue_31_31",
    ]
    binary = datasets.load("cifar10", "binary", home)
    np.testing.assert_array_equal(binary.y_train, ~np.isin(y[:10], [0, 1, 8, 9]))


def python_2_batch(X, y):
    """Return a batch as Python 2's pickle wrote the originals: strings of bytes, protocol 2."""

    def string(text):
        return b"T" + len(text).to_bytes(4, "little") + text

    def number(value):
        return b"J" + value.to_bytes(4, "little")

    dtype = b"cnumpy\ndtype\n(" + string(b"u1") + b"K\x00K\x01tR"
    dtype += b"(K\x03" + string(b"|") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00t" + string(b"b") + b"tR"
    )
    shape = b"(" + number(X.shape[0]) + number(X.shape[1]) + b"t"
    array += b"(K\x01" + shape + dtype + b"\x89" + string(X.tobytes()) + b"tb"
    labels = b"(" + b"".join(number(int(label)) for label in y) + b"l"
    return b"\x80\x02}(" + string(b"data") + array + string(b"labels") + labels + b"u."


def test_cifar10_is_read_from_batches_of_python_2(home, rng):
    X, y = small_cifar10(rng)
    write_batches(
        home,
        {name: python_2_batch(X[2 * i :][:2], y[2 * i :][:2]) for i, name in enumerate(BATCHES)},
    )
    assert_same(datasets.load("cifar10", data_home=home), X[:10], y[:10], X[10:], y[10:])


class Malice:
    """Opens a file when it is unpickled in the usual way."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (
            lambda home: pickle.dumps(Malice(home / "opened")),
            "not a pickle of arrays: .*open.*not to data",
        ),
        (lambda home: pickle.dumps({b"data": Malice(home / "opened")}), "not to data"),
        (lambda home: b"", "not a pickle of arrays"),
        (lambda home: b"\x80\x04garbage", "not a pickle of arrays"),
        (lambda home: pickle.dumps([1, 2]), "lacks its data or its labels"),
        (lambda home: pickle.dumps({b"data": np.zeros((1, 3072), np.uint8)}), "lacks its data"),
        (lambda home: pickle.dumps({b"data": np.zeros((1, 9), np.uint8), b"labels": [1]}), "shape"),
        (
            lambda home: pickle.dumps({b"data": np.zeros((1, 3072), np.uint8), b"labels": [10]}),
            "from 0 to 9",
        ),
    ],
)
def test_batches_that_hold_anything_else_are_refused(home, rng, batch, message):
    write_batches(home, {**cifar10_batches(*small_cifar10(rng)), "data_batch_3": batch(home)})
    with pytest.raises(ValueError, match=message):
        datasets.load("cifar10", data_home=home)
    assert not (home / "opened").exists()


def test_an_archive_without_all_batches_is_refused(home, rng):
    batches = cifar10_batches(*small_cifar10(rng))
    del batches["data_batch_2"]
    write_tar(home / "cifar-10-python.tar.gz", batches)
    with pytest.raises(ValueError, match="lacks data_batch_2"):
        datasets.load("cifar10", data_home=home)
    (home / "cifar-10-python.tar.gz").write_bytes(b"not an archive")
    with pytest.raises(ValueError, match="cifar10 could not be read"):
        datasets.load("cifar10", data_home=home)


def test_cifar10_is_read_from_openml(home, rng):
    X, y = small_cifar10(rng)
    write_arff(home / "CIFAR_10.arff", X, y)
    assert_same(datasets.load("cifar10", data_home=home), X[:10], y[:10], X[10:], y[10:])


def test_cifar10_on_pre_trained_features(home, rng):
    X, y = small_cifar10(rng)
    write_batches(home, cifar10_batches(X, y))
    features = rng.normal(size=(12, 7)).astype(np.float32)
    np.save(home / "vgg11.npy", features)
    cifar10 = datasets.load("cifar10", data_home=home, features=home / "vgg11.npy")
    assert_same(cifar10, features[:10], y[:10], features[10:], y[10:])
    assert cifar10.feature_names.tolist() == [f"x{column}" for column in range(7)]
    assert cifar10.X_train.dtype == np.float32


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((11, 3)), "12 rows, the 10 training rows before the 2 test rows"),
        (np.zeros(12), "one matrix of numbers"),
        (np.full((12, 2), "text"), "one matrix of numbers"),
        (np.full((12, 2), None), "not a readable .npy file"),
    ],
)
def test_features_that_do_not_fit_are_refused(home, rng, array, message):
    write_batches(home, cifar10_batches(*small_cifar10(rng)))
    np.save(home / "features.npy", array)
    with pytest.raises(ValueError, match=message):
        datasets.load("cifar10", data_home=home, features=home / "features.npy")


def test_features_that_are_not_there_are_named(home):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        datasets.load("mushrooms", features=home / "nowhere.npy")


# Covertype


def small_covertype(rng):
    X = rng.integers(-100, 7000, (20, 54))
    return X, rng.integers(1, 8, 20)


@pytest.mark.parametrize("file", ["covtype.data", "covtype.data.gz", "covertype.arff"])
def test_covertype_is_read_and_split_as_in_the_paper(home, rng, file):
    X, y = small_covertype(rng)
    if file.endswith("arff"):
        write_arff(home / file, X, y)
    else:
        lines = [",".join(map(str, row)) for row in np.column_stack([X, y])]
        text = "\n".join(lines) + "\n"
        content = gzip.compress(text.encode()) if file.endswith("gz") else text.encode()
        (home / file).write_bytes(content)
    covertype = datasets.load("covertype", data_home=home)
    assert_same(covertype, *in_the_papers_split(X, y - 1))
    assert covertype.X_train.dtype == np.int16
    assert covertype.feature_names[[0, 10, 53]].tolist() == [
        "Elevation",
        "Wilderness_Area1",
        "Soil_Type40",
    ]
    binary = datasets.load("covertype", "binary", home)
    np.testing.assert_array_equal(binary.y_train, covertype.y_train != 1)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("covtype.data", "", "no rows"),
        ("covtype.data", "1,2,3\n4,5,6\n", "2 features instead of 54"),
        ("covtype.data", ",".join(["0"] * 55), "from 1 to 7"),
        ("covtype.data", "1,2\n1,2,3\n", "columns"),
        ("covtype.data", "a,b\n", "could not convert"),
        ("covertype.arff", "@relation x\n@attribute a real\n@data\n", "no rows"),
        ("covertype.arff", "@attribute a real\n@attribute c real\n@data\n1,2,3\n", "2 attributes"),
        ("covertype.arff", "@attribute a real\n@attribute c real\n@data\n0.5,1\n", "not integers"),
        ("covertype.arff", "@attribute a real\n@data\n{0 1}\n", "sparse"),
    ],
)
def test_other_tables_are_refused(home, file, text, message):
    (home / file).write_text(text)
    with pytest.raises(ValueError, match=message) as failure:
        datasets.load("covertype", data_home=home)
    assert file in str(failure.value)


# Mushrooms


def test_mushrooms_in_libsvms_file_are_the_embedded_ones(home):
    embedded = datasets.load("mushrooms")
    X, y = before_the_split(embedded)
    lines = [
        " ".join([str(label + 1), *(f"{column + 1}:1" for column in np.flatnonzero(row))])
        for row, label in zip(X, y, strict=True)
    ]
    assert lines[0].startswith("1 6:1 8:1 15:1 21:1 29:1 33:1 34:1 37:1")  # as LIBSVM's file
    (home / "mushrooms").write_text("\n".join(lines) + "\n")
    assert datasets.find("mushrooms", home) == home / "mushrooms"
    mushrooms = datasets.load("mushrooms", data_home=home)
    assert_equal(mushrooms, embedded)
    assert shape_of(mushrooms) == datasets.SHAPES["mushrooms"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3 1:1\n1 2:1\n", "1 .poisonous. and 2"),
        ("1 113:1\n", "mushrooms"),
        ("not so", "mushrooms"),
    ],
)
def test_other_mushrooms_are_refused(home, text, message):
    (home / "mushrooms.txt").write_text(text)
    with pytest.raises(ValueError, match=message):
        datasets.load("mushrooms", data_home=home)


# UNSW-NB15

UNSW_HEADER = ["id", "dur", "proto", "service", "state", "spkts", "stcpb", "attack_cat", "label"]
UNSW_TRAINING = [
    [1, 0.121478, "tcp", "-", "FIN", 6, 621772692, "Normal", 0],
    [2, 1.1e-05, "udp", "dns", "INT", 2, 621772693, "Worms", 1],
    [3, 0.5, "arp", "-", "INT", 3, 0, "Backdoor", 1],
]
UNSW_TESTING = [[1, 2.5, "tcp", "http", "CON", 9, 7, " Fuzzers ", 1]]


def write_unsw(folder, training=UNSW_TRAINING, testing=UNSW_TESTING, header=UNSW_HEADER):
    for file, rows in (("training", training), ("testing", testing)):
        path = folder / f"UNSW_NB15_{file}-set.csv"
        with path.open("w", newline="", encoding="utf-8-sig") as stream:
            csv.writer(stream).writerows([header, *rows])


def test_unsw_nb15_is_read_from_its_two_tables(home):
    write_unsw(home)
    unsw = datasets.load("unsw_nb15", data_home=home)
    X_train = [[0.121478, 6, 621772692], [1.1e-05, 2, 621772693], [0.5, 3, 0]]
    assert_same(unsw, X_train, [0, 9, 2], [[2.5, 9, 7]], [5])
    assert unsw.feature_names.tolist() == ["dur", "spkts", "stcpb"]
    assert unsw.X_train.dtype == np.float64  # float32 would merge the first two stcpb
    assert datasets.load("unsw_nb15", "binary", home).y_train.tolist() == [1, 0, 0]


def test_unsw_nb15_of_one_table_is_not_enough(home):
    write_unsw(home)
    (home / "UNSW_NB15_testing-set.csv").unlink()
    with pytest.raises(FileNotFoundError, match="UNSW_NB15_testing-set"):
        datasets.load("unsw_nb15", data_home=home)


def test_other_tables_in_place_of_unsw_nb15_are_refused(home):
    write_unsw(home, header=[*UNSW_HEADER[:-2], "category", "label"])
    with pytest.raises(ValueError, match="no column attack_cat"):
        datasets.load("unsw_nb15", data_home=home)
    write_unsw(home, testing=[[1, 2.5, "tcp", "http", "CON", 9, 7, "Mischief", 1]])
    with pytest.raises(ValueError, match="unknown attack categories Mischief"):
        datasets.load("unsw_nb15", data_home=home)
    write_unsw(home, testing=[])
    with pytest.raises(ValueError, match="no rows"):
        datasets.load("unsw_nb15", data_home=home)


# 20 Newsgroups

POSTS = {
    "20news-bydate-train/alt.atheism/49960": b"The Good good\xe9 books!",
    "20news-bydate-train/sci.space/60151": b"Rocket",
    "20news-bydate-train/sci.space/60152": b"and the of, to xyzzy",
    "20news-bydate-test/alt.atheism/53068": b"good rocket; unknownword x",
}
VECTORS = {"good": [1, 2], "Good": [3, 6], "books": [0, -3], "rocket": [0.5, 0.25], "the": [9, 9]}
X_TRAIN = [[4 / 3, 5 / 3], [0.5, 0.25], [0, 0]]
X_TEST = [[0.75, 1.125]]


def glove_text(vectors=VECTORS):
    # A first word of a longer entry, as in glove.840B: it must not be taken for the word.
    lines = [f"{word} {' '.join(map(str, vector))}" for word, vector in vectors.items()]
    return "\n".join([*lines, "rocket name@domain.com 7 7"]) + "\n"


def write_posts(folder, packing, posts=POSTS):
    if packing.startswith("tar"):
        write_tar(folder / f"20news-bydate.{packing}", posts)
        return
    for name, text in posts.items():
        path = folder / packing / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)


@pytest.mark.parametrize("packing", ["tar.gz", "tar", ".", "20news-bydate", "20news"])
def test_20_newsgroups_are_means_of_word_vectors(home, packing):
    write_posts(home, packing)
    (home / ("20news" if packing == "20news" else ".") / "glove.840B.300d.txt").write_text(
        glove_text()
    )
    news = datasets.load("20news", data_home=home)
    assert_same(news, np.float32(X_TRAIN), [0, 1, 1], np.float32(X_TEST), [0])
    assert news.classes.tolist() == ["alt.atheism", "sci.space"]
    assert news.feature_names.tolist() == ["glove_0", "glove_1"]
    assert datasets.load("20news", "binary", home).y_train.tolist() == [0, 1, 1]


def test_word_vectors_can_be_packed_or_elsewhere(home, tmp_path, monkeypatch):
    write_posts(home, "tar.gz")
    assert datasets.find("20news", home) is None
    elsewhere = tmp_path / "vectors.zip"
    with zipfile.ZipFile(elsewhere, "w") as archive:
        archive.writestr("glove.6B.50d.txt", glove_text({"good": [0, 0]}))
        archive.writestr("glove.6B.100d.txt", glove_text())
    monkeypatch.setenv("HARDWOOD_GLOVE", str(elsewhere))
    np.testing.assert_allclose(datasets.load("20news", data_home=home).X_test, X_TEST)


def test_the_papers_word_vectors_are_preferred(home):
    write_posts(home, "tar.gz")
    for file in ("glove.6B.50d.txt", "glove.6B.300d.txt", "glove.42B.300d.zip", "glove.notes.md"):
        (home / file).write_text(glove_text({"good": [0, 0]}))
    (home / "glove.840B.300d.txt").write_text(glove_text())
    np.testing.assert_allclose(datasets.load("20news", data_home=home).X_test, X_TEST)


def test_other_files_in_place_of_20_newsgroups_are_refused(home):
    write_posts(home, "tar.gz")
    glove = home / "glove.6B.50d.txt"
    glove.write_text("bonjour 1 2\n")
    with pytest.raises(ValueError, match="none of the documents' words"):
        datasets.load("20news", data_home=home)
    glove.rename(home / "glove.6B.zip")
    with pytest.raises(ValueError, match="zip file"):
        datasets.load("20news", data_home=home)
    with zipfile.ZipFile(home / "glove.6B.zip", "w"):
        pass
    with pytest.raises(ValueError, match=r"contains no \.txt file"):
        datasets.load("20news", data_home=home)
    write_tar(home / "20news-bydate.tar.gz", {"20news-bydate-train/sci.med/1": b"good"})
    with pytest.raises(ValueError, match="documents in 20news-bydate-train and"):
        datasets.load("20news", data_home=home)


# Files as large as the complete originals, of the data itself where it is at hand


@pytest.mark.slow
def test_complete_mnist_is_the_stored_one(home, data_home):
    stored = datasets.load("mnist", data_home=data_home)
    X_train, y_train, X_test, y_test, *_ = stored
    shape = (-1, 28, 28)
    write_mnist(home, (X_train.reshape(shape), y_train, X_test.reshape(shape), y_test))
    mnist = datasets.load("mnist", data_home=home)
    assert_equal(mnist, stored)
    assert shape_of(mnist) == datasets.SHAPES["mnist"]


@pytest.mark.slow
def test_complete_covertype_is_the_stored_one(home, data_home):
    stored = datasets.load("covertype", data_home=data_home)
    X, y = before_the_split(stored)
    assert X[0, :10].tolist() == [2596, 51, 3, 258, 0, 510, 221, 232, 148, 6279]  # as UCI's file
    table = np.column_stack([X, y.astype(np.int16) + 1])
    np.savetxt(home / "covtype.data", table, fmt="%d", delimiter=",")
    covertype = datasets.load("covertype", data_home=home)
    assert_equal(covertype, stored)
    assert shape_of(covertype) == datasets.SHAPES["covertype"]


@pytest.mark.slow
@pytest.mark.parametrize("names_exchanged", [False, True])
def test_complete_unsw_nb15_has_the_papers_shape(home, data_home, names_exchanged):
    stored = datasets.load("unsw_nb15", data_home=data_home)
    header = ["id", "dur", "proto", "service", "state", *stored.feature_names[1:]]
    row = [1, 0.5, "tcp", "-", "FIN", *range(38), "Normal", 0]
    tables = [[row] * 175_341, [row] * 82_332]
    header += ["attack_cat", "label"]
    write_unsw(home, *(tables[::-1] if names_exchanged else tables), header)
    unsw = datasets.load("unsw_nb15", data_home=home)
    assert shape_of(unsw) == datasets.SHAPES["unsw_nb15"]
    np.testing.assert_array_equal(unsw.feature_names, stored.feature_names)
    np.testing.assert_array_equal(unsw.classes, stored.classes)


@pytest.mark.slow
def test_complete_20_newsgroups_have_the_papers_shape(home, data_home):
    stored = datasets.load("20news", data_home=data_home)
    with np.load(data_home / "20news.npz") as arrays:
        posts = {
            f"20news-bydate-{part}/{post}": b"good"
            for part in ("train", "test")
            for post in arrays[f"doc_{part}"].tolist()
        }
    write_posts(home, "tar.gz", posts)
    (home / "glove.840B.300d.txt").write_text(glove_text({"good": [0.5] * 300}))
    news = datasets.load("20news", data_home=home)
    assert shape_of(news) == datasets.SHAPES["20news"]
    for part in ("y_train", "y_test"):
        counts, expected = (np.bincount(getattr(data, part)) for data in (news, stored))
        np.testing.assert_array_equal(counts, expected)
    np.testing.assert_array_equal(news.classes, stored.classes)


@pytest.mark.slow
def test_complete_cifar10_has_the_papers_shape(home):
    y = np.arange(60_000) % 10
    write_batches(home, cifar10_batches(np.zeros((60_000, 3072), np.uint8), y))
    cifar10 = datasets.load("cifar10", data_home=home)
    assert shape_of(cifar10) == datasets.SHAPES["cifar10"]
