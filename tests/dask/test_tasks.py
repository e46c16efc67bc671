"""Tasks of a fit: where they run, and how results are merged."""

from hardwood.dask.tasks import Tasks


def joined(parts):
    return "".join(parts)


def test_parts_are_merged_in_their_order(client):
    letters = [chr(ord("A") + i) for i in range(30)]
    with Tasks(client) as tasks:
        parts = [tasks.later("part", str, letter) for letter in letters]
        assert tasks.gather(tasks.merged("join", joined, parts)) == "".join(letters)


def test_parts_of_a_home_are_merged_first(client):
    with Tasks(client) as tasks:
        parts = [tasks.later("part", str, letter) for letter in "ABCDEF"]
        merged = tasks.merged("join", joined, parts, homes=[1, 2, 1, None, 2, None])
        assert tasks.gather(merged) == "ACBEDF"
