"""What makes a release: one version, a wheel of the package alone, workflows, a recipe."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import files as installed_files
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
pytestmark = pytest.mark.skipif(not WORKFLOWS, reason="the workflows are not with the tests")


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def project() -> dict[str, Any]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["project"]


def jobs(path: Path) -> dict[str, dict[str, Any]]:
    return read(path)["jobs"]


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in jobs(path).values() for step in job["steps"]]


def test_the_version_is_in_one_place():
    version = project()["version"]
    hardwood = pytest.importorskip("hardwood")
    assert hardwood.__version__ == version
    recipe = (ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8")
    assert f'version: "{version}"' in recipe  # the recipe is copied elsewhere, so it has its own
    for other in ("CITATION.cff", "src/hardwood/__init__.py", "CMakeLists.txt", "docs/conf.py"):
        assert version not in (ROOT / other).read_text(encoding="utf-8"), other


def package_files() -> list[Path]:
    """Return the files of the package as it is imported: the wheel's, or those it is made of."""
    hardwood = pytest.importorskip("hardwood")
    folder = Path(hardwood.__file__).parent
    found = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    return [path for path in found if "__pycache__" not in path.parts]


def test_the_wheel_is_made_of_the_package_alone():
    with (ROOT / "pyproject.toml").open("rb") as file:
        wheel = tomllib.load(file)["tool"]["scikit-build"]["wheel"]
    assert wheel["packages"] == ["src/hardwood"]
    at_the_top = {path.parts[0] for path in installed_files("hardwood") or ()}
    assert not at_the_top & {"lab", "benchmarks", "tests", "docs", "examples"}


def test_the_package_holds_no_experiment_benchmark_or_paper_table():
    files = package_files()
    assert Path("forest.py") in files
    for path in files:
        for part in path.with_suffix("").parts:
            assert not re.search(r"experiment|(?<!work)bench|reproduc|paper|^lab$", part), path
        # What a laboratory keeps: specs, results, tables and figures.
        assert path.suffix not in {".toml", ".csv", ".json", ".jsonl", ".sqlite", ".png", ".R"}, (
            path
        )


def test_the_package_does_not_need_the_lab():
    hardwood = pytest.importorskip("hardwood")
    folder = Path(hardwood.__file__).parent
    for path in package_files():
        if path.suffix == ".py":
            text = (folder / path).read_text(encoding="utf-8")
            assert not re.search(r"^\s*(from|import) lab\b", text, flags=re.MULTILINE), path


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_ask_for_no_more_than_they_need(path):
    assert read(path)["permissions"] == {}
    for name, job in jobs(path).items():
        assert job["timeout-minutes"] <= 90
        allowed = {"contents": "read"}
        if name == "publish":
            allowed = {"id-token": "write", "pages": "write"}
        assert job["permissions"].items() <= allowed.items(), name


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit(path):
    used = [step["uses"] for step in steps(path) if "uses" in step]
    assert used
    for action in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action), action
    text = path.read_text(encoding="utf-8")
    versions = re.findall(r"uses: \S+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", text, flags=re.MULTILINE)
    assert len(versions) == len(used), "each pin says its version in a comment"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_checkouts_keep_no_credentials(path):
    for step in steps(path):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_scripts_take_no_expressions(path):
    """A title or tag pasted into a script could run as code; variables cannot."""
    for step in steps(path):
        assert "${{" not in step.get("run", ""), step


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_the_scripts_that_workflows_call_exist(path):
    for step in steps(path):
        for script in re.findall(r"\.ci/\w+", step.get("run", "")):
            mode = (ROOT / script).stat().st_mode
            assert mode & 0o111, f"{script} cannot be run"


