"""Tables, figures and the page: our results next to the paper's."""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest

from hardwood.datasets import SHAPES
from lab.paper import load_spec
from lab.paper.compare import Accuracy, Cell, agreement, compare, paper_results
from lab.paper.figures import draw, draw_theory
from lab.paper.protocols import OTHERS, compare_protocols
from lab.paper.reasons import UNEXPLAINED, reason_for
from lab.paper.report import write as write_report
from lab.paper.squares import KINDS, draw_squares, kind_of
from lab.paper.tables import as_csv, as_latex, as_markdown, write
from lab.store import Result, Store, open_results

PAPER = load_spec("paper")
PUBLISHED = paper_results()


def result(run, accuracy, seed=0, leaves=50.0, n_train=None):
    n_train = n_train or SHAPES[run.dataset].n_train
    measured = {"accuracy": accuracy, "leaves": leaves, "seconds": 2.0, "n_train": n_train}
    return Result(
        replace(run, seed=seed), measured, 1, "2024-01-01T00:00:00.000+00:00", "hardwood 0"
    )


def published(run):
    accuracy, _ = PUBLISHED[run.model, run.task, run.dataset, run.criterion, run.noise]
    return accuracy.mean


def as_published(spec, shift=0.0):
    return [
        result(run, published(run) + shift + seed - 0.5, seed)
        for run in spec.cells()
        for seed in (0, 1)
    ]


def test_mean_and_two_standard_deviations():
    accuracy = Accuracy.of([80.0, 82.0, 84.0])
    assert (accuracy.mean, accuracy.two_sd, accuracy.n) == (82.0, 4.0, 3)
    assert Accuracy.of([80.0]) == Accuracy(80.0, 0.0, 1)


@pytest.mark.parametrize(
    ("ours", "differs", "agrees"),
    [
        (Accuracy(91.0, 0.0, 1), False, True),  # on the edge of the paper's band
        (Accuracy(91.02, 0.0, 1), True, True),
        (Accuracy(91.5, 0.0, 1), True, True),
        (Accuracy(91.52, 0.0, 1), True, False),
        (Accuracy(88.0, 1.0, 2), False, False),
        (Accuracy(87.9, 1.0, 2), True, False),
        (Accuracy(90.0, 9.0, 2), False, True),
        (None, False, False),
    ],
)
def test_what_differs_and_what_agrees(ours, differs, agrees):
    cell = Cell(next(PAPER.cells()), Accuracy(90.0, 1.0, 5), ours)
    assert (cell.differs, cell.agrees) == (differs, agrees)


def test_cells_take_the_seeds_of_their_own_runs_only():
    spec = PAPER.narrowed(datasets=["mushrooms"], models=["dt"], criteria=["CL"], noise=["0.3"])
    (run,) = spec.cells()
    other = replace(run, max_rows=100)
    (cell,) = compare(spec, [result(run, 90.0), result(run, 92.0, 1), result(other, 10.0)])
    assert cell.ours == Accuracy.of([90.0, 92.0])
    assert cell.paper == Accuracy(99.63, 0.53, 5)
    assert cell.bold


def test_other_rows_than_the_papers_are_not_set_beside_it():
    spec = PAPER.narrowed(datasets=["unsw_nb15"], models=["dt"], tasks=["binary"], noise=["0.3"])
    run, *_ = spec.cells()
    assert compare(spec, [result(run, 80.0)])[0].paper is not None
    cells = compare(spec, [result(run, 80.0, n_train=65_865)])
    assert all(cell.paper is None for cell in cells)
    assert cells[0].ours == Accuracy(80.0, 0.0, 1)
    assert "| UNSW-NB15 | ANE | 80.00 |" in as_markdown(cells)


def test_agreement_counts_what_both_have():
    spec = PAPER.narrowed(datasets=["mushrooms"], models=["dt"])
    assert agreement(compare(spec, [])) == (0, 0)
    assert agreement(compare(spec, as_published(spec))) == (56, 56)
    assert agreement(compare(spec, as_published(spec, shift=-30.0))) == (0, 56)


