"""The memory of the harness: one SQLite file that holds every run, case, verdict, timing and bundle.

Each record is a committed, synchronous transaction of its own, made as soon as there is something to say; so whatever
kills the process, all but the case in flight is on disk.  A case without `finished_at` is such a one: `resume` forgets
its records and the case is run again.  A failure is a record like any other.

The file carries a schema version in `user_version`.  A file of an earlier version is brought up to this one when it is
opened: what is new since stands in tables of its own, so that nothing which was there is altered.  Any other version is
refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import sqlalchemy as sa

from xlabench.errors import BenchError, RecordsLost
from xlabench.results import Bundle, Canary, Case, Decided, Kernel, Launch, Opened, Run, Timing, Verdict

SCHEMA_VERSION = 5
READABLE_VERSIONS = (1, 2, 3, 4, 5)
"""Version 1 has no canaries, 2 no decisions, 3 no launches, 4 no open sizes; all else is the same."""
DATABASE = "records.sqlite"
"""The name of the file in the folder of a nightly."""

_METADATA = sa.MetaData()
_SCALAR = type[sa.types.TypeEngine[Any]]
_TYPES: Mapping[str, _SCALAR] = {"str": sa.String, "int": sa.Integer, "float": sa.Float, "bool": sa.Boolean}


def _columns(record: type) -> list[sa.Column[Any]]:
    """A column for each field of the record; lists and mappings are kept as JSON."""
    columns = []
    for field in fields(record):
        base, _, optional = str(field.type).partition(" | ")
        columns.append(sa.Column(field.name, _TYPES.get(base, sa.JSON), nullable=bool(optional)))
    return columns


def _key() -> sa.Column[Any]:
    return sa.Column("id", sa.Integer, primary_key=True)


def _of_case(name: str, record: type, *unique: str) -> sa.Table:
    """A table of records that belong to a case and go with it."""
    owner: sa.Column[Any] = sa.Column(
        "case_id", sa.ForeignKey("cases.id", ondelete="CASCADE"), nullable=False, index=True
    )
    return sa.Table(name, _METADATA, _key(), owner, *_columns(record), sa.UniqueConstraint("case_id", *unique))


_RUNS = sa.Table(
    "runs",
    _METADATA,
    _key(),
    *_columns(Run),
    sa.Column("started_at", sa.String, nullable=False),
    sa.Column("finished_at", sa.String),
)
_CASES = sa.Table(
    "cases",
    _METADATA,
    _key(),
    sa.Column("run_id", sa.ForeignKey("runs.id", ondelete="CASCADE"), nullable=False, index=True),
    *_columns(Case),
    sa.Column("started_at", sa.String, nullable=False),
    sa.Column("finished_at", sa.String),
    sa.UniqueConstraint("run_id", "name"),
)
_OF_CASE = {
    Verdict: _of_case("verdicts", Verdict, "engine", "stage", "reduced"),
    Timing: _of_case("timings", Timing, "engine", "process"),
    Canary: _of_case("canaries", Canary, "canary", "process"),
    Bundle: _of_case("bundles", Bundle, "path"),
    Kernel: _of_case("kernels", Kernel, "engine", "name"),
    Launch: _of_case("launches", Launch, "engine", "name"),
    Decided: _of_case("decisions", Decided, "engine"),
    Opened: _of_case("opened", Opened, "program"),
}

OfCase = Verdict | Timing | Canary | Bundle | Kernel | Launch | Decided | Opened
"""What is on record of a case."""


class Records:
    """An open database; a context manager."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it; one that is not ours or of another version is an error."""
        self._path = path
        self._engine = sa.create_engine(f"sqlite:///{path}")
        sa.event.listen(self._engine, "connect", _configure)
        try:
            with self._engine.begin() as connection:
                _check_schema(connection, path)
        except sa.exc.DatabaseError as error:
            self._engine.dispose()
            raise BenchError(f"{path}: not a usable result database ({error.orig}); give another folder") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._engine.dispose()

    def start_run(self, run: Run) -> int:
        """Record that a run begins; return its number."""
        return self._insert(_RUNS, {**asdict(run), "started_at": _now()})

    def finish_run(self, run_id: int) -> None:
        """Record that nothing of the run is left to do."""
        self._execute(sa.update(_RUNS).where(_RUNS.c.id == run_id).values(finished_at=_now()))

    def start_case(self, run_id: int, case: Case) -> int:
        """Record that a case begins; what an earlier, unfinished attempt left is forgotten."""
        same = sa.and_(_CASES.c.run_id == run_id, _CASES.c.name == case.name)
        self._execute(sa.delete(_CASES).where(same, _CASES.c.finished_at.is_(None)))
        return self._insert(_CASES, {"run_id": run_id, **asdict(case), "started_at": _now()})

    def add(self, case_id: int, record: OfCase) -> None:
        """Record one fact about a case."""
        self._insert(_OF_CASE[type(record)], {"case_id": case_id, **asdict(record)})

    def finish_case(self, case_id: int) -> None:
        """Record that the case is complete; only then does `resume` skip it."""
        self._execute(sa.update(_CASES).where(_CASES.c.id == case_id).values(finished_at=_now()))

    @classmethod
    def of_folder(cls, folder: Path) -> Self:
        """Open what a nightly recorded in a folder; BenchError where that is nothing."""
        path = folder / DATABASE
        if not path.is_file():
            raise BenchError(f"{folder}: has no {DATABASE}; give the folder of an `xlabench nightly`")
        return cls(path)

    def latest_run_id(self) -> int:
        """The number of the latest run; BenchError where there is none."""
        latest = self.latest_run()
        if latest is None:
            raise BenchError(f"{self._path.parent}: no run has been recorded there; start one with `xlabench nightly`")
        return latest[0]

    def latest_run(self) -> tuple[int, Run] | None:
        """The number of the latest run, and the run."""
        with self._reading() as connection:
            row = connection.execute(sa.select(_RUNS).order_by(_RUNS.c.id.desc()).limit(1)).mappings().first()
        if row is None:
            return None
        return row["id"], Run(**{field.name: row[field.name] for field in fields(Run)})

    def run_ids(self) -> list[int]:
        """The numbers of all runs, the oldest first."""
        with self._reading() as connection:
            return [int(row[0]) for row in connection.execute(sa.select(_RUNS.c.id).order_by(_RUNS.c.id))]

    def exports_before(self, run_id: int, most: int) -> list[dict[str, Any]]:
        """Everything about the latest finished runs of the same suite before this one, the oldest first."""
        suite = sa.select(_RUNS.c.suite).where(_RUNS.c.id == run_id).scalar_subquery()
        earlier = sa.and_(_RUNS.c.id < run_id, _RUNS.c.suite == suite, _RUNS.c.finished_at.is_not(None))
        latest = sa.select(_RUNS.c.id).where(earlier).order_by(_RUNS.c.id.desc()).limit(most)
        with self._reading() as connection:
            found = [int(row[0]) for row in connection.execute(latest)]
        return [self.export(run) for run in reversed(found)]

    def finished_cases(self, run_id: int) -> dict[str, str]:
        """The digests of the finished cases by name."""
        query = sa.select(_CASES).where(_CASES.c.run_id == run_id, _CASES.c.finished_at.is_not(None))
        with self._reading() as connection:
            return {row["name"]: row["digest"] for row in connection.execute(query).mappings()}

    def export(self, run_id: int) -> dict[str, Any]:
        """Everything recorded about a run, as JSON data; an unfinished case is left out."""
        with self._reading() as connection:
            run = connection.execute(sa.select(_RUNS).where(_RUNS.c.id == run_id)).mappings().one()
            query = sa.select(_CASES).where(_CASES.c.run_id == run_id, _CASES.c.finished_at.is_not(None))
            cases = []
            for case in connection.execute(query.order_by(_CASES.c.id)).mappings():
                owned = {table.name: _owned(connection, table, case["id"]) for table in _OF_CASE.values()}
                cases.append({**_without(case, "id", "run_id"), **owned})
        return {"schema_version": SCHEMA_VERSION, "run": dict(run), "cases": cases}

    def _insert(self, table: sa.Table, values: Mapping[str, Any]) -> int:
        with self._transaction() as connection:
            return int(connection.execute(sa.insert(table).values(**values).returning(table.c.id)).scalar_one())

    def _execute(self, statement: sa.Executable) -> None:
        with self._transaction() as connection:
            connection.execute(statement)

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        """A transaction that is on disk when the block has ended."""
        with self._watched("cannot be written", "free the disk, then --resume"), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        """A connection to read by."""
        with self._watched("cannot be read", "give another folder"), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def _watched(self, what: str, remedy: str) -> Iterator[None]:
        """Say what the system is to blame for, and damage, of which opening the file sees that of its first page only.

        Errors of a kind of their own, as a broken constraint, are bugs of ours.
        """
        try:
            yield
        except sa.exc.OperationalError as error:
            raise RecordsLost(f"{self._path}: {what} ({error.orig}); {remedy}") from error
        except sa.exc.DatabaseError as error:
            if type(error) is not sa.exc.DatabaseError:
                raise
            raise RecordsLost(f"{self._path}: is damaged ({error.orig}); give another folder") from error
        except json.JSONDecodeError as error:
            raise RecordsLost(f"{self._path}: is damaged ({error}); give another folder") from error


