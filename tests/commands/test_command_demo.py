"""``hardwood demo``."""

import re
import sys

from command_runs import run, run_well


def test_demo_tells_the_whole_story(tmp_path):
    files = {name: tmp_path / name for name in ("figure.png", "report.html", "table.csv")}
    figure, report, table = files.values()
    options = ("--output", figure, "--report", report, "--table", table)
    output = run_well("demo", "--noise", 0.3, "--seed", 1, *options)
    for words in ("30% of the training labels flipped", "test accuracy", "leaves", "Gini", "NE"):
        assert words in output
    plain, adaptive = (
        float(re.search(rf"│ {forest} +│ +([\d.]+)% │", output).group(1))
        for forest in ("ordinary, Gini", "adaptive")
    )
    assert plain < 93
    assert adaptive > 98
    n_suspect, n_found, n_wrong = (
        int(number.replace(",", ""))
        for number in re.search(
            r"marks ([\d,]+) rows and finds ([\d,]+) of the ([\d,]+) wrong",
            " ".join(output.split()),
        ).groups()
    )
    assert n_found > 0.9 * max(n_suspect, n_wrong)
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert "Labels of mushrooms" in report.read_text(encoding="utf-8")
    header, *lines = table.read_text(encoding="utf-8").splitlines()
    assert header.startswith("cap-shape,")
    assert header.endswith(",class")
    assert len(lines) == 6499


def not_installed(module):
    raise ImportError(module)


def test_demo_goes_on_without_matplotlib_and_pandas(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr("hardwood.tables.frames.import_module", not_installed)
    monkeypatch.chdir(tmp_path)
    output = run_well("demo")
    assert "hardwood[plot]" in output
    assert "hardwood[report]" in output
    assert not list(tmp_path.iterdir())


def test_demo_refuses_a_noise_rate_out_of_range():
    assert run("demo", "--noise", 0.9).code == 2


def test_demo_has_three_outputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = run("demo", "--output", "a", "--table", "a")
    assert code == 2
    assert "cannot be two outputs" in err
    code, _, err = run("demo", "--table", "-")
    assert code == 2
    assert "cannot be written to the standard output" in err
    assert not list(tmp_path.iterdir())
