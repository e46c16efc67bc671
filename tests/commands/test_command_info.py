"""``hardwood info``."""

from command_runs import facts, run_well


def test_info_names_versions_and_the_search_path():
    output = run_well("info")
    for words in ("hardwood", "scikit-learn", "threads", "instruction set", "mushrooms"):
        assert words in output


def test_info_speaks_json():
    found = facts("info")
    assert set(found["versions"]) == {"python", "hardwood", "numpy", "scipy", "scikit-learn"}
    assert found["threads"] >= 1
    assert found["instruction_set"] in found["instruction_sets_available"]
    assert found["data_search_path"]
    assert found["data_sets"]["mushrooms"].endswith("mushrooms.npz")
