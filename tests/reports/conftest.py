"""A recorded run for all tests of the report."""

import sqlite3
from pathlib import Path

import pytest

from xlabench.database import Records

FROZEN = Path(__file__).parents[1] / "xlabench" / "results_v2.sql"


@pytest.fixture
def exported(tmp_path):
    path = tmp_path / "records.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(FROZEN.read_text())
    with Records(path) as records:
        return records.export(1)
