"""The log of 730,400 partitions, ten years of days in 200 countries: writing it, its size, and reading what is missing.

Reading is measured as whole processes: `partwise status` against a script that holds the same pairs in a plain table and
asks DuckDB which are missing. A few partitions are missing in the middle, so that neither side can take a short cut.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from _harness import bounded, compare, figure, peak_memory, process

from partwise.adapters import duckdb
from partwise.nodes import RelationName
from partwise.partitions import daily, multi, static
from partwise.warehouse import status
from partwise.warehouse.logrows import Part

PARTWISE = str(Path(sys.executable).with_name("partwise"))
COUNTRIES = [f"C{i:03}" for i in range(200)]
NOW = datetime(2024, 1, 1, tzinfo=UTC)
GRID = multi(date=daily(start="2014-01-01", end="2024-01-01"), country=static(COUNTRIES))
MODEL = f"""{{{{ config(
    partitions = {{'multi': {{'date': {{'daily': {{'start': '2014-01-01', 'end': '2024-01-01'}}}},
                              'country': {{'static': {COUNTRIES}}}}}}},
    partition_expr = {{'date': 'day', 'country': 'country'}}, full_scan = true) }}}}
select date '2014-01-01' as day, 'C000' as country
"""
PROFILE = "big:\n  target: dev\n  outputs:\n    dev: {type: duckdb, path: big.duckdb}\n"
RAW = """
import sys, duckdb
con = duckdb.connect(sys.argv[1], read_only=True)
print(con.execute('''
    with wanted as (
      select date '2014-01-01' + i::integer as day, 'C' || lpad(c::varchar, 3, '0') as country
      from range(3652) d(i), range(200) k(c)
    )
    select count(*), min(day), max(day) from wanted anti join built using (day, country)
''').fetchall())
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "models").mkdir()
        (root / "models" / "grid.sql").write_text(MODEL)
        (root / "partwise.yml").write_text("name: big\nprofile: big\n")
        (root / "profiles.yml").write_text(PROFILE)
        raw = root / "raw.duckdb"
        fill(root / "big.duckdb", raw)
        command = [PARTWISE, "status", "--now", "2024-01-02"]
        script = [sys.executable, "-c", RAW, str(raw)]
        compare("status of 730,400 partitions / raw script", process(command, cwd=root), process(script, cwd=root), 2)
        bounded("  its memory, MB", peak_memory(command, cwd=root), 300)
        print(f"  the raw script's memory: {peak_memory(script, cwd=root):.0f} MB")


def fill(path: Path, raw: Path) -> None:
    """Log everything but two months of three countries as built, and the same pairs in a plain table."""
    relation = RelationName(None, "main", "grid")
    adapter = duckdb.connect({"path": str(path)})
    status.ensure(adapter)
    adapter.execute("create table grid (day date, country varchar)")
    adapter.execute(f"comment on table grid is '{status.marked('', 'abcdef012345')}'")
    adapter.execute("checkpoint")
    before = path.stat().st_size
    gap = GRID.box(date="2019-03-01/2019-05-01", country={"C001", "C050", "C199"})
    built = GRID.existing(NOW) - gap
    entry = status.Entry(relation, "abcdef012345", "materialized", "20240101T000000-00000000.1", NOW)
    seconds = timed(lambda: write(adapter, entry, [Part(built, 1)]))
    figure(f"writing the log of {len(built):,} partitions", seconds, 5)
    adapter.execute("checkpoint")
    bounded("  bytes on disk a partition", (path.stat().st_size - before) / len(built), 20)
    pairs = adapter.session()
    pairs.execute(f"attach '{raw}' as raw")
    pairs.execute(
        "create table raw.built as select window_start::date as day, dims->>'country' as country "
        "from partwise.partition_log"
    )
    pairs.close()
    adapter.close()


def write(adapter: duckdb.DuckDB, entry: status.Entry, parts: list[Part]) -> None:
    with adapter.transaction():
        status.record(adapter, entry, parts)


def timed(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
