"""Specs: TOML files that describe a grid of runs."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hardwood import criteria, datasets
from lab.data import NOISE_PARAMETERS
from lab.store import Run, settings_json

__all__ = [
    "FORESTS",
    "MODELS",
    "TASKS",
    "CriterionEntry",
    "Source",
    "Spec",
    "SpecError",
    "load_spec",
    "packaged_specs",
]

MODELS = ("dt", "rf", "et")
"""Decision tree, random forest, extremely randomised trees."""
FORESTS = ("rf", "et")
TASKS = ("binary", "multiclass")

_FOLDER = Path(__file__).parent / "specs"
_TOP_KEYS = {
    *("title", "paper", "seeds", "models", "trees", "max_rows", "slow_forest"),
    *("tasks", "noise", "datasets", "criteria"),
}


class SpecError(ValueError):
    """A spec that cannot be read, or that asks for something unknown."""


@dataclass(frozen=True)
class Source:
    """Where a data set comes from: `hardwood.datasets`, or a .npz file of yours in its layout.

    `first_classes` make up label 0 of the binary task, if a file has more than two classes.
    """

    name: str
    dataset: str | None = None
    path: str | None = None
    first_classes: tuple[str, ...] = ()
    features: str | None = None  # a .npy file whose columns replace those of `dataset`

    @property
    def own_file(self) -> str | None:
        """The file that you have to provide, if any."""
        return self.path or self.features


@dataclass(frozen=True)
class CriterionEntry:
    """A criterion of a spec."""

    name: str
    family: str  # the name without the value of a varied parameter
    definition: dict[str, Any]  # criterion, parameters and, if given, tune and holdout
    swept: tuple[str, float] | None = None  # the parameter that `each` varies, and its value

    @property
    def two_classes_only(self) -> bool:
        """Whether multiclass tasks leave it out."""
        return criteria.resolve(self.definition["criterion"]).two_classes_only


@dataclass(frozen=True)
class _Task:
    datasets: tuple[str, ...]
    noise: tuple[str, ...]


@dataclass(frozen=True)
class Spec:
    """A grid of runs.

    Attributes
    ----------
    name, title : str
        The name is that of the file.
    paper : bool
        Whether to compare the results with the paper's.
    seeds : int
        Each cell of the grid is run with the seeds 0 to ``seeds - 1``.
    models : tuple of str
        Some of `MODELS`.
    trees : int
        Number of trees in a forest.
    max_rows : int
        Maximum number of training rows; 0 for all.
    slow_forest : float
        A forest whose first seed took longer than this many seconds gets no other seed.
    tasks : mapping of str to task
        Data sets and noise of "binary" and "multiclass".
    noise : mapping of str to dict
        What each name of a noise stands for.
    sources : mapping of str to Source
        Where the data sets come from.
    criteria : tuple of CriterionEntry
        In the order of the tables.
    """

    name: str
    title: str
    paper: bool
    seeds: int
    models: tuple[str, ...]
    trees: int
    max_rows: int
    slow_forest: float
    tasks: Mapping[str, _Task]
    noise: Mapping[str, dict[str, Any]]
    sources: Mapping[str, Source]
    criteria: tuple[CriterionEntry, ...]

    def runs(self) -> Iterator[Run]:
        """Yield every run of the grid."""
        for seed in range(self.seeds):
            yield from (replace(cell, seed=seed) for cell in self.cells())

    def cells(self) -> Iterator[Run]:
        """Yield the runs of the first seed, in the order of the tables."""
        for model in self.models:
            for task, grid in self.tasks.items():
                for dataset in grid.datasets:
                    for entry in self.criteria:
                        if entry.two_classes_only and task != "binary":
                            continue
                        for noise in grid.noise:
                            yield self._cell(dataset, task, model, entry, noise)

    def _cell(self, dataset: str, task: str, model: str, entry: CriterionEntry, noise: str) -> Run:
        settings = {"criterion": entry.definition, "noise": self.noise[noise]}
        return Run(
            dataset=dataset,
            task=task,
            model=model,
            criterion=entry.name,
            noise=noise,
            seed=0,
            trees=self.trees if model in FORESTS else 1,
            max_rows=self.max_rows,
            settings=settings_json(settings),
        )

    @property
    def swept(self) -> str | None:
        """The parameter that the criteria vary, if any."""
        return next((entry.swept[0] for entry in self.criteria if entry.swept), None)

    def narrowed(
        self,
        *,
        datasets: Sequence[str] = (),
        tasks: Sequence[str] = (),
        models: Sequence[str] = (),
        criteria: Sequence[str] = (),
        noise: Sequence[str] = (),
        seeds: int | None = None,
        trees: int | None = None,
        max_rows: int | None = None,
        slow_forest: float | None = None,
    ) -> Spec:
        """Return a part of the grid, or the grid with other numbers.

        Names select what to keep; none keep everything. `models` may also name models that the spec
        does not have. Numbers replace those of the spec. An unknown name is a `SpecError`.

        Examples
        --------
        >>> from lab.paper import load_spec
        >>> paper = load_spec("paper")
        >>> sum(1 for run in paper.runs())
        5460
        >>> sum(1 for run in paper.narrowed(datasets=["mushrooms"], seeds=2).runs())
        224
        """
        known_datasets = {name for task in self.tasks.values() for name in task.datasets}
        known_noise = {name for task in self.tasks.values() for name in task.noise}
        known_criteria = {entry.name for entry in self.criteria}
        families = {entry.family for entry in self.criteria}
        noise = [_noise_name(name) for name in noise]
        _check_known("data set", datasets, known_datasets, self.name)
        _check_known("task", tasks, set(self.tasks), self.name)
        _check_known("model", models, set(MODELS), self.name)
        _check_known("criterion", criteria, known_criteria | families, self.name)
        _check_known("noise", noise, known_noise, self.name)

        def kept(names: tuple[str, ...], wanted: Sequence[str]) -> tuple[str, ...]:
            return tuple(name for name in names if not wanted or name in wanted)

        return replace(
            self,
            seeds=self.seeds if seeds is None else _whole("seeds", seeds, 1),
            models=tuple(models) or self.models,
            trees=self.trees if trees is None else _whole("trees", trees, 1),
            max_rows=self.max_rows if max_rows is None else _whole("max_rows", max_rows, 0),
            slow_forest=self.slow_forest if slow_forest is None else slow_forest,
            tasks={
                name: _Task(kept(task.datasets, datasets), kept(task.noise, noise))
                for name, task in self.tasks.items()
                if not tasks or name in tasks
            },
            criteria=tuple(
                entry
                for entry in self.criteria
                if not criteria or {entry.name, entry.family} & set(criteria)
            ),
        )


def packaged_specs() -> list[str]:
    """Return the names of the specs in ``lab/paper/specs``, the paper's first.

    Examples
    --------
    >>> from lab.paper.spec import packaged_specs
    >>> packaged_specs()[0]
    'paper'
    """
    names = sorted(path.stem for path in _FOLDER.glob("*.toml"))
    return sorted(names, key=lambda name: name != "paper")


def load_spec(spec: str | Path) -> Spec:
    """Read a spec and check every name and parameter in it.

    Parameters
    ----------
    spec : str or Path
        The name of a packaged spec, for example "paper", or a TOML file.

    Returns
    -------
    Spec
        The grid.

    Raises
    ------
    SpecError
        If the file cannot be read, is not TOML, or asks for something unknown.

    Examples
    --------
    >>> from lab.paper import load_spec
    >>> [entry.name for entry in load_spec("paper").criteria]
    ['ANE', 'CL', 'Twoing', 'Credal', 'GCE', 'MSE', 'CE', 'Ranking']
    """
    path = _FOLDER / f"{spec}.toml" if str(spec) in packaged_specs() else Path(spec)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecError(
            f"Cannot read the spec {str(spec)!r} ({error.strerror}). Name a TOML file or one of "
            f"{', '.join(packaged_specs())}."
        ) from error
    except ValueError as error:  # not TOML, or not UTF-8
        raise SpecError(f"{path} is not a TOML file: {error}") from error
    try:
        return _parse(path, table)
    except SpecError as error:
        raise SpecError(f"{path.name}: {error}") from error


def _parse(path: Path, table: dict[str, Any]) -> Spec:
    _check_keys("the spec", table, _TOP_KEYS)
    for key in ("tasks", "criteria"):
        if not table.get(key):
            raise SpecError(f"{key} is missing.")
    models = tuple(table.get("models", ("dt",)))
    _check_known("model", models, set(MODELS))
    entries = tuple(entry for row in table["criteria"] for entry in _criterion_entries(row))
    names = [entry.name for entry in entries]
    if len(set(names)) < len(names):
        raise SpecError(f"each criterion needs a name of its own, got {', '.join(names)}.")
    _check_parameters(models, entries)

    noise = {name: _noise_definition(name, row) for name, row in table.get("noise", {}).items()}
    sources: dict[str, Source] = {}
    tasks = {}
    _check_known("task", tuple(table["tasks"]), set(TASKS))
    for task, grid in table["tasks"].items():
        _check_keys(f"tasks.{task}", grid, {"datasets", "noise"})
        found = [_source(name, table.get("datasets", {}), path.parent) for name in grid["datasets"]]
        sources |= {source.name: source for source in found}
        for setting in grid["noise"]:
            name = _noise_name(setting)
            if name not in noise:
                noise[name] = _uniform_noise(name)
        tasks[task] = _Task(
            tuple(source.name for source in found), tuple(map(_noise_name, grid["noise"]))
        )
    return Spec(
        name=path.stem,
        title=str(table.get("title", path.stem)),
        paper=bool(table.get("paper", False)),
        seeds=_whole("seeds", table.get("seeds", 1), 1),
        models=models,
        trees=_whole("trees", table.get("trees", 100), 1),
        max_rows=_whole("max_rows", table.get("max_rows", 0), 0),
        slow_forest=float(table.get("slow_forest", "inf")),
        tasks=tasks,
        noise=noise,
        sources=sources,
        criteria=entries,
    )


def _criterion_entries(row: dict[str, Any]) -> Iterator[CriterionEntry]:
    """Read one of [[criteria]]: one entry, or one for each value of a varied parameter."""
    try:
        family, criterion = row["name"], row["criterion"]
    except KeyError as error:
        raise SpecError(f"every [[criteria]] needs a {error.args[0]}.") from error
    if criterion not in criteria.NAMES:
        raise SpecError(
            f"{family!r} has an unknown criterion {criterion!r}; choose one of "
            f"{', '.join(sorted(criteria.NAMES))}."
        )
    row = dict(row)
    tune, each = row.pop("tune", {}), row.pop("each", {})
    holdout = row.pop("holdout", 0)
    if not 0 <= holdout < 1 or (tune and not holdout):
        raise SpecError(
            f"holdout of {family!r} is the share of rows held out. It must be at least 0 and below "
            f"1, and above 0 if there is something to tune; got {holdout}."
        )
    if len(tune) > 1 or len(each) > 1:
        raise SpecError(f"{family!r} can tune and vary only one parameter; got {tune}, {each}.")
    definition: dict[str, Any] = {
        "criterion": criterion,
        "parameters": {k: v for k, v in row.items() if k not in ("name", "criterion")},
    }
    if holdout:
        definition["holdout"] = holdout
    if tune:
        definition["tune"] = tune
    if not each:
        yield CriterionEntry(family, family, definition)
    for parameter, values in each.items():
        for value in values:
            parameters = {**definition["parameters"], parameter: value}
            yield CriterionEntry(
                f"{family}, {parameter}={value:g}",
                family,
                {**definition, "parameters": parameters},
                (parameter, value),
            )


def _check_parameters(models: Sequence[str], entries: Sequence[CriterionEntry]) -> None:
    """Let the models themselves check their parameters before anything is fitted."""
    from lab.paper.protocol import candidates, check_model, make_model

    for entry in entries:
        for model in models:
            try:
                for chosen in candidates(entry.definition):
                    check_model(make_model(model, entry.definition, chosen, 1, 0, 1))
            except (TypeError, ValueError) as error:
                raise SpecError(f"criterion {entry.name!r} with model {model}: {error}") from error


def _source(name: str, tables: Mapping[str, dict[str, Any]], folder: Path) -> Source:
    if name.endswith(".npz"):
        return Source(Path(name).stem, path=_located(name, folder))
    if name not in tables:
        _check_dataset(name)
        return Source(name, dataset=name)
    table = tables[name]
    _check_keys(f"datasets.{name}", table, {"path", "first_classes", "dataset", "features"})
    if "path" in table:
        return Source(
            name,
            path=_located(table["path"], folder),
            first_classes=tuple(table.get("first_classes", ())),
        )
    if not {"dataset", "features"} <= set(table):
        raise SpecError(f"datasets.{name} needs a path, or a dataset and features for it.")
    _check_dataset(table["dataset"])
    return Source(name, dataset=table["dataset"], features=_located(table["features"], folder))


def _check_dataset(name: str) -> None:
    if name not in datasets.NAMES:
        raise SpecError(
            f"unknown data set {name!r}; name one of {', '.join(datasets.NAMES)} or a .npz file, or "
            f"describe it under [datasets.{name}]."
        )


def _located(name: str, folder: Path) -> str:
    """Return where your own file is: next to the spec, or in a folder of data sets."""
    places = [folder, *datasets.search_path()]
    found = (place / name for place in places if (place / name).is_file())
    return str(next(found, folder / name))


def _noise_definition(name: str, row: Any) -> dict[str, Any]:
    kind = row.get("kind") if isinstance(row, dict) else None
    if kind not in NOISE_PARAMETERS:
        raise SpecError(
            f"noise {name!r} needs a kind, one of {', '.join(NOISE_PARAMETERS)}; got {row!r}."
        )
    _check_keys(f"noise.{name}", row, {"kind", *NOISE_PARAMETERS[kind]})
    return dict(row)


def _noise_name(setting: object) -> str:
    """Return the name of a noise; a number is the rate of uniform noise, and 0 becomes '0.0'."""
    try:
        return str(float(setting))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return str(setting)


def _uniform_noise(name: str) -> dict[str, Any]:
    try:
        rate = float(name)
    except ValueError as error:
        raise SpecError(f"noise {name!r} is neither a rate nor defined under [noise].") from error
    if not 0 <= rate < 1:
        raise SpecError(f"a noise rate must be at least 0 and below 1, got {name}.")
    return {"kind": "uniform", "rate": rate}


def _check_keys(where: str, table: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(set(table) - known)
    if unknown:
        raise SpecError(
            f"unknown {', '.join(unknown)} in {where}; choose from {', '.join(sorted(known))}."
        )


def _check_known(what: str, names: Sequence[str], known: set[str], spec: str = "") -> None:
    for name in names:
        if name not in known:
            where = f"the spec {spec!r} has" if spec else "choose from"
            raise SpecError(f"unknown {what} {name!r}; {where} {', '.join(sorted(known))}.")


def _whole(name: str, value: Any, smallest: int) -> int:
    if not isinstance(value, int) or value < smallest:
        raise SpecError(f"{name} must be an integer ≥ {smallest}, got {value!r}.")
    return value
