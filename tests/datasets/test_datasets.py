"""The data sets: where they are looked for, how they are kept, and the paper's binary tasks."""

import numpy as np
import pytest

from hardwood import datasets

# Some classes of each group of the paper's binary tasks; the first-listed group is label 0.
FIRST_LISTED = {
    "mnist": {"0", "2", "4", "6", "8"},
    "cifar10": {"airplane", "automobile", "ship", "truck"},
    "20news": {"alt.atheism", "comp.graphics", "misc.forsale", "rec.autos"},
    "unsw_nb15": {"Analysis", "Backdoor", "DoS", "Worms"},
    "covertype": {"Lodgepole Pine"},
    "mushrooms": {"poisonous"},
}
FIRST_LISTED["cifar10_vgg11"] = FIRST_LISTED["cifar10"]
SECOND_LISTED = {
    "mnist": {"1", "3", "5", "7", "9"},
    "cifar10": {"bird", "cat", "deer", "dog", "frog", "horse"},
    "20news": {"sci.med", "soc.religion.christian", "talk.religion.misc"},
    "unsw_nb15": {"Normal"},
    "covertype": {"Spruce/Fir", "Ponderosa Pine", "Krummholz"},
    "mushrooms": {"edible"},
}
SECOND_LISTED["cifar10_vgg11"] = SECOND_LISTED["cifar10"]
SHAPES = {  # training rows, test rows, features, classes of the .npz files
    "mnist": (60_000, 10_000, 784, 10),
    "cifar10": (50_000, 10_000, 3_072, 10),
    "20news": (11_314, 7_532, 100, 20),
    "unsw_nb15": (65_865, 16_467, 39, 10),
    "covertype": (464_809, 116_203, 54, 7),
    "mushrooms": (6_499, 1_625, 112, 2),
    "cifar10_vgg11": (50_000, 10_000, 512, 10),
}


