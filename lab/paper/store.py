"""The store: an SQLite file that keeps what came of each run, as it ends.

A process *claims* a run before it starts it. The claim names its owner, whose heartbeat the store
keeps; when the owner is dead, or its heart has not been heard for `STALE_SECONDS`, the run is free
again. So several processes can work on one store, on several machines if they share the file, and
none does what another does or has done.
"""

from __future__ import annotations

import csv
import os
import socket
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lab.paper.protocol import Outcome
from lab.paper.spec import Run

__all__ = ["HEARTBEAT_SECONDS", "STALE_SECONDS", "Result", "Store", "StoreError"]

HEARTBEAT_SECONDS = 20.0
STALE_SECONDS = 180.0

_APPLICATION_ID = 0x68617264  # "hard", so that another program's database is not taken for ours
_SCHEMA_VERSION = 1
_RUN_COLUMNS = tuple(field.name for field in fields(Run))
_OUTCOME_COLUMNS = tuple(field.name for field in fields(Outcome))
_CSV_COLUMNS = (*_RUN_COLUMNS, *_OUTCOME_COLUMNS, "threads", "finished", "versions")
_WHICH = " AND ".join(f"{column} = ?" for column in _RUN_COLUMNS)
_SCHEMA = f"""
CREATE TABLE runs (
    dataset TEXT NOT NULL,
    task TEXT NOT NULL,
    model TEXT NOT NULL,
    criterion TEXT NOT NULL,
    noise TEXT NOT NULL,
    seed INTEGER NOT NULL,
    trees INTEGER NOT NULL,
    max_rows INTEGER NOT NULL,
    settings TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('claimed', 'done', 'failed')),
    owner TEXT,
    heartbeat REAL,
    accuracy REAL,
    validation_accuracy REAL,
    tuned REAL,
    leaves REAL,
    depth INTEGER,
    seconds REAL,
    n_train INTEGER,
    threads INTEGER,
    finished TEXT,
    versions TEXT,
    message TEXT,
    PRIMARY KEY ({", ".join(_RUN_COLUMNS)}),
    CHECK (state != 'done' OR accuracy IS NOT NULL)
)
"""


class StoreError(RuntimeError):
    """A store that cannot be read or written; what it holds is untouched."""


@dataclass(frozen=True)
class Result:
    """A run that has ended well, and what came of it.

    Attributes
    ----------
    run : Run
        What was run.
    outcome : Outcome
        What came of it.
    threads : int
        Threads that trained the model.
    finished : str
        When it ended: UTC, ISO 8601.
    versions : str
        Of hardwood, NumPy, scikit-learn and Python.
    """

    run: Run
    outcome: Outcome
    threads: int
    finished: str
    versions: str

    @property
    def accuracy(self) -> float:
        """Accuracy on the clean test labels, in percent."""
        return self.outcome.accuracy