def to_json(exported: Mapping[str, Any]) -> str:
    """The text of a JSON file: stable order, one ending newline, no value that JSON does not have."""
    return json.dumps(exported, indent=1, sort_keys=True, allow_nan=False) + "\n"


def _owned(connection: sa.Connection, table: sa.Table, case_id: int) -> list[dict[str, Any]]:
    rows = connection.execute(sa.select(table).where(table.c.case_id == case_id).order_by(table.c.id)).mappings()
    return [_without(row, "id", "case_id") for row in rows]


def _without(row: sa.RowMapping, *names: str) -> dict[str, Any]:
    return {str(key): value for key, value in row.items() if key not in names}


def _configure(connection: Any, _record: object) -> None:
    """Every commit reaches the disk before it returns; what belongs to a case goes with it."""
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=10000"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _check_schema(connection: sa.Connection, path: Path) -> None:
    """Refuse a foreign file; mark others before tables are made, so that a kill between the two does no harm."""
    version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
    is_new = version == 0 and not sa.inspect(connection).get_table_names()
    if version not in READABLE_VERSIONS and not is_new:
        raise BenchError(
            f"{path}: result database of schema version {version}, this xlabench reads version "
            f"{' and '.join(map(str, READABLE_VERSIONS))}; give another folder, or use the xlabench that wrote it"
        )
    if version != SCHEMA_VERSION:
        connection.exec_driver_sql(f"PRAGMA user_version = {SCHEMA_VERSION}")
    _METADATA.create_all(connection)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
