"""The store: an SQLite file that keeps the result of each run as soon as the run ends.

A process *claims* a run before starting it. A claim names its owner, and the store keeps the
owner's heartbeat. If the owner is dead or has been silent for too long (`lab.owners`), the run is
free again. Several processes, on several machines if they share the file, can therefore work on
one store without doing the same run twice.
"""

from __future__ import annotations

import csv
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from lab.owners import is_stale, this_process
from lab.results import (
    END_COLUMNS,
    RUN_COLUMNS,
    Measured,
    Result,
    Run,
    csv_text,
    results_of_csv,
    settings_json,
)

__all__ = [
    "HEARTBEAT_SECONDS",
    "Measured",
    "Result",
    "Run",
    "Store",
    "StoreError",
    "open_results",
    "settings_json",
]

HEARTBEAT_SECONDS = 20.0

_APPLICATION_ID = 0x68617264  # "hard": tells our files from another program's
_SCHEMA_VERSION = 2
_WHICH = " AND ".join(f"{column} = ?" for column in RUN_COLUMNS)
_RESULT_COLUMNS = (*RUN_COLUMNS, "measured", *END_COLUMNS)
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
    measured TEXT,
    threads INTEGER,
    finished TEXT,
    versions TEXT,
    message TEXT,
    PRIMARY KEY ({", ".join(RUN_COLUMNS)}),
    CHECK (state != 'done' OR measured IS NOT NULL)
)
"""


class StoreError(RuntimeError):
    """A store that cannot be read or written; its contents are untouched."""


class Store:
    """Results in an SQLite file, which is created if it does not exist.

    Parameters
    ----------
    path : path-like
        The file; ":memory:" keeps the results only as long as the store is open.
    timeout : float, default=30.0
        Seconds to wait for another process that is writing.

    Raises
    ------
    StoreError
        If the file is damaged, locked, or not a store.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from lab.paper import load_spec
    >>> from lab.store import Store
    >>> run = next(load_spec("paper").runs())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "runs.sqlite"
    ...     with Store(path) as store, Store(path) as another:
    ...         store.claim(run), another.claim(run)
    (True, False)
    """

    def __init__(self, path: str | os.PathLike[str], timeout: float = 30.0) -> None:
        self.path = Path(path)
        self.owner = this_process()
        self._opened = _now()
        self._lock = threading.RLock()  # joblib's threads claim, and the heart beats in one
        with self._clear_errors():
            if not self.path.parent.is_dir():
                raise StoreError(f"The store's folder {self.path.parent} does not exist.")
            self._db = sqlite3.connect(
                self.path, timeout=timeout, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare()
            except BaseException:
                self._db.close()
                raise

    def _prepare(self) -> None:
        """Create the table, or check that it is ours and intact."""
        # SQLite's rollback journal, unlike its write-ahead log, also works on network file systems.
        # With FULL, every transaction is on disk when it ends.
        self._db.execute("PRAGMA synchronous = FULL")
        with self._transaction():
            (n_tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if n_tables == 0:
                self._db.execute(_SCHEMA)
                self._db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                self._db.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        if application != _APPLICATION_ID:
            raise StoreError(f"{self.path} belongs to another program. Choose a different --store.")
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version != _SCHEMA_VERSION:
            raise StoreError(
                f"{self.path} is a store of version {version}; this version of lab reads version "
                f"{_SCHEMA_VERSION}. Export it to CSV with the version that wrote it, then import "
                f"the CSV into a new store."
            )
        (finding,) = self._db.execute("PRAGMA quick_check(1)").fetchone()
        if finding != "ok":
            raise StoreError(self._damaged(finding))

    def close(self) -> None:
        """Release all claims and close the file."""
        with self._lock:
            try:
                self.release()
            finally:
                self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            self.close()
        except StoreError:
            if error is None:  # otherwise the first error is the one to show
                raise

    # --- claims -----------------------------------------------------------------------------------

    def claim(self, run: Run) -> bool:
        """Claim a run for this process.

        Returns False if the run is done, if a live process has claimed it, or if it has failed
        since this store was opened.
        """
        key = astuple(run)
        with self._clear_errors(), self._transaction():
            row = self._db.execute(
                f"SELECT state, owner, heartbeat, finished FROM runs WHERE {_WHICH}", key
            ).fetchone()
            if row is None:
                marks = ", ".join("?" * len(key))
                self._db.execute(
                    f"INSERT INTO runs ({', '.join(RUN_COLUMNS)}, state, owner, heartbeat) "
                    f"VALUES ({marks}, 'claimed', ?, ?)",
                    (*key, self.owner, time.time()),
                )
                return True
            state, owner, heartbeat, finished = row
            free = (state == "failed" and finished < self._opened) or (
                state == "claimed" and owner != self.owner and is_stale(owner, heartbeat)
            )
            if free:
                self._db.execute(
                    f"UPDATE runs SET state = 'claimed', owner = ?, heartbeat = ?, message = NULL "
                    f"WHERE {_WHICH}",
                    (self.owner, time.time(), *key),
                )
            return free

    def beat(self) -> None:
        """Tell the other processes that this one is alive."""
        with self._clear_errors(), self._transaction():
            self._db.execute(
                "UPDATE runs SET heartbeat = ? WHERE owner = ? AND state = 'claimed'",
                (time.time(), self.owner),
            )

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Keep this process's claims alive from a thread while the block runs."""
        stopped = threading.Event()

        def beat_on() -> None:
            while not stopped.wait(HEARTBEAT_SECONDS):
                # The next beat may succeed; if none does, the runner reports why.
                with suppress(StoreError):
                    self.beat()

        heart = threading.Thread(target=beat_on, name="store-heartbeat", daemon=True)
        heart.start()
        try:
            yield
        finally:
            stopped.set()
            heart.join()

    def release(self) -> None:
        """Release the runs that this process has claimed and not completed."""
        with self._clear_errors(), self._transaction():
            self._db.execute(
                "DELETE FROM runs WHERE owner = ? AND state = 'claimed'", (self.owner,)
            )

    # --- results ----------------------------------------------------------------------------------

    def finish(self, run: Run, measured: Measured, threads: int, versions: str) -> bool:
        """Store the result of a run that this process claimed.

        Returns False if another process has taken the run over because this one seemed dead.
        """
        text = json.dumps(measured)
        return self._end(run, "done", measured=text, threads=threads, versions=versions)

    def fail(self, run: Run, message: str) -> bool:
        """Store why a run that this process claimed failed; the next process will retry it.

        Returns False if another process has taken the run over.
        """
        return self._end(run, "failed", message=message)

    def _end(self, run: Run, state: str, **values: Any) -> bool:
        values |= {"state": state, "finished": _now(), "heartbeat": None}
        assignments = ", ".join(f"{column} = ?" for column in values)
        with self._clear_errors(), self._transaction():
            cursor = self._db.execute(
                f"UPDATE runs SET {assignments} WHERE {_WHICH} AND owner = ? AND state = 'claimed'",
                (*values.values(), *astuple(run), self.owner),
            )
            return cursor.rowcount == 1

    def results(self, runs: Iterable[Run] | None = None) -> list[Result]:
        """Return the completed runs in sorted order, or those of `runs` in the order of `runs`."""
        with self._clear_errors():
            rows = self._db.execute(
                f"SELECT {', '.join(_RESULT_COLUMNS)} FROM runs WHERE state = 'done' "
                f"ORDER BY {', '.join(RUN_COLUMNS)}"
            ).fetchall()
        n = len(RUN_COLUMNS)
        results = [Result(Run(*row[:n]), json.loads(row[n]), *row[n + 1 :]) for row in rows]
        if runs is None:
            return results
        by_run = {result.run: result for result in results}
        return [by_run[run] for run in runs if run in by_run]

    def failures(self) -> dict[Run, str]:
        """Return the runs that failed and have not been retried yet, with their messages."""
        return {Run(*row[:-1]): row[-1] for row in self._in_state("failed")}

    def claimed(self) -> list[Run]:
        """Return the runs that are claimed, whether or not the owner is still alive."""
        return [Run(*row[:-1]) for row in self._in_state("claimed")]

    def _in_state(self, state: str) -> list[tuple[Any, ...]]:
        with self._clear_errors():
            return self._db.execute(
                f"SELECT {', '.join(RUN_COLUMNS)}, message FROM runs WHERE state = ?", (state,)
            ).fetchall()

    # --- CSV --------------------------------------------------------------------------------------

    def export_csv(self, path: str | os.PathLike[str]) -> int:
        """Write the results as CSV, sorted by run so that versions of the file diff well.

        Every measure is a column. The file is replaced only once it is complete. Returns the number
        of results.
        """
        results = self.results()
        measures = list(dict.fromkeys(name for result in results for name in result.measured))
        path = Path(path)
        draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        try:
            with draft.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow((*RUN_COLUMNS, *measures, *END_COLUMNS))
                for result in results:
                    values = (csv_text(result.measured.get(name)) for name in measures)
                    end = (result.threads, result.finished, result.versions)
                    writer.writerow((*astuple(result.run), *values, *end))
            draft.replace(path)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise StoreError(f"Cannot write {path}: {error.strerror}.") from error
        return len(results)

    def import_csv(self, path: str | os.PathLike[str]) -> int:
        """Add the results of a CSV file that `export_csv` wrote.

        Results that the store already holds stay as they are. If the file cannot be read, a
        `StoreError` is raised and nothing is added. Returns the number of new results.
        """
        try:
            with open(path, encoding="utf-8", newline="") as file:
                results = list(results_of_csv(csv.reader(file, strict=True)))
        except OSError as error:
            raise StoreError(f"Cannot read {path}: {error.strerror}.") from error
        except (ValueError, csv.Error) as error:
            raise StoreError(f"{path} is not a file of exported results: {error}") from error
        return self.add(results)

    def add(self, results: Iterable[Result]) -> int:
        """Add results that were obtained elsewhere. Returns the number of new ones."""
        marks = ", ".join("?" * len(_RESULT_COLUMNS))
        updates = ", ".join(
            f"{column} = excluded.{column}" for column in ("measured", *END_COLUMNS, "state")
        )
        with self._clear_errors(), self._transaction():
            before = self._db.total_changes
            # A run that failed here, or that somebody has started, is done now.
            self._db.executemany(
                f"INSERT INTO runs ({', '.join(_RESULT_COLUMNS)}, state) VALUES ({marks}, 'done') "
                f"ON CONFLICT DO UPDATE SET {updates}, owner = NULL, message = NULL "
                f"WHERE state != 'done'",
                (
                    (*astuple(r.run), json.dumps(r.measured), r.threads, r.finished, r.versions)
                    for r in results
                ),
            )
            return self._db.total_changes - before

    # --- plumbing ---------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        # IMMEDIATE takes the write lock at once, so two processes never both read "free".
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
    def _clear_errors(self) -> Iterator[None]:
        """Turn SQLite's errors into messages that say what to do."""
        try:
            with self._lock:
                yield
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "")
            kept = "Results stored so far are safe."
            if name.startswith("SQLITE_FULL"):
                text = f"The disk holding the store {self.path} is full. {kept} Free some space and retry."
            elif name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                text = (
                    f"The store {self.path} is locked by another program, which did not release it "
                    f"in time. {kept} Close that program and retry."
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
            f"{self.path} is not a store, or it is damaged ({finding}). It was not changed. Move it "
            f"away and start a new store from the last CSV with `python -m lab import`."
        )


@contextmanager
def open_results(path: Path) -> Iterator[Store]:
    """Open a store to read from, or a CSV file of exported results as if it were one."""
    if not path.exists():
        raise StoreError(
            f"There is no store {path}. `python -m lab reproduce` creates one; --store names it."
        )
    is_csv = path.suffix == ".csv"
    with Store(":memory:" if is_csv else path) as store:
        if is_csv:
            store.import_csv(path)
        yield store


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