def test_wheels_for_every_platform():
    release = jobs(ROOT / ".github" / "workflows" / "release.yml")
    platforms = {row["platform"] for row in release["wheels"]["strategy"]["matrix"]["include"]}
    assert platforms == {
        "linux-x86_64",
        "linux-aarch64",
        "macos-arm64",
        "macos-x86_64",
        "windows-amd64",
    }
    assert set(release["publish"]["needs"]) == set(release) - {"publish"}
    assert release["publish"]["if"] == "github.event_name == 'release'"
    assert release["publish"]["environment"] == "release"


def test_wheels_for_every_python():
    with (ROOT / ".github" / "cibuildwheel.toml").open("rb") as file:
        build = tomllib.load(file)["tool"]["cibuildwheel"]["build"]
    with (ROOT / "pyproject.toml").open("rb") as file:
        settings = tomllib.load(file)
    stable_abi = settings["tool"]["scikit-build"]["wheel"]["py-api"]
    first = settings["project"]["requires-python"].removeprefix(">=").replace(".", "")
    versions = range(int(first), int(stable_abi.removeprefix("cp")) + 1)
    assert build == [f"cp{version}-*" for version in versions]


def test_tests_run_with_the_oldest_python_and_everywhere():
    tests = jobs(ROOT / ".github" / "workflows" / "tests.yml")
    oldest = project()["requires-python"].removeprefix(">=")
    assert tests["oldest"]["steps"][1]["with"]["python-version"] == oldest
    systems = {row["os"].split("-")[0] for row in tests["newest"]["strategy"]["matrix"]["include"]}
    assert systems == {"ubuntu", "macos", "windows"}


def test_the_recipe_has_our_dependencies():
    recipe = read(ROOT / "recipe" / "recipe.yaml")
    run = {requirement.replace(" ", "") for requirement in recipe["requirements"]["run"]}
    extras = project()["optional-dependencies"]
    of_the_command = {*extras["cli"], *extras["report"]} - {"hardwood[report]"}
    assert {*project()["dependencies"], *of_the_command} <= {
        each.replace("jinja2", "Jinja2") for each in run
    }
    host = {requirement.replace(" ", "") for requirement in recipe["requirements"]["host"]}
    with (ROOT / "pyproject.toml").open("rb") as file:
        assert set(tomllib.load(file)["build-system"]["requires"]) <= host
    assert recipe["context"]["python_min"] == project()["requires-python"].removeprefix(">=")
    assert recipe["about"]["license"] == project()["license"]


def test_every_dependency_names_its_oldest_version():
    """`.ci/oldest` installs exactly these."""
    for dependency in project()["dependencies"]:
        assert re.fullmatch(r"[\w-]+>=[\d.]+", dependency), dependency


def test_the_readme_names_the_oldest_versions():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    oldest = dict(dependency.split(">=") for dependency in project()["dependencies"])
    python = project()["requires-python"].removeprefix(">=")
    assert (
        f"Requires Python ≥ {python}, scikit-learn ≥ {oldest['scikit-learn']} "
        f"and NumPy ≥ {oldest['numpy']}." in " ".join(readme.split())
    )


@pytest.mark.parametrize(
    "command", ["pip install '.[all]' && hardwood demo", "pip install '.[test]' && pytest"]
)
def test_the_checks_run_the_readmes_two_commands(command):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"\n{command}\n" in readme
    assert f"\n{command} || exit 1\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_extras_bring_what_tests_would_be_skipped_without():
    requirements = [
        requirement
        for extra, names in project()["optional-dependencies"].items()
        if extra in ("test", "cli", "report", "plot", "onnx", "dask")  # of what .ci/run installs
        for requirement in names
    ]
    brought = set(re.findall(r"\w+", " ".join(requirements).lower()))
    modules = sorted((ROOT / "tests").rglob("test_*.py"))
    assert modules
    for path in modules:
        for module in re.findall(r'importorskip\("(\w+)', path.read_text(encoding="utf-8")):
            if module not in sys.stdlib_module_names | {"hardwood", "_testcapi"}:
                assert {"yaml": "pyyaml"}.get(module, module) in brought, (path.name, module)
