"""Loading 1,000 and 5,000 models: cold against bare Jinja rendering, warm and after one edit against `import click`."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from _harness import compare, process

PARTWISE = str(Path(sys.executable).with_name("partwise"))
PLAIN = "    sum(a) as a,\n    sum(b) as b,\n    sum(c) as c,"
LOOP = "{% for c in ['a', 'b', 'c'] %}\n    sum({{ c }}) as {{ c }},\n{% endfor %}"
BARE = """
import sys, pathlib, jinja2
environment = jinja2.Environment()
names = {"config": lambda **given: "", "ref": lambda name: name, "daily": lambda **given: ""}
for file in sorted(pathlib.Path(sys.argv[1]).rglob("*.sql")):
    environment.from_string(file.read_text()).render(**names)
"""


def main() -> None:
    click = process([sys.executable, "-c", "import click"])
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder, "small"), Path(folder, "large")
        loops = Path(folder, "loops")
        for root, count, columns in ((small, 1000, PLAIN), (large, 5000, PLAIN), (loops, 1000, LOOP)):
            write(root, count, columns)
        for root in (small, loops):
            bare = process([sys.executable, "-c", BARE, str(root)])
            compare(f"1,000 models ({root.name}), ls cold / bare Jinja", cold(root), bare, 1.6)
            compare(f"1,000 models ({root.name}), ls warm / import click", ls(root), click, 2.0)
            compare(f"1,000 models ({root.name}), ls after one edit / import click", edited(root), click, 4.0)
        compare("5,000 models, ls cold / 1,000 models", cold(large), cold(small), 5.5)
        compare("5,000 models, ls warm / 1,000 models", ls(large), ls(small), 2.0)


def ls(root: Path) -> Callable[[], float]:
    return process([PARTWISE, "ls"], cwd=root)


def cold(root: Path) -> Callable[[], float]:
    run = ls(root)

    def forget() -> float:
        shutil.rmtree(root / "target", ignore_errors=True)
        return run()

    return forget


def edited(root: Path) -> Callable[[], float]:
    run = ls(root)
    count = 0

    def edit() -> float:
        nonlocal count
        count += 1
        with (root / "models" / "g010" / "m00505.sql").open("a") as file:
            file.write(f"-- edit {count}\n")
        return run()

    return edit


def write(root: Path, count: int, columns: str) -> None:
    """A project of models of 20 lines, in folders of 50, each reading the one before in chains of ten."""
    for number in range(count):
        folder = root / "models" / f"g{number // 50:03d}"
        folder.mkdir(parents=True, exist_ok=True)
        source = f"{{{{ ref('m{number - 1:05d}') }}}}" if number % 10 else "raw.events"
        (folder / f"m{number:05d}.sql").write_text(MODEL.format(number=number, columns=columns, source=source))
    (root / "partwise.yml").write_text("name: shop\n")
    (root / "profiles.yml").write_text("shop: {outputs: {dev: {type: duckdb, path: x.duckdb}}}\n")


MODEL = """{{{{ config(
    partitions = daily(start='2013-01-01', end='2014-01-01', timezone='America/New_York'),
    partition_expr = 'flight_date',
    tags = ['daily'],
) }}}}
-- model number {number}
select
    flight_date,
    carrier,
{columns}
    count(*) as flights,
    count(dep_delay) as departed,
    avg(arr_delay) as avg_arrival_delay,
    sum(distance) as miles,
    'text' as note
from {source}
where carrier <> 'XX'
  and flight_date is not null
group by flight_date, carrier
"""


if __name__ == "__main__":
    main()
