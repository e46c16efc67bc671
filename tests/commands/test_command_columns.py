"""How the commands read columns and labels, and what they say about them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_runs import facts, run, run_well
from numpy.testing import assert_array_equal
from own_tables import pd

import hardwood
from hardwood.tables import TableModel, write_table

BOTH = pytest.mark.parametrize("command", ["train", "audit"])
SMALL = ("--trees", "40", "--jobs", "1")


@pytest.fixture
def table(rng: np.random.Generator) -> Any:
    """As a European shop exports it, with day-first dates and some that are of no single format."""
    n = 120
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D")
    turnover = rng.lognormal(7, 1, n)

    def european(number: float) -> str:
        return f"{number:,.2f}".translate(str.maketrans(",.", ".,"))

    return pd.DataFrame(
        {
            "turnover": [european(each) for each in turnover],
            "price": [f"{european(each)} €" for each in rng.gamma(2, 20, n)],
            "discount": [f"{each},5 %" for each in rng.integers(0, 30, n)],
            "sold": days.strftime("%d.%m.%Y"),
            "paid": days.strftime("%m/%d/%Y"),
            "sent": np.where(
                np.arange(n) % 2, days.strftime("%d/%m/%Y"), days.strftime("%m/%d/%Y")
            ),
            "zip": [f"{each:05d}" for each in rng.integers(1000, 1009, n)],
            "came": np.where(turnover > 1100, "yes", "no"),
        }
    )


@pytest.fixture
def data(table: Any, tmp_path: Path) -> Path:
    path = tmp_path / "shop.csv"
    table.to_csv(path, sep=";", index=False)
    return path


def notes(found: dict[str, Any]) -> dict[str, str]:
    return {column["name"]: column["note"] for column in found["columns"]}


ZIP = "text, 9 values; codes rather than numbers: some start with a zero, such as '01001'"
SENT = "Column 'sent' is left out"
LEAK = "Column 'turnover' nearly determines the label"
PAID = "Column 'paid' repeats column 'sold'"


@BOTH
def test_columns_as_people_write_them(command: str, data: Path, tmp_path: Path) -> None:
    output = ("-o", tmp_path / "model.hw") if command == "train" else ()
    found = facts(command, data, "-l", "came", *SMALL, *output, remarks=[SENT, LEAK, PAID])
    assert notes(found) == {
        "turnover": "numbers with thousands separated by points and decimal commas",
        "price": "amounts in € with decimal commas",
        "discount": "percent with decimal commas",
        "sold": "dates, day first",
        "paid": "dates, month first",
        "sent": notes(found)["sent"],
        "zip": ZIP,
    }
    assert "some of the dates are day first, others month first" in notes(found)["sent"]
    assert [each["kind"] for each in found["warnings"]] == ["id", "leak", "repeat"]


def test_the_model_is_that_of_python(table: Any, data: Path, tmp_path: Path) -> None:
    """Of the same texts, in the training table and in the one to predict."""
    model, output = tmp_path / "model.hw", tmp_path / "out.csv"
    run_well("train", data, "-l", "came", "-o", model, *SMALL, remarks=[SENT, LEAK, PAID])
    with pytest.warns(hardwood.tables.TableWarning, match="'sent' left out"):
        expected = TableModel(40, random_state=0).fit(table.drop(columns="came"), table["came"])
    assert_array_equal(hardwood.load(model).predict_proba(table), expected.predict_proba(table))
    some = table.head(7).assign(turnover="1.234")  # a fraction, if it were read without the model
    write_table(some, data)
    run_well("predict", model, data, "-o", output, "--proba")
    proba = pd.read_csv(output)[["proba_no", "proba_yes"]]
    np.testing.assert_allclose(proba, expected.predict_proba(some), rtol=1e-12)


def test_dry_run(data: Path, tmp_path: Path) -> None:
    remarks = [SENT, LEAK, PAID]
    out = run_well("train", data, "-l", "came", "--dry-run", remarks=remarks)
    for words in (
        "columns used  6 of 7",
        "classes       no, yes",
        "zip       text, 9 values; codes",
    ):
        assert words in out
    assert "left out: text with" in out
    found = facts("train", data, "-l", "came", "--dry-run", remarks=remarks)
    assert [column["is_used"] for column in found["columns"]].count(False) == 1
    assert found["rows"] == 120
    assert list(tmp_path.iterdir()) == [data]
    model = tmp_path / "model.hw"
    run_well("train", data, "-l", "came", "-o", model, "--dry-run", remarks=remarks)
    assert not model.exists()
    trained = facts("train", data, "-l", "came", "-o", model, *SMALL, remarks=remarks)
    assert trained["columns"] == found["columns"]


def test_dry_run_shows_columns_that_training_refuses(table: Any, data: Path) -> None:
    price = table["price"].where(table.index > 3, "-")
    table.assign(price=price).to_csv(data, sep=";", index=False)
    code, out, err = run("train", data, "-l", "came", "--dry-run")
    assert code == 2
    assert err.startswith(f"Note: {SENT}")
    out = " ".join(out.split())
    assert "price Column 'price' contains amounts in €" in out
    assert "but also '-' (in 4 of 120 rows, first in the 1st row)." in out
    assert f"zip {ZIP}" in out
    code, out, err = run("train", data, "-l", "came", "--dry-run", "--missing", "-")
    assert code == 0
    assert "with decimal commas, 4 missing" in " ".join(out.split())


def test_dry_run_shows_all_columns(tmp_path: Path, rng: np.random.Generator) -> None:
    table = pd.DataFrame(rng.normal(size=(30, 60))).rename(columns=lambda i: f"f{i}")
    write_table(table.assign(y=np.arange(30) % 2), tmp_path / "wide.csv")
    out = run_well("train", tmp_path / "wide.csv", "-l", "y", "--dry-run")
    assert all(f"f{i} " in out for i in range(60))


def test_no_output_and_no_dry_run(data: Path) -> None:
    code, _, err = run("train", data, "-l", "came")
    assert code == 2
    assert "Missing option" in err


@BOTH
def test_options_overrule(command: str, table: Any, data: Path) -> None:
    output = ("-o", data.with_name("model.hw")) if command == "train" else ()
    table["sold"] = pd.to_datetime(table["sold"], dayfirst=True).dt.strftime("%d%m%Y")
    table.to_csv(data, sep=";", index=False)
    told = ("--date", "sold=%d%m%Y", "--drop", "sent", "--drop", "paid", "--category", "zip")
    found = facts(command, data, "-l", "came", *SMALL, *output, *told, remarks=[LEAK])
    assert notes(found)["sold"] == "dates"
    assert notes(found)["sent"] == "left out as requested"
    assert notes(found)["zip"].startswith("text, 9 values")
    if command == "train":
        expected = (pd.to_datetime(table["sold"], format="%d%m%Y") - pd.Timestamp(0)).dt.days
        model = hardwood.load(data.with_name("model.hw"))
        assert model.encoder_.transform(table)["sold"].tolist() == expected.tolist()
        assert model.forest_.categories_[-1].tolist() == sorted(set(table["zip"]))
        run_well("predict", data.with_name("model.hw"), data, "-o", data.with_name("out.csv"))


@BOTH
@pytest.mark.parametrize(
    ("option", "match"),
    [
        (("--date", "zip"), "'zip' is declared as dates (--date), but contains '01"),
        (("--date", "sold=%Y"), "Correct the format"),
        (("--date", "when"), "date: there is no column 'when'"),
        (("--date", "sold", "--category", "sold"), "'sold' cannot be both text"),
    ],
)
def test_wrong_options(command: str, option: tuple[str, ...], match: str, data: Path) -> None:
    output = ("-o", data.with_name("model.hw")) if command == "train" else ()
    code, out, err = run(command, data, "-l", "came", *SMALL, *output, *option)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert match in err


# --- labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "classes", "remark"),
    [
        (["01", "1"], ["01", "1"], "Label column 'y' has classes that look alike: '01', '1'. They"),
        (["No", "no", "yes"], ["No", "no", "yes"], "Label column 'y' has classes that look alike"),
        (
            ["1.0", "1", "0"],
            ["0", "1", "1.0"],
            "Label column 'y' has classes that look alike: '1.0'",
        ),
        ([" b", "b", "a"], ["a", "b"], "Label column 'y' has labels that differ only in spaces"),
        (["007", "008"], ["007", "008"], None),
        (["1", "-2"], [-2, 1], None),
        (["true", "false"], ["false", "true"], None),
    ],
)
def test_labels_are_what_is_written(
    labels: list[str], classes: list[Any], remark: str | None, tmp_path: Path
) -> None:
    data, model, output = (tmp_path / name for name in ("d.csv", "m.hw", "o.csv"))
    lines = [f"{i % len(labels)},{i % 5},{labels[i % len(labels)]}" for i in range(60)]
    data.write_text("\n".join(["x,z,y", *lines]))
    remarks = [] if remark is None else [remark]
    if len(classes) == len(labels):
        remarks.append("Column 'x' repeats the label")
    else:
        remarks.append("Column 'x' determines the label")
    found = facts("train", data, "-l", "y", "-o", model, *SMALL, remarks=remarks)
    assert found["classes"] == classes
    run_well("predict", model, data, "-o", output)
    written = output.read_text().splitlines()[1:]
    assert set(written) == {label.strip() for label in labels}


# --- arguments and outputs -----------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    "option", ["--jobs=0", "--jobs=99999999999999999999", "--jobs=5000", f"--trees={2**64}"]
)
def test_numbers_out_of_range(command: str, option: str, data: Path) -> None:
    output = ("-o", data.with_name("model.hw")) if command == "train" else ()
    code, out, err = run(command, data, "-l", "came", *output, option)
    assert (code, out) == (2, "")
    assert "Invalid value for" in err
    assert "Traceback" not in err


def test_one_file_for_two_outputs(data: Path) -> None:
    page = data.with_name("page")
    for other in (page, page.parent / "." / page.name):
        code, out, err = run("audit", data, "-l", "came", "--report", page, "--issues", other)
        assert (code, out) == (2, "")
        assert "cannot be two outputs" in err
        assert not page.exists()


@pytest.fixture
def model(table: Any, tmp_path: Path) -> Path:
    path = tmp_path / "model.hw"
    few = table[["turnover", "zip"]].assign(came=table["came"].map({"yes": "=1+2", "no": "-"}))
    fitted = TableModel(40, random_state=0).fit(few.drop(columns="came"), few["came"])
    hardwood.save(fitted, path)
    few.to_csv(tmp_path / "new.csv", index=False)
    return path


def test_predictions_cannot_run_in_a_spreadsheet(model: Path) -> None:
    output, new = model.with_name("out.csv"), model.with_name("new.csv")
    run_well("predict", model, new, "-o", output, "--keep", "--proba")
    written = pd.read_csv(output)
    assert set(written["prediction"]) == {"'=1+2", "'-"}
    assert set(written["came"]) == {"'=1+2", "'-"}
    assert written.columns.tolist()[-2:] == ["proba_-", "proba_=1+2"]
    again = hardwood.tables.read_table(output)
    assert set(again["prediction"]) == {"=1+2", "-"}
    run_well("predict", model, new, "-o", output, "--raw")
    assert set(pd.read_csv(output)["prediction"]) == {"=1+2", "-"}


def test_issues_cannot_run_in_a_spreadsheet(model: Path) -> None:
    issues, new = model.with_name("issues.csv"), model.with_name("new.csv")
    options = ("-l", "came", *SMALL, "--issues", issues)
    run_well("audit", new, *options, remarks=[LEAK])
    assert set(pd.read_csv(issues)["given"]) == {"'=1+2", "'-"}
    run_well("audit", new, *options, "--raw", remarks=[LEAK])
    assert set(pd.read_csv(issues)["given"]) == {"=1+2", "-"}


def test_standard_input_and_output(model: Path) -> None:
    from command_runs import CliRunner, app

    new = model.with_name("new.csv")
    run_well("predict", model, new, "-o", model.with_name("out.csv"))
    result = CliRunner().invoke(
        app, ["predict", str(model), "-", "-o", "-"], input=new.read_bytes()
    )
    assert result.exit_code == 0
    assert result.stdout_bytes == model.with_name("out.csv").read_bytes()
    assert "rows       120" in result.stderr
    by_name = CliRunner().invoke(app, ["predict", str(model), str(new), "-o", "/dev/stdout"])
    assert by_name.stdout_bytes == result.stdout_bytes
    assert not Path("-").exists()
    options = ["-l", "came", *SMALL, "--issues", "-"]
    result = CliRunner().invoke(app, ["audit", "-", *options], input=new.read_bytes())
    assert result.exit_code == 0
    assert result.stdout.startswith("row,given,suggested,score,is_issue,rank\n0,")
    assert len(result.stdout.splitlines()) == 121


@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", "{model}", "{new}", "-o", "-", "--json"],
        ["audit", "{new}", "-l", "came", "--issues", "-", "--json"],
        ["audit", "{new}", "-l", "came", "--report", "-"],
        ["train", "{new}", "-l", "came", "-o", "-"],
    ],
)
def test_what_cannot_go_to_the_standard_output(arguments: list[str], model: Path) -> None:
    new = model.with_name("new.csv")
    code, out, err = run(*(each.format(model=model, new=new) for each in arguments))
    assert (code, out) == (2, "")
    assert "standard output" in err


def test_keep_has_the_columns_in_their_order(table: Any, data: Path) -> None:
    write_table(table[["zip", "came", "turnover"]], data)
    issues = data.with_name("issues.csv")
    run_well("audit", data, "-l", "came", *SMALL, "--issues", issues, "--keep", remarks=[LEAK])
    assert pd.read_csv(issues).columns.tolist()[6:] == ["zip", "came", "turnover"]


def test_a_file_as_a_spreadsheet_writes_it(tmp_path: Path, rng: np.random.Generator) -> None:
    """Byte order mark, line breaks and delimiters in cells, and what looks like numbers but is not."""
    n = 120
    came = rng.random(n) < 0.5
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D")
    table = pd.DataFrame(
        {
            "size": [f"{each:,}".replace(",", "'") for each in rng.integers(500, 9_999, n)],
            "people": [f"{each:,}".replace(",", "\u00a0") for each in rng.integers(500, 9_999, n)],
            "seen": days.strftime("%d.%m.%Y %H:%M"),
            "at": [f"{each % 12 + 1}:30 pm" for each in range(n)],
            "weight": [f"{each} kg" for each in 10 + rng.integers(0, 9, n)],
            "change": rng.choice(["5-", "-5", "+3"], n),
            "note": rng.choice(["one\ntwo", 'say "hi"; go', "", "Zürich"], n),
            "rare": [f"v{each}" for each in np.minimum(rng.geometric(0.03, n), 80)],
            "came": np.where(came ^ (rng.random(n) < 0.2), "ja", "nein"),
        }
    )
    path, model, output = (tmp_path / name for name in ("t.csv", "model.hw", "out.csv"))
    table.to_csv(path, sep=";", index=False, encoding="utf-8-sig", lineterminator="\r\n")
    remarks = ["Column 'weight' is kept as text: all values are numbers followed by 'kg'"]
    remarks += ["Column 'change' is kept as text"]
    found = facts("train", path, "-l", "came", "-o", model, *SMALL, remarks=remarks)
    told = notes(found)
    assert told["size"].startswith("numbers with thousands separated by apostrophes")
    assert told["people"].startswith("numbers with thousands separated by spaces")
    assert (told["seen"], told["at"]) == ("dates, day first", "times of day, in hours")
    assert told["weight"].startswith("text, 9 values; kept as text")
    assert told["change"].startswith("text, 3 values; kept as text")
    assert told["note"].startswith("text, 3 values, ")
    assert "most frequent, all others together" in told["rare"]
    run_well("predict", model, path, "-o", output)
    whole = pd.read_csv(output)["prediction"]
    table.head(7).to_csv(path, sep=";", index=False)
    run_well("predict", model, path, "-o", output)
    assert_array_equal(pd.read_csv(output)["prediction"], whole.head(7))


def test_too_few_rows(tmp_path: Path) -> None:
    path, issues = tmp_path / "two.csv", tmp_path / "issues.csv"
    path.write_text("a,b,y\n1,x,p\n2,z,q\n")
    options = ("-l", "y", "--issues", issues, "--fail-above", "0")
    out = run_well("audit", path, *options)
    assert "cannot tell: the table has too few rows" in out
    assert not pd.read_csv(issues)["is_issue"].any()
    assert json.loads(run_well("audit", path, *options, "--json"))["n_issues"] == 0