class Store:
    """Results in an SQLite file, made if it is not there.

    Parameters
    ----------
    path : path-like
        The file.
    timeout : float, default=30.0
        Seconds to wait for another process that is writing.

    Raises
    ------
    StoreError
        If the file is damaged, locked, or something else.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from lab.paper import Store, load_spec
    >>> run = next(load_spec("paper").runs())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "runs.sqlite"
    ...     with Store(path) as store, Store(path) as another:
    ...         store.claim(run), another.claim(run)
    (True, False)
    """

    def __init__(self, path: str | os.PathLike[str], timeout: float = 30.0) -> None:
        self.path = Path(path)
        self.owner = f"{_host()}:{os.getpid()}:{_birth(os.getpid())}:{uuid.uuid4().hex}"
        self._opened = _now()
        self._lock = threading.RLock()  # joblib's threads claim, and the heart beats in one
        with self._said_clearly():
            if not self.path.parent.is_dir():
                raise StoreError(f"The folder {self.path.parent} of the store does not exist.")
            self._db = sqlite3.connect(
                self.path, timeout=timeout, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare()
            except BaseException:
                self._db.close()
                raise

    def _prepare(self) -> None:
        """Make the table, or see that it is ours and sound."""
        # The rollback journal, unlike the write-ahead log, also works where machines share files.
        # Each transaction is on the disk when it ends.
        self._db.execute("PRAGMA synchronous = FULL")
        with self._transaction():
            (n_tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if n_tables == 0:
                self._db.execute(_SCHEMA)
                self._db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                self._db.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        if application != _APPLICATION_ID:
            raise StoreError(f"{self.path} is a database of another program. Give another --store.")
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version != _SCHEMA_VERSION:
            raise StoreError(
                f"{self.path} has version {version} of the store, this hardwood reads "
                f"{_SCHEMA_VERSION}. Export it to CSV with the hardwood that wrote it, and import "
                f"that into a new store."
            )
        (finding,) = self._db.execute("PRAGMA quick_check(1)").fetchone()
        if finding != "ok":
            raise StoreError(self._damaged(finding))

    def close(self) -> None:
        """Give up what is claimed and close the file."""
        with self._lock:
            try:
                self.release()
            finally:
                self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except StoreError:
            if error is None:  # else the first error says more
                raise

    # --- claims -----------------------------------------------------------------------------------

    def claim(self, run: Run) -> bool:
        """Claim a run for this process.

        Parameters
        ----------
        run : Run
            What is to be run.

        Returns
        -------
        bool
            False if it is done, if a live process has it, or if it failed since this store was
            opened.
        """
        key = astuple(run)
        with self._said_clearly(), self._transaction():
            row = self._db.execute(
                f"SELECT state, owner, heartbeat, finished FROM runs WHERE {_WHICH}", key
            ).fetchone()
            if row is None:
                marks = ", ".join("?" * len(key))
                self._db.execute(
                    f"INSERT INTO runs ({', '.join(_RUN_COLUMNS)}, state, owner, heartbeat) "
                    f"VALUES ({marks}, 'claimed', ?, ?)",
                    (*key, self.owner, time.time()),
                )
                return True
            state, owner, heartbeat, finished = row
            free = (state == "failed" and finished < self._opened) or (
                state == "claimed" and owner != self.owner and _is_stale(owner, heartbeat)
            )
            if free:
                self._db.execute(
                    f"UPDATE runs SET state = 'claimed', owner = ?, heartbeat = ?, message = NULL "
                    f"WHERE {_WHICH}",
                    (self.owner, time.time(), *key),
                )
            return free

    def beat(self) -> None:
        """Tell the other processes that this one lives."""
        with self._said_clearly(), self._transaction():
            self._db.execute(
                "UPDATE runs SET heartbeat = ? WHERE owner = ? AND state = 'claimed'",
                (time.time(), self.owner),
            )

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Keep this process's claims alive, in a thread, as long as the block lasts."""
        stopped = threading.Event()

        def beat_on() -> None:
            while not stopped.wait(HEARTBEAT_SECONDS):
                # The next beat may get through; if none does, the runner will say why.
                with suppress(StoreError):
                    self.beat()

        heart = threading.Thread(target=beat_on, name="hardwood-heartbeat", daemon=True)
        heart.start()
        try:
            yield
        finally:
            stopped.set()
            heart.join()

    def release(self) -> None:
        """Give up the runs that this process claimed and has not ended."""
        with self._said_clearly(), self._transaction():
            self._db.execute(
                "DELETE FROM runs WHERE owner = ? AND state = 'claimed'", (self.owner,)
            )

    # --- results ----------------------------------------------------------------------------------

    def finish(self, run: Run, outcome: Outcome, threads: int, versions: str) -> bool:
        """Keep what came of a run that this process claimed.

        Parameters
        ----------
        run : Run
            The run.
        outcome : Outcome
            What came of it.
        threads : int
            Threads that trained the model.
        versions : str
            Of the libraries.

        Returns
        -------
        bool
            False if another process took the run over meanwhile, as this one seemed dead.
        """
        values = dict(zip(_OUTCOME_COLUMNS, astuple(outcome), strict=True))
        return self._end(run, "done", threads=threads, versions=versions, **values)

    def fail(self, run: Run, message: str) -> bool:
        """Keep why a run that this process claimed failed; the next process tries it again.

        Parameters
        ----------
        run : Run
            The run.
        message : str
            What went wrong.

        Returns
        -------
        bool
            False if another process took the run over meanwhile.
        """
        return self._end(run, "failed", message=message)

    def _end(self, run: Run, state: str, **values: Any) -> bool:
        values |= {"state": state, "finished": _now(), "heartbeat": None}
        assignments = ", ".join(f"{column} = ?" for column in values)
        with self._said_clearly(), self._transaction():
            cursor = self._db.execute(
                f"UPDATE runs SET {assignments} WHERE {_WHICH} AND owner = ? AND state = 'claimed'",
                (*values.values(), *astuple(run), self.owner),
            )
            return cursor.rowcount == 1

    def results(self) -> list[Result]:
        """Return all that has ended well, sorted by run.

        Returns
        -------
        list of Result
            The results.
        """
        with self._said_clearly():
            rows = self._db.execute(
                f"SELECT {', '.join(_CSV_COLUMNS)} FROM runs WHERE state = 'done' "
                f"ORDER BY {', '.join(_RUN_COLUMNS)}"
            ).fetchall()
        return [_result(row) for row in rows]

    def failures(self) -> dict[Run, str]:
        """Return the runs that failed and have not been tried again, and why.

        Returns
        -------
        dict of Run to str
            The messages.
        """
        with self._said_clearly():
            rows = self._db.execute(
                f"SELECT {', '.join(_RUN_COLUMNS)}, message FROM runs WHERE state = 'failed'"
            ).fetchall()
        return {Run(*row[:-1]): row[-1] for row in rows}

    def claimed(self) -> list[Run]:
        """Return the runs that some process has claimed.

        Returns
        -------
        list of Run
            The runs, of live processes and of dead ones.
        """
        with self._said_clearly():
            return [
                Run(*row)
                for row in self._db.execute(
                    f"SELECT {', '.join(_RUN_COLUMNS)} FROM runs WHERE state = 'claimed'"
                )
            ]

    # --- CSV --------------------------------------------------------------------------------------

    def export_csv(self, path: str | os.PathLike[str]) -> int:
        """Write the results as CSV, sorted by run, so that versions of the file compare well.

        Parameters
        ----------
        path : path-like
            The file to write. It is replaced only once all is written.

        Returns
        -------
        int
            How many results.
        """
        results = self.results()
        path = Path(path)
        draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        try:
            with draft.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(_CSV_COLUMNS)
                for result in results:
                    writer.writerow(map(_as_csv, _as_row(result)))
            draft.replace(path)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise StoreError(f"Cannot write {path}: {error.strerror}.") from error
        return len(results)

    def import_csv(self, path: str | os.PathLike[str]) -> int:
        """Take results from CSV. What the store holds already stays as it is.

        Parameters
        ----------
        path : path-like
            A file that `export_csv` wrote.

        Returns
        -------
        int
            How many results were new.

        Raises
        ------
        StoreError
            If the file cannot be read; nothing of it is taken then.
        """
        try:
            with open(path, encoding="utf-8", newline="") as file:
                results = list(_results_of_csv(csv.reader(file)))
        except OSError as error:
            raise StoreError(f"Cannot read {path}: {error.strerror}.") from error
        except (ValueError, csv.Error) as error:
            raise StoreError(f"{path} is not a file of exported results: {error}") from error
        return self._add(results)

    def _add(self, results: Iterable[Result]) -> int:
        marks = ", ".join("?" * len(_CSV_COLUMNS))
        updates = ", ".join(
            f"{column} = excluded.{column}"
            for column in (*_CSV_COLUMNS[len(_RUN_COLUMNS) :], "state")
        )
        with self._said_clearly(), self._transaction():
            before = self._db.total_changes
            # A run that failed, or that somebody has begun, is done now.
            self._db.executemany(
                f"INSERT INTO runs ({', '.join(_CSV_COLUMNS)}, state) VALUES ({marks}, 'done') "
                f"ON CONFLICT DO UPDATE SET {updates}, owner = NULL, message = NULL "
                f"WHERE state != 'done'",
                map(_as_row, results),
            )
            return self._db.total_changes - before

    # --- plumbing ---------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        # IMMEDIATE takes the writer's lock at once: two processes never both read "free".
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _said_clearly(self) -> Iterator[None]:
        """Say what SQLite's errors mean."""
        try:
            with self._lock:
                yield
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "")
            kept = "What is stored already is safe."
            if name.startswith("SQLITE_FULL"):
                text = f"The disk of the store {self.path} is full. {kept} Make room and run again."
            elif name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                text = (
                    f"The store {self.path} is locked by another program, which did not let go in "
                    f"time. {kept} Close that program and run again."
                )
            elif name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
                text = self._damaged(str(error))
            elif name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
                text = f"The store {self.path} cannot be opened for writing: {error}."
            else:
                text = f"The store {self.path} cannot be used: {error}. {kept}"
            raise StoreError(text) from error

    def _damaged(self, finding: str) -> str:
        return (
            f"{self.path} is not a store, or it is damaged ({finding}). It was left as it is: move "
            f"it away, and start a new store from the last CSV with `hardwood reproduce import`."
        )


def _result(row: tuple[Any, ...]) -> Result:
    n_run, n_outcome = len(_RUN_COLUMNS), len(_OUTCOME_COLUMNS)
    return Result(
        Run(*row[:n_run]), Outcome(*row[n_run : n_run + n_outcome]), *row[n_run + n_outcome :]
    )


def _as_row(result: Result) -> tuple[Any, ...]:
    return (
        *astuple(result.run),
        *astuple(result.outcome),
        result.threads,
        result.finished,
        result.versions,
    )


def _as_csv(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _results_of_csv(rows: Iterator[list[str]]) -> Iterator[Result]:
    heading = next(rows, [])
    if tuple(heading) != _CSV_COLUMNS:
        raise ValueError(f"its heading is not {','.join(_CSV_COLUMNS)}.")
    whole = {"seed", "trees", "max_rows", "depth", "n_train", "threads"}
    real = {"accuracy", "validation_accuracy", "tuned", "leaves", "seconds"}
    optional = {"validation_accuracy", "tuned"}
    for number, row in enumerate(rows, 2):
        if len(row) != len(_CSV_COLUMNS):
            raise ValueError(f"line {number} has {len(row)} fields, not {len(_CSV_COLUMNS)}.")
        values: list[Any] = []
        for column, text in zip(_CSV_COLUMNS, row, strict=True):
            if column in optional and not text:
                values.append(None)
            elif column in whole or column in real:
                try:
                    values.append(int(text) if column in whole else float(text))
                except ValueError as error:
                    raise ValueError(f"line {number}: {column} is {text!r}.") from error
            else:
                values.append(text)
        yield _result(tuple(values))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _host() -> str:
    """Name the machine, or the container: where a process number means something."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    return socket.gethostname() + namespace.replace(":", "")


def _is_stale(owner: str, heartbeat: float) -> bool:
    """Tell whether the owner of a claim is dead, or has not been heard for too long."""
    if time.time() - heartbeat > STALE_SECONDS:
        return True
    host, process, birth, _ = owner.rsplit(":", 3)
    return host == _host() and _birth(int(process)) != birth


def _birth(process: int) -> str:
    """Return when a process was born, as the system counts it: empty if it is dead.

    Its number alone does not tell, as numbers are given again. Where the system does not say, the
    answer is the same for every process, so that the heartbeat alone decides.
    """
    if not Path("/proc/self/stat").exists():
        return "unknown"
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # What follows the command, which stands in brackets and may hold anything: the state, and as
    # the 22nd field of all the start time. A zombie has ended, though nobody has asked how.
    state, *others = stat.rpartition(")")[2].split()
    return "" if state in "ZX" else others[18]
