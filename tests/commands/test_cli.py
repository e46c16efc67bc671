"""The command line."""

import json
import re
import sys

import pytest
from typer.testing import CliRunner

from hardwood import cli
from hardwood.commands import app


def run(*arguments):
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.output


def test_demo_tells_the_whole_story(tmp_path):
    files = {name: tmp_path / name for name in ("figure.png", "report.html", "table.csv")}
    figure, report, table = files.values()
    options = ("--output", figure, "--report", report, "--table", table)
    output = run("demo", "--noise", "0.3", "--seed", "1", *map(str, options))
    for words in ("30% of the training labels flipped", "test accuracy", "leaves", "Gini", "NE"):
        assert words in output
    plain, adaptive = (
        float(re.search(rf"│ {forest} +│ +([\d.]+)% │", output).group(1))
        for forest in ("plain, by Gini", "adaptive")
    )
    assert plain < 93
    assert adaptive > 98
    n_suspect, n_found, n_wrong = (
        int(number.replace(",", ""))
        for number in re.search(
            r"suspects ([\d,]+) rows, of which ([\d,]+) have .* ([\d,]+) in",
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
    monkeypatch.setattr("hardwood.tables._pandas.import_module", not_installed)
    monkeypatch.chdir(tmp_path)
    output = run("demo")
    assert "hardwood[plot]" in output
    assert "hardwood[report]" in output
    assert not list(tmp_path.iterdir())


def test_demo_refuses_a_noise_rate_out_of_range():
    assert CliRunner().invoke(app, ["demo", "--noise", "0.9"]).exit_code == 2


def test_info_names_versions_and_the_search_path():
    output = run("info")
    for words in ("hardwood", "scikit-learn", "threads", "instruction set", "mushrooms"):
        assert words in output


def test_info_speaks_json():
    facts = json.loads(run("info", "--json"))
    assert set(facts["versions"]) == {"python", "hardwood", "numpy", "scipy", "scikit-learn"}
    assert facts["threads"] >= 1
    assert facts["instruction_set"] in facts["instruction_sets_available"]
    assert facts["data_search_path"]
    assert facts["data_sets"]["mushrooms"].endswith("mushrooms.npz")


@pytest.mark.parametrize("module", ["typer", "rich"])
def test_main_says_how_to_install_what_is_missing(module, monkeypatch, capsys):
    ours = ("hardwood.commands", "lab.paper.command")
    for name in [name for name in sys.modules if name.startswith((module, *ours))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert "hardwood[cli]" in str(stop.value.code)


def test_main_runs_a_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["hardwood", "info", "--json"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 0
    assert "versions" in json.loads(capsys.readouterr().out)
