"""The small working project that `partwise init` writes."""

from __future__ import annotations

from collections.abc import Mapping


def starter_files(name: str) -> Mapping[str, str]:
    """Relative path -> text of every file of a new project called `name`."""
    return {
        "partwise.yml": _PROJECT.format(name=name),
        "profiles.yml": _PROFILES.format(name=name),
        "models/daily_orders.sql": _MODEL,
        "models/models.yml": _PROPERTIES,
        "seeds/orders.csv": _SEED,
        ".gitignore": "target/\nlogs/\n",
        "README.md": _README.format(name=name),
    }


_PROJECT = """\
name: {name}
profile: {name}
"""

_PROFILES = """\
{name}:
  target: dev
  outputs:
    dev:
      type: duckdb
      path: target/{name}.duckdb
      schema: main
      threads: 2
"""

_MODEL = """\
{{ config(
    partitions = daily(start='2024-01-01', end='2024-01-08'),
    partition_expr = 'ordered_on',
) }}
select cast(ordered_at as date) as ordered_on, region, count(*) as orders, sum(amount) as amount
from {{ ref('orders') }}
group by all
"""

_PROPERTIES = """\
version: 2
seeds:
  - name: orders
    description: A week of orders.
    config:
      partition_expr: ordered_at
      column_types: {ordered_at: timestamp}
models:
  - name: daily_orders
    description: Orders by day and region.
"""

_SEED = """\
order_id,ordered_at,region,amount
1,2024-01-01 09:30:00,EU,20.00
2,2024-01-01 23:59:59,US,35.50
3,2024-01-02 00:00:00,EU,12.25
4,2024-01-03 12:00:00,US,80.00
5,2024-01-03 15:45:00,EU,5.75
6,2024-01-05 08:00:00,EU,42.00
7,2024-01-05 18:20:00,US,19.99
8,2024-01-07 11:11:11,US,64.00
"""

_README = """\
# {name}

    partwise seed      # load seeds/orders.csv
    partwise run       # build daily_orders, one partition per day
    partwise status    # what is built, missing, failed
"""
