"""Models made at random, on small tables with rows near window edges, for trying the prover against DuckDB.

`Maker(pick)` writes models with a function that picks one of a list; `Trial` runs a model both ways.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from partwise.adapters.base import Column
from partwise.errors import PartwiseError
from partwise.nodes import Node
from partwise.partitions import Definition, daily, hourly, monthly, multi, static, weekly
from partwise.proving.prove import Verdict, prove
from partwise.rendering.prepare import prepare
from rendering import NOW, Project, model, source

Pick = Callable[[Sequence[Any]], Any]

START = "2023-11-01"
NY = "America/New_York"
DAYS = ["2024-01-30", "2024-01-31", "2024-02-01", "2024-02-02", "2024-02-04", "2024-02-05", "2024-03-09", "2024-03-10",
        "2024-03-11"]
TIMES = ["00:00:00", "23:59:59.999999", "05:00:00", "04:59:59", "04:00:00", "12:30:00", "00:00:00"]
READERS: dict[str, tuple[Definition, Any]] = {
    "daily": (daily(START), "d"),
    "weekly": (weekly(START), "d"),
    "sundays": (weekly(START, week_start="sunday"), "d"),
    "monthly": (monthly(START), "d"),
    "new york": (daily(START, timezone=NY), "d"),
    "two": (multi(day=daily(START), region=static(["1", "2", "3"])), {"day": "d", "region": "u"}),
}
COLUMNS = {
    "main.a": {"d": "DATE", "u": "INTEGER", "v": "INTEGER"},
    "main.b": {"d": "DATE", "u": "INTEGER", "v": "INTEGER"},
    "main.ab": {"d": "DATE", "u": "INTEGER", "v": "INTEGER"},
    "main.st": {"d": "DATE", "u": "INTEGER", "v": "INTEGER"},
    "main.h": {"ts": "TIMESTAMP", "u": "INTEGER", "v": "INTEGER"},
    "main.mo": {"d": "DATE", "u": "INTEGER", "v": "INTEGER"},
    "main.wk": {"d": "DATE", "u": "INTEGER", "v": "INTEGER"},
    "raw.e": {"ts": "TIMESTAMP", "u": "INTEGER", "v": "INTEGER"},
    "raw.z": {"tz": "TIMESTAMPTZ", "u": "INTEGER", "v": "INTEGER"},
    "main.dim": {"d": "DATE", "u": "INTEGER", "v": "INTEGER"},
    "main.users": {"u": "INTEGER", "k": "INTEGER"},
}


def inputs() -> list[Node]:
    return [
        model("a", "", daily(START), "d"),
        model("b", "", daily(START), "d"),
        model("ab", "", multi(day=daily(START), region=static(["1", "2", "3"])), {"day": "d", "region": "u"}),
        model("st", "", static(["1", "2", "3"]), "u"),
        model("h", "", hourly(START), "ts", column_timezone="UTC"),
        model("mo", "", monthly(START), "d"),
        model("wk", "", weekly(START), "d"),
        source("raw", "e", "cast(ts as date)", column_timezone="UTC"),
        source("raw", "z", "tz"),
        model("dim", "", materialized="seed", resource_type="seed"),
        model("users", "", materialized="seed", resource_type="seed"),
    ]


class Maker:
    """Writes a SELECT with the columns d, u, v."""

    def __init__(self, pick: Pick, reader: str) -> None:
        self.any = pick
        self.reader = reader
        self.names = 0
        self.is_tame = pick([True, True, False])

    def pick(self, of: Sequence[Any]) -> Any:
        """One of a list; of its first half, mostly, in tame models: what distributes stands first in the lists."""
        if self.is_tame and len(of) > 3 and self.any(range(6)):
            return self.any(of[: (len(of) + 1) // 2])
        return self.any(of)

    def name(self) -> str:
        self.names += 1
        return f"t{self.names}"

    def model(self) -> str:
        text = self.rel(self.pick([1, 1, 2, 2, 3]))
        if self.pick([True, False, False]):
            other = self.join("c", "c") if self.pick([True, False]) else self.over("c")
            return f"with c as (\n{text}\n)\n{other}"
        return text

    def rel(self, depth: int) -> str:
        if depth <= 0:
            return self.base()
        kind = self.any(["over", "over", "over", "join", "join", "set", "sub", "sub"])
        if kind == "join":
            return self.join(self.sub(depth - 1), self.sub(depth - 1))
        if kind == "set":
            word = self.pick(["union all", "union all", "union", "except", "intersect", "except all"])
            return f"{self.rel(depth - 1)}\n{word}\n{self.rel(depth - 1)}"
        if kind == "sub":
            return self.subquery(self.sub(depth - 1), self.sub(depth - 1))
        return self.over(self.sub(depth - 1))

    def sub(self, depth: int) -> str:
        return f"({self.rel(depth)})"

    def base(self) -> str:
        if self.reader in ("new york",) and self.pick([True, True, False]):
            z = "{{ source('raw', 'z') }}"
            d = self.pick([
                f"cast(tz at time zone '{NY}' as date)", "cast(tz as date)", "cast(tz at time zone 'UTC' as date)",
                f"date_trunc('day', tz at time zone '{NY}')", f"cast(timezone('{NY}', tz) as date)",
            ])
            return f"select {d} as d, u, v from {z}"
        many = self.any(["ab", "ab", "ab", "a", "h", "st", "dim"] if self.reader == "two" and self.is_tame else ["a", "a", "b", "h", "h", "e", "mo", "wk", "dim", "dim", "ab", "ab", "st"])
        if many in ("h", "e"):
            ref = "{{ source('raw', 'e') }}" if many == "e" else f"{{{{ ref('h'{self.pick(['', '', ', lookback=1'])}) }}}}"
            d = self.pick([
                "cast(ts as date)", "cast(ts as date)", "date_trunc('day', ts)", "cast(date_trunc('week', ts) as date)",
                "cast(ts + interval 1 hour as date)", "ts", "date_trunc('hour', ts)", "cast(date_trunc('month', ts) as date)",
            ])
            return f"select {d} as d, u, v from {ref}"
        how = self.pick(["", "", "", "", ", lookback=1", ", lookback=2", ", mapping=all()", ", mapping=window(-1, -1)",
                         ", whole=true"])
        if many in ("dim",):
            how = ""
        d = self.pick(["d", "d", "d", "d", "d + 1", "cast(date_trunc('month', d) as date)", "cast(d as timestamp)",
                       "coalesce(d, date '2024-02-01')", "last_day(d)", "cast(date_trunc('week', d) as date)"])
        u = self.pick(["u", "u", "u", "u", "v as u", "coalesce(u, 1) as u", "u + 0 as u"])
        tail = self.pick(["", "", "", " where {{ partition_filter('d') }}"]) if self.reader != "two" else ""
        return f"select {d} as d, {u}, v from {{{{ ref('{many}'{how}) }}}}{tail}"

    def over(self, inner: str) -> str:
        t = self.name()
        source = f"{inner} as {t}"
        return self.any([self.project, self.group, self.group, self.window, self.window, self.other])(source, t)

    def project(self, source: str, t: str) -> str:
        d = self.pick(["d", "d", "d", "d + 0", "d - 1", "cast(d as date)", "date_trunc('day', d)", f"{t}.d"])
        where = self.pick(["", " where v > 1", " where u is not null", " where d is not null and v < 3", f" where {t}.u = 1"])
        columns = self.pick([f"{d} as d, u, v", f"{d} as d, u, v + 1 as v", f"{d} as d, u, coalesce(v, 0) as v", "*", f"{t}.*",
                             "* replace (v + 1 as v)"])
        if not self.pick([True, True, True, False]):
            return f"select {columns} from {source}{where} order by v limit 2"
        return f"select {columns} from {source}{where}"

    def group(self, source: str, t: str) -> str:
        made = self.pick([
            "select d, u, sum(v) as v from {s} group by d, u",
            "select d, u, count(*) as v from {s} group by 1, 2",
            "select d, u, max(v) as v from {s} group by all",
            "select d, min(u) as u, sum(v) as v from {s} group by d",
            "select max(d) as d, u, sum(v) as v from {s} group by u",
            "select min(d) as d, min(u) as u, sum(v) as v from {s}",
            "select d, u, count(distinct v) as v from {s} group by d, u having count(*) > 1",
            "select d, u, sum(v) as v from {s} group by d, rollup (u)",
            "select d, u, sum(v) as v from {s} group by cube (d, u)",
            "select d, u, sum(v) as v from {s} group by grouping sets ((d, u), (d))",
            "select d, u, sum(v) as v from {s} group by d, u, v",
            "select distinct d, u, v from {s}",
            "select distinct d, u, 1 as v from {s}",
            "select distinct on (d, u) d, u, v from {s} order by v",
            "select distinct on (u) d, u, v from {s} order by d, v",
            "select d, u, list(v order by v)[1] as v from {s} group by d, u",
            "select d, u, any_value(v) as v from {s} group by d, u",
            "select d, u, sum(sum(v)) over (partition by d) as v from {s} group by d, u",
            "select d, u, sum(count(*)) over (partition by u order by d) as v from {s} group by d, u",
            "select d, u, row_number() over (partition by d order by u) as v from {s} group by d, u",
            "select d, u, sum(v) filter (where v > 1) as v from {s} group by d, u",
            "select coalesce(d, date '2024-02-01') as d, u, sum(v) as v from {s} group by 1, 2",
        ])
        return made.replace("{s}", source)

    def window(self, source: str, t: str) -> str:
        parts = self.pick(["partition by d", "partition by d, u", "partition by u", "", "partition by u, d", "partition by v, d"])
        order = self.pick(["order by d", "order by v", "order by d, v", "order by u, v, d", "", "order by d desc"])
        function = self.pick(["sum(v)", "count(*)", "max(v)", "rank()", "dense_rank()", "row_number()", "lag(v)", "lead(v)",
                              "first_value(v)", "avg(v)", "min(v)"])
        frame = ""
        if order and self.pick([True, True, False]):
            frame = self.pick([
                " range between unbounded preceding and current row",
                " range between unbounded preceding and unbounded following",
                " rows between 1 preceding and current row",
                " rows between unbounded preceding and unbounded following",
            ])
            if order == "order by d":
                frame = self.pick([
                    frame,
                    " range between interval 1 day preceding and current row",
                    " range between interval 2 day preceding and current row",
                    " range between interval 1 month preceding and current row",
                    " range between interval 7 day preceding and current row",
                    " range between interval 1 day preceding and interval 1 day following",
                ])
        over = f"{function} over ({' '.join(p for p in (parts, order) if p)}{frame})"
        return self.pick([
            f"select d, u, {over} as v from {source}",
            f"select d, u, v from {source} qualify {over} = 1",
            f"select d, u, v from (select *, {over} as n from {source}) as {self.name()} where n <= 1",
            f"select d, u, v from (select *, {over} as n from {source}) as {self.name()}",
        ])

    def other(self, source: str, t: str) -> str:
        return self.pick([
            f"select d, u, k as v from {source}, unnest([v, 1]) as x(k)",
            f"select d, u, x.k as v from {source}, lateral (select {t}.v + 1 as k) as x",
            f"select d, u, x.k as v from {source}, lateral (select max(v) as k from {{{{ ref('b') }}}} as bb where bb.d = {t}.d) as x",
            f"select d, u, unnest([v, v]) as v from {source}",
            f"select d, {t}.u, coalesce(v, k) as v from {source} left join {{{{ ref('users') }}}} as us on us.u = {t}.u",
            f"select d, u, v + k as v from {source} join {{{{ ref('users') }}}} as us using (u)",
            f"select d, u, case when v > 1 then u else v end as v from {source}",
        ])

    def join(self, left: str, right: str) -> str:
        kind = self.pick(["join", "left join", "right join", "full join", "join", "left join", "full join"])
        on = self.pick([
            " on x.d = y.d", " on x.d = y.d and x.u = y.u", " on y.d = x.d and y.v > 1", " using (d)", " using (d, u)",
            " on x.d = y.d and x.u = y.u and x.v = y.v", " on x.u = y.u", " on x.d = y.d and x.v = y.v", " on x.d = y.d + 1", " on x.d >= y.d and x.u = y.u",
            " on x.u = y.u and cast(x.d as date) = y.d", " on x.d is not distinct from y.d and x.u = y.u",
        ])
        d = self.pick(["x.d", "x.d", "y.d", "coalesce(x.d, y.d)", "coalesce(y.d, x.d)"] + (["d", "d"] if "using" in on else []))
        u = self.pick(["x.u", "x.u", "y.u", "coalesce(x.u, y.u)"] + (["u"] if on == " using (d, u)" else []))
        v = self.pick(["y.v", "x.v", "coalesce(y.v, 0) + x.v"])
        if self.pick([False, False, False, False, True]):
            word = self.pick(["semi join", "anti join"])
            return f"select x.d, x.u, x.v from {left} as x {word} {right} as y{on}"
        if self.pick([False, False, False, False, True]):
            where = self.pick(["", " where x.d = y.d", " where x.d = y.d and x.u = y.u"])
            return f"select {d.replace('d', d) if d != 'd' else 'x.d'} as d, x.u, y.v from {left} as x, {right} as y{where}"
        tail = self.pick(["", "", "", " where y.d is null", " where x.v > 1"])
        return f"select {d} as d, {u} as u, {v} as v from {left} as x {kind} {right} as y{on}{tail}"

    def subquery(self, left: str, right: str) -> str:
        s = f"select x.d, x.u, x.v from {left} as x"
        on = self.pick(["y.d = x.d", "y.d = x.d and y.u = x.u", "y.u = x.u", "x.d = y.d and y.v > 1", "true"])
        return self.pick([
            f"{s} where exists (select 1 from {right} as y where {on})",
            f"{s} where not exists (select 1 from {right} as y where {on})",
            f"{s} where x.u in (select y.u from {right} as y)",
            f"{s} where x.d in (select y.d from {right} as y)",
            f"{s} where x.d not in (select y.d from {right} as y)",
            f"{s} where x.u not in (select y.u from {right} as y where {on})",
            f"{s} where x.u in (select y.u from {right} as y where {on})",
            f"{s} where (x.d, x.u) in (select y.d, y.u from {right} as y)",
            f"{s} where (x.d, x.u) not in (select y.d, y.u from {right} as y)",
            f"select x.d, x.u, (select max(y.v) from {right} as y where {on}) as v from {left} as x",
            f"{s} where x.v >= (select avg(y.v) from {right} as y where {on})",
            f"{s} where x.v > (select max(y.v) from {right} as y)",
        ])


class Trial:
    """One set of tables, and models run on it in both ways."""

    def __init__(self, pick: Pick, rows: int = 24) -> None:
        self.project = Project(*inputs(), zone=pick(["UTC", "Asia/Tokyo", NY]))
        days = [*DAYS, None]
        for name, columns in COLUMNS.items():
            made = []
            for _ in range(rows):
                row: list[Any] = []
                for column in columns:
                    if column == "d":
                        row.append(pick(days))
                    elif column in ("ts", "tz"):
                        day = pick(DAYS)
                        stamp = f"{day} {pick(TIMES)}"
                        row.append(None if pick(range(12)) == 0 else stamp + ("+00" if column == "tz" else ""))
                    else:
                        row.append(pick([1, 1, 2, 2, 3, None]))
                made.append(row)
            self.fill(name, columns, made)

    def fill(self, name: str, columns: dict[str, str], rows: list[list[Any]]) -> None:
        schema, table = name.split(".")
        con = self.project.connection
        con.execute(f"create schema if not exists {schema}")
        con.execute(f"create table {schema}.{table} ({', '.join(f'{c} {t}' for c, t in columns.items())})")
        values = ", ".join("(" + ", ".join("NULL" if v is None else repr(v) for v in row) + ")" for row in rows)
        con.execute(f"insert into {schema}.{table} values {values}")

    def add(self, name: str, code: str, reader: str) -> Node:
        definition, expr = READERS[reader]
        zone = {"column_timezone": "UTC"} if reader != "new york" else {}
        node = model(name, code, definition, expr, full_scan=True, **zone)
        self.project.nodes[node.unique_id] = node
        from partwise.rendering.render import find_in

        self.project.renderer.lookup = find_in(self.project.nodes)
        return node

    def verdict(self, node: Node) -> tuple[Verdict, Any] | None:
        """The verdict, and the model ready to run; None when DuckDB does not take the query."""
        try:
            ready = prepare(self.project.renderer, node, None, self.describe)
        except PartwiseError:
            return None
        listed = {name: tuple(columns) for name, columns in COLUMNS.items()}
        return prove(ready.composed, ready.types, listed), ready

    def describe(self, query: str) -> list[Column]:
        return self.project.describe(query)

    def both(self, node: Node, ready: Any, pick: Pick) -> tuple[Counter[Any], Counter[Any]] | None:
        """The rows of one query, and those of one query per partition; None when one of them fails."""
        import duckdb

        definition = node.definition
        assert definition is not None
        wanted = definition.union_of([definition.subset(key, NOW) for key in chosen(definition, pick)])
        try:
            one = Counter(self.project.rows(ready.render(wanted, NOW).query()))
            many: Counter[Any] = Counter()
            for part in wanted.split(1):
                many.update(self.project.rows(ready.render(part, NOW).query()))
        except (duckdb.Error, PartwiseError):
            return None
        return one, many


def chosen(definition: Definition, pick: Pick) -> list[str]:
    """Keys of some partitions that hold rows, with gaps."""
    keys: list[str] = []
    for day in DAYS:
        if not pick([True, True, False]):
            continue
        moment = datetime.fromisoformat(day + "T12:00:00").replace(tzinfo=UTC)
        if len(definition.dims) == 2:
            keys += [f"{day}|{region}" for region in ("1", "2", "3") if pick([True, False])]
        else:
            keys.append(definition.key_at(moment))
    if keys:
        return keys
    return [f"{DAYS[0]}|1" if len(definition.dims) == 2 else definition.key_at(datetime.fromisoformat(DAYS[0]).replace(tzinfo=UTC))]