def test_markdown_has_both_numbers_bold_and_marks():
    spec = PAPER.narrowed(datasets=["mushrooms"], models=["rf"], criteria=["CL"])
    runs = {run.noise: run for run in spec.cells()}
    results = [
        result(runs["0.0"], 99.27),
        result(runs["0.1"], 90.0, 0),
        result(runs["0.1"], 90.5, 1),
        result(runs["0.2"], 100.0),
    ]
    text = as_markdown(compare(spec, results))
    assert "### Random forest, binary" in text
    assert "| 0.4 | CC (0.1, 0.3) | CC (0.2, 0.4) |" in text
    assert "| 99.27 ± 0.22<br>99.27 ✓ |" in text  # one seed: no deviation
    assert "| **99.46 ± 0.59**<br>90.25 ± 0.71 ▼ |" in text
    assert "| **99.31 ± 0.25**<br>100.00 ✓ |" in text
    assert "| **99.08 ± 0.42**<br>– |" in text


def test_latex_says_the_same():
    spec = PAPER.narrowed(datasets=["mushrooms"], models=["rf"], criteria=["CL"])
    run = next(run for run in spec.cells() if run.noise == "0.1")
    text = as_latex(compare(spec, [result(run, 90.0, 0), result(run, 90.5, 1)]))
    assert r"$\mathbf{99.46 \pm 0.59}$" in text
    assert r"$90.25 \pm 0.71\downarrow$" in text
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 1


def test_csv_has_a_line_per_cell():
    rows = list(csv.DictReader(io.StringIO(as_csv(compare(PAPER, as_published(PAPER))))))
    assert len(rows) == 1092
    assert {row["agrees"] for row in rows} == {"1"}
    assert rows[0]["difference"] == "0.00"
    assert (rows[0]["paper"], rows[0]["ours"], rows[0]["seeds"]) == ("94.0", "94.00", "2")
    empty = list(csv.DictReader(io.StringIO(as_csv(compare(PAPER, [])))))
    assert {row["ours"] for row in empty} == {""}


def test_the_published_results_give_the_published_tables():
    """To one unit of the last digit, as the CSV has six digits of what the page was made from."""
    docs = Path(__file__).parents[2] / "docs"
    with open_results(docs / "reproduction" / "results.csv") as store:
        cells = compare_protocols(PAPER, store.results())
    published = (docs / "reproduction.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in as_markdown(cells).splitlines() if line.startswith("|")]
    assert len(rows) > 70
    start = published.index(rows[0])
    page = [line for line in published[start:] if line.startswith("|")]
    number = re.compile(r"\d+\.\d+")
    for ours, theirs in zip(rows, page, strict=True):
        assert number.sub("", ours) == number.sub("", theirs)
        expected = [float(text) for text in number.findall(theirs)]
        assert [float(t) for t in number.findall(ours)] == pytest.approx(expected, abs=0.0101)


def cell_with_protocols(plain, noise="0.2", **others):
    """A Covertype cell whose paper's accuracy is 95.37 ± 0.05, as our protocols have it."""
    place = {"datasets": ["covertype"], "tasks": ["multiclass"], "models": ["rf"]}
    narrow = {**place, "criteria": ["MSE"], "noise": [noise]}
    results = [result(next(PAPER.narrowed(**narrow).cells()), plain)]
    for name, accuracy in others.items():
        results.append(result(next(load_spec(name).narrowed(**narrow).cells()), accuracy))
    (cell,) = compare_protocols(PAPER.narrowed(**narrow), results)
    return cell


def test_protocols_stand_next_to_each_other():
    cell = cell_with_protocols(92.06, bootstrap=95.36)
    assert cell.others == {"bootstrap": Accuracy(95.36, 0.0, 1)}
    assert "95.37 ± 0.05<br>92.06 ▼<br>B 95.36 ✓ |" in as_markdown([cell])
    assert "<br>96.50 ▲ |" in as_markdown([cell_with_protocols(96.5)])
    (row,) = csv.DictReader(io.StringIO(as_csv([cell])))
    assert (row["agrees"], row["bootstrap"], row["swapped_rates"]) == ("0", "95.36", "")


@pytest.mark.parametrize(
    ("plain", "others", "kind", "reason"),
    [
        (95.3, {}, "plain", None),
        (92.0, {"bootstrap": 95.36}, "bootstrap", "bootstrap samples: 95.36"),
        (92.0, {"bootstrap": 94.0}, "outside", "nearer with bootstrap samples: 94.00"),
        (92.0, {"bootstrap": 91.0}, "outside", UNEXPLAINED),
        (92.0, {}, "outside", UNEXPLAINED),
    ],
)
def test_every_cell_outside_has_a_reason(plain, others, kind, reason):
    cell = cell_with_protocols(plain, **others)
    assert kind_of(cell) == kind
    if reason:
        assert reason_for(cell) == reason


def test_unpublished_matrices_are_a_reason():
    assert "not published" in reason_for(cell_with_protocols(50.0, noise="cc"))


def test_squares(tmp_path):
    cells = compare_protocols(PAPER, as_published(PAPER.narrowed(datasets=["mushrooms", "20news"])))
    kinds = {cell.run.dataset: kind_of(cell) for cell in cells if cell.run.criterion == "CL"}
    assert (kinds["mushrooms"], kinds["20news"], kinds["mnist"]) == ("plain", "apart", "missing")
    assert {kind_of(cell) for cell in cells} <= set(KINDS)
    assert draw_squares(tmp_path / "s.png", cells).read_bytes().startswith(b"\x89PNG")
    assert {protocol.spec for protocol in OTHERS} < set(KINDS)


def test_figures_of_the_theory(tmp_path):
    paths = draw_theory(tmp_path, [".png"])
    assert [path.name for path in paths] == ["figure-1.png", "figure-8.png"]


def test_a_criterion_that_the_paper_does_not_have(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'paper = true\n[tasks.binary]\ndatasets = ["mushrooms"]\nnoise = [0.3]\n'
        '[[criteria]]\nname = "Mine"\ncriterion = "sqrt_gini"\n'
    )
    spec = load_spec(path)
    cells = compare(spec, [result(next(spec.cells()), 77.0)])
    assert "| Mushrooms | Mine | 77.00 |" in as_markdown(cells)
    assert r"$77.00$" in as_latex(cells)


def test_files_of_every_format(tmp_path):
    spec = PAPER.narrowed(datasets=["mushrooms"], models=["dt"])
    paths = write(tmp_path / "new", spec, compare(spec, as_published(spec)))
    assert [path.suffix for path in paths] == [".md", ".tex", ".csv"]
    assert all(path.stat().st_size > 500 for path in paths)


def test_figures_of_what_there_is(tmp_path):
    spec = PAPER.narrowed(datasets=["mushrooms", "mnist"])
    results = [r for r in as_published(spec) if r.run.model == "dt"]
    paths = draw(tmp_path, PAPER, results)
    names = [
        f"paper-dt-{task}.{kind}" for task in ("binary", "multiclass") for kind in ("png", "svg")
    ]
    assert [path.name for path in paths] == names
    assert (tmp_path / names[0]).read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / names[1]).read_text()
    before = (tmp_path / names[0]).read_bytes()
    draw(tmp_path, PAPER, results)
    assert (tmp_path / names[0]).read_bytes() == before
    assert draw(tmp_path, PAPER, []) == []


