"""Many rows from one, inside a database: for peers whose API adds messages one by one, which would
take minutes for what the bench only needs to be there."""
# The peers live in a venv of their own, so the type checker cannot see them.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def in_sqlite(path: str, table: str, count: int, where: str, changes: Mapping[str, str]) -> None:
    """Copy the one row of `table` that `where` finds, `count` times. `changes` are expressions for
    the columns that differ; `n` in them is the number of the copy."""
    import sqlite3

    numbers = (
        f"WITH RECURSIVE one(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM one WHERE n < {count})"
    )
    db = sqlite3.connect(path)
    columns = [name for _, name, *_ in db.execute(f"PRAGMA table_info({table})")]
    db.execute(f"{numbers} {_insert(table, columns, where, changes, 'one')}")
    db.commit()
    db.close()


def in_postgres(url: str, table: str, count: int, where: str, changes: Mapping[str, str]) -> None:
    """The same on a server; `table` may have a schema before it."""
    import psycopg

    connection: Any = psycopg.connect(url)
    with connection as db:
        found = db.execute(f"SELECT * FROM {table} LIMIT 0").description
        columns = [column.name for column in found or ()]
        numbers = f"generate_series(1, {count}) AS one(n)"
        db.execute(_insert(table, columns, where, changes, numbers))


def _insert(
    table: str, columns: list[str], where: str, changes: Mapping[str, str], numbers: str
) -> str:
    values = ", ".join(changes.get(column, f'"{column}"') for column in columns)
    names = ", ".join(f'"{column}"' for column in columns)
    return f"INSERT INTO {table} ({names}) SELECT {values} FROM {table}, {numbers} WHERE {where}"