@pytest.fixture
def no_data(monkeypatch, tmp_path):
    """Folders that hold no data, so that only the embedded data set is found."""
    monkeypatch.setenv("HARDWOOD_DATA", str(tmp_path / "from_environment"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def write(folder, name, classes, without=()):
    """Write a small data set that has one row of each class."""
    n_classes = len(classes)
    rows = np.arange(2 * n_classes, dtype=np.float32).reshape(n_classes, 2)
    labels = np.arange(n_classes, dtype=np.uint8)
    arrays = {
        "X_train": rows,
        "y_train": labels,
        "X_test": rows + 1,
        "y_test": labels[::-1],
        "classes": np.array(classes),
    }
    for key in without:
        del arrays[key]
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / f"{name}.npz", **arrays)


def test_mushrooms_comes_with_the_package(no_data):
    mushrooms = datasets.load("mushrooms")
    assert mushrooms.X_train.shape == (6_499, 112)
    assert mushrooms.X_test.shape == (1_625, 112)
    assert mushrooms.classes.tolist() == ["poisonous", "edible"]
    assert len(mushrooms.feature_names) == 112
    binary = datasets.load("mushrooms", task="binary")
    np.testing.assert_array_equal(binary.y_train, mushrooms.y_train)


@pytest.mark.parametrize("name", datasets.NAMES)
def test_label_0_of_the_binary_task_is_the_first_listed_group(no_data, name):
    classes = sorted(FIRST_LISTED[name]) + sorted(SECOND_LISTED[name])
    write(no_data, name, classes)
    dataset = datasets.load(name, task="binary", data_home=no_data)
    expected = [0] * len(FIRST_LISTED[name]) + [1] * len(SECOND_LISTED[name])
    assert dataset.y_train.tolist() == expected
    assert dataset.y_test.tolist() == expected[::-1]
    assert len(dataset.classes) == 2


def test_folders_are_searched_in_order(no_data):
    cache, from_environment, data_home = (
        no_data / "cache" / "hardwood",
        no_data / "from_environment",
        no_data / "home",
    )
    assert datasets.search_path(data_home)[:3] == [data_home, from_environment, cache]
    for folder in (cache, from_environment, data_home):
        write(folder, "mnist", ["0", "1"])
        assert datasets.find("mnist", data_home) == folder / "mnist.npz"


def test_the_cache_folder_is_in_the_users_home_by_default(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HARDWOOD_DATA", raising=False)
    assert datasets.search_path()[0].parts[-2:] == (".cache", "hardwood")
    assert datasets.search_path()[0].is_absolute()


def test_unknown_feature_names_are_numbered(no_data):
    write(no_data, "mnist", ["0", "1"])
    assert datasets.load("mnist", data_home=no_data).feature_names.tolist() == ["x0", "x1"]


def test_a_missing_file_is_named_with_where_to_put_it(no_data):
    assert datasets.find("covertype") is None
    with pytest.raises(FileNotFoundError) as failure:
        datasets.load("covertype", data_home=no_data / "home")
    message = str(failure.value)
    for part in ("covertype.npz", "home", "from_environment", "HARDWOOD_DATA", "X_train"):
        assert part in message
    for part in ("covtype.data.gz", "archive.ics.uci.edu", "download=True"):
        assert part in message


@pytest.mark.parametrize("name", ["mnist", "cifar10", "20news", "unsw_nb15", "covertype"])
def test_the_message_names_the_original_files(no_data, name):
    with pytest.raises(FileNotFoundError) as failure:
        datasets.load(name)
    original = {
        "mnist": "train-images-idx3-ubyte",
        "cifar10": "cifar-10-python.tar.gz",
        "20news": "glove.840B.300d",
        "unsw_nb15": "UNSW_NB15_testing-set.csv",
        "covertype": "covtype.data.gz",
    }[name]
    assert original in str(failure.value)
    assert ("download=True" in str(failure.value)) == (name != "unsw_nb15")


def test_features_of_a_network_have_no_originals(no_data):
    with pytest.raises(FileNotFoundError, match=r"You need cifar10_vgg11\.npz") as failure:
        datasets.load("cifar10_vgg11", download=True)
    assert "original" not in str(failure.value)


def test_a_stored_file_comes_before_originals_in_the_same_folder(no_data):
    home = no_data / "home"
    write(home, "covertype", ["Spruce/Fir", "Lodgepole Pine"])
    (home / "covtype.data").write_text("not read")
    assert datasets.find("covertype", home) == home / "covertype.npz"
    (home / "covertype.npz").unlink()
    write(no_data / "from_environment", "covertype", ["Spruce/Fir", "Lodgepole Pine"])
    assert datasets.find("covertype", home) == home / "covtype.data"


def test_what_is_saved_is_loaded(no_data):
    mushrooms = datasets.load("mushrooms")
    changed = mushrooms._replace(X_train=mushrooms.X_train[:9], y_train=mushrooms.y_train[:9])
    (no_data / "home").mkdir()
    datasets.save(changed, no_data / "home" / "mushrooms.npz")
    loaded = datasets.load("mushrooms", data_home=no_data / "home")
    for stored, read in zip(changed, loaded, strict=True):
        np.testing.assert_array_equal(read, stored)
        assert read.dtype == stored.dtype
    assert [path.name for path in (no_data / "home").iterdir()] == ["mushrooms.npz"]


@pytest.mark.parametrize("content", [b"", b"not an archive", b"PK\x03\x04 cut short"])
def test_an_unreadable_file_is_named(no_data, content):
    (no_data / "mnist.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"mnist\.npz is not a readable \.npz file"):
        datasets.load("mnist", data_home=no_data)


def test_missing_arrays_are_named(no_data):
    write(no_data, "mnist", ["0", "1"], without=["y_test", "classes"])
    with pytest.raises(ValueError, match=r"lacks the array\(s\) y_test, classes"):
        datasets.load("mnist", data_home=no_data)


def test_unknown_names_and_tasks_are_refused():
    with pytest.raises(ValueError, match="name must be one of mnist"):
        datasets.load("iris")
    with pytest.raises(ValueError, match="name must be one of mnist"):
        datasets.find("iris")
    with pytest.raises(ValueError, match="'multiclass' or 'binary'"):
        datasets.load("mushrooms", task="regression")


@pytest.mark.slow
@pytest.mark.parametrize("name", datasets.NAMES)
@pytest.mark.parametrize("task", ["multiclass", "binary"])
def test_the_stored_files_have_the_shapes_they_should(name, task):
    if datasets.find(name) is None:
        pytest.skip(f"{name} is not at hand")
    n_train, n_test, n_features, n_classes = SHAPES[name]
    dataset = datasets.load(name, task=task)
    assert dataset.X_train.shape == (n_train, n_features)
    assert dataset.X_test.shape == (n_test, n_features)
    labels = np.arange(2 if task == "binary" else n_classes)
    np.testing.assert_array_equal(np.unique(dataset.y_train), labels)
    assert len(dataset.classes) == len(labels)
    assert len(dataset.feature_names) == n_features