@pytest.mark.parametrize("name", ["lambda", "gce", "min_samples_leaf"])
def test_figures_of_a_varied_parameter(tmp_path, name):
    spec = load_spec(name)
    results = [
        result(run, 70.0 + place % 20, leaves=1.0 + place) for place, run in enumerate(spec.cells())
    ]
    assert [path.name for path in draw(tmp_path, spec, results)] == [f"{name}.png", f"{name}.svg"]
    assert draw(tmp_path, spec, []) == []


def test_the_page_is_made_and_refreshed(tmp_path):
    page = tmp_path / "page.md"
    spec = PAPER.narrowed(datasets=["mushrooms", "20news"], models=["dt"])
    some = [r for r in as_published(spec) if r.run.criterion in ("CL", "Twoing")]
    with Store(tmp_path / "runs.sqlite") as store:
        store.add(some)
        paths = write_report(page, store)
        text = page.read_text()
        assert "| Mushrooms | 7 of 7 (100%) | – | – | – | 7 of 7 (100%) |" in text
        assert "20News (different word vectors from the paper's)" in text
        assert "None." in text
        assert "](page/paper-dt-binary.png)" in text
        assert [path.name for path in paths][:2] == ["page.md", "results.csv"]

        page.write_text(
            text.replace("## Cells that do not agree", "By hand.\n\n## Cells that do not agree")
        )
        run = next(
            run for run in spec.cells() if (run.dataset, run.criterion) == ("mushrooms", "CE")
        )
        store.add([result(run, 12.0)])
        write_report(page, store)
        text = page.read_text()
        assert "By hand." in text
        assert "7 of 8 (88%)" in text
        row = (
            "| Mushrooms | binary | dt | CE | 0.0 | 100.00 ± 0.00 | 12.00 | -88.00 | unexplained |"
        )
        assert row in text
        assert "**14 of 15 comparable cells" not in text
        assert "**7 of 8 comparable cells (88%) are inside" in text
        assert "](page/squares.png)" in text
        write_report(page, store)
        assert page.read_text() == text
