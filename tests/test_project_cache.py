"""The loading cache: after any change it gives what a load from scratch gives."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from partwise.errors import PartwiseError
from partwise.project import Project, load_project
from partwise.project.cache import Nodes
from projects import PROFILES, write_project

DAILY = "partitions=daily(start='2024-01-01'), partition_expr='d'"
FILES: dict[str, str] = {
    "partwise.yml": "name: shop\nvars: {country: US}\nmodels: {shop: {marts: {+tags: [mart]}}}\n",
    "models/a.sql": f"{{{{ config({DAILY}) }}}}\nselect d, x from {{{{ source('raw', 'clicks') }}}}\n",
    "models/v.sql": "select * from {{ ref('a') }}\n",
    "models/marts/m.sql": f"{{{{ config({DAILY}, policy=multi_run(3)) }}}}\n"
    "select d, {{ double('x') }} from {{ ref('v', lookback=2) }} join {{ ref('days') }} using (d)\n",
    "models/marts/loop.sql": "{% for c in ['a', 'b'] %}\n-- {{ c }}\n{% endfor %}select '{{ var('country') }}' as c\n",
    "models/marts/own.sql": f"{{{{ config({DAILY}) }}}}select * from {{{{ ref('a') }}}} union all select * from {{{{ this }}}}",
    "models/marts/asks.sql": "{{ config(alias=config.get('meta', {}).get('as', 'plain')) }}select 1 as x\n",
    "models/m.yml": "models:\n- {name: m, description: the mart, columns: [{name: d, data_type: date}]}\n"
    "- {name: asks, config: {meta: {as: asked}}}\n",
    "models/s.yml": "sources: [{name: raw, tables: [{name: clicks, config: {partition_expr: ts}}]}]\n",
    "macros/double.sql": "{% macro double(x) %}{{ x }} * 2{% endmacro %}\n",
    "seeds/days.csv": "d\n2024-01-01\n",
}
ENVIRON = {"HOME": "/nowhere"}


def seen(root: Path, **given: Any) -> tuple[Any, ...]:
    """All that a load shows: nodes, lists and graph, or what is wrong."""
    try:
        project = load_project(root, **{"environ": ENVIRON, **given})
    except PartwiseError as error:
        return ("error", str(error))
    return shown(project)


def shown(project: Project) -> tuple[Any, ...]:
    nodes = {uid: project.nodes[uid] for uid in project.nodes}
    fields = {uid: {n: getattr(node, n) for n in node.__slots__} for uid, node in nodes.items()}
    return (
        fields,
        project.items,
        {uid: project.graph.parents[uid] for uid in project.graph.parents},
        project.graph.order,
        project.notes,
        project.target,
        project.name,
        project.vars,
        project.macros,
        project.settings,
    )


def check(root: Path, **given: Any) -> tuple[Any, ...]:
    """Twice with the cache, once without: all the same."""
    first = seen(root, **given)
    again = seen(root, **given)
    fresh = seen(root, use_cache=False, **given)
    assert first == fresh
    assert again == fresh
    return fresh


def edit(path: str, old: str, new: str) -> Callable[[Path], None]:
    def apply(root: Path) -> None:
        file = root / path
        text = file.read_text()
        assert old in text or not old
        file.write_text(text.replace(old, new, 1) if old else text + new)

    return apply


def write(path: str, text: str) -> Callable[[Path], None]:
    return lambda root: write_project(root, {"partwise.yml": (root / "partwise.yml").read_text(), path: text}) and None


def remove(path: str) -> Callable[[Path], None]:
    return lambda root: (root / path).unlink()


CHANGES: dict[str, Callable[[Path], None]] = {
    "text of a model": edit("models/a.sql", "d, x", "d, x + 1 as x"),
    "lines before a reference": edit("models/a.sql", "select", "\n\n-- more\nselect"),
    "comment at the end": edit("models/marts/m.sql", "", "-- done\n"),
    "comment after a reference": edit("models/marts/loop.sql", "select", "-- {{ ref('nope') }}\nselect"),
    "reference into a comment": edit("models/marts/m.sql", "join", "-- join"),
    "text of a template with a loop": edit("models/marts/loop.sql", "-- {{ c }}", "-- {{ c }} {{ c }}"),
    "a view stops handing on its column": edit("models/v.sql", "*", "x as d"),
    "a view gets a comment": edit("models/v.sql", "select", "-- x\nselect"),
    "a view reads whole": edit("models/v.sql", "ref('a')", "ref('a', whole=true)"),
    "another policy": edit("models/marts/m.sql", "multi_run(3)", "single_run()"),
    "other partitions": edit("models/a.sql", "daily(start='2024-01-01')", "hourly(start='2024-01-02')"),
    "partitions that do not map": edit("models/a.sql", "daily(start='2024-01-01')", "static(['a'])"),
    "another alias": edit("models/a.sql", "config(", "config(alias='aa', "),
    "a new reference": edit("models/marts/loop.sql", "as c", "as c from {{ ref('asks') }}"),
    "a reference gone": edit("models/marts/m.sql", " join {{ ref('days') }} using (d)", ""),
    "a circle": edit("models/a.sql", "source('raw', 'clicks')", "ref('m')"),
    "own past no more": edit("models/marts/own.sql", " union all select * from {{ this }}", ""),
    "an unknown reference": edit("models/v.sql", "ref('a')", "ref('b')"),
    "broken Jinja": edit("models/v.sql", "}}", "}"),
    "an unknown config key": edit("models/a.sql", "config(", "config(tag='x', "),
    "an empty model": write("models/v.sql", ""),
    "a model that asks for config": edit("models/v.sql", "select", "{{ config(tags=config.get('alias', 'none')) }}select"),
    "a new model": write("models/new.sql", "select 1 as a"),
    "a model removed": remove("models/marts/own.sql"),
    "a model removed that is read": remove("models/v.sql"),
    "a model moved": lambda root: (root / "models/marts/own.sql").rename(root / "models/own.sql") and None,
    "a model disabled": edit("models/marts/own.sql", "config(", "config(enabled=false, "),
    "a property": edit("models/m.yml", "the mart", "the MART"),
    "config in a property file": edit("models/m.yml", "as: asked", "as: other"),
    "partitions in a property file": edit("models/m.yml", "{name: asks, ", "{name: v, config: {tags: [x]}}\n- {name: asks, "),
    "a source": edit("models/s.yml", "partition_expr: ts", "partition_expr: ts2"),
    "a new property file": write("models/marts/more.yml", "models: [{name: loop, config: {materialized: table}}]\n"),
    "a macro": edit("macros/double.sql", "* 2", "* 2 {{ ref('asks') }}"),
    "a new macro": write("macros/more.sql", "{% macro double2() %}{% endmacro %}"),
    "a macro that breaks": edit("macros/double.sql", "{% endmacro %}", ""),
    "a seed": edit("seeds/days.csv", "", "2024-01-02\n"),
    "a seed removed": remove("seeds/days.csv"),
    "a new seed": write("seeds/more.csv", "a\n1\n"),
    "a var": edit("partwise.yml", "US", "FR"),
    "folder config": edit("partwise.yml", "[mart]", "[mart, more]"),
    "the name of the project": edit("partwise.yml", "name: shop", "name: shop2\nprofile: shop"),
    "the target's schema": write("profiles.yml", PROFILES.replace("schema: main", "schema: other")),
    "the profile gone": remove("profiles.yml"),
    "another target path": edit("partwise.yml", "name:", "target-path: build\nname:"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_one_change(name: str, tmp_path: Path) -> None:
    before = check(write_project(tmp_path, FILES))
    assert before[0] != "error"
    CHANGES[name](tmp_path)
    after = check(tmp_path)
    unseen = ("a seed", "a new macro", "another target path")
    assert after != before or name in unseen


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(sorted(CHANGES)), min_size=2, max_size=5))
def test_many_changes(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    root = write_project(tmp_path_factory.mktemp("shop"), FILES)
    check(root)
    for name in names:
        try:
            CHANGES[name](root)
        except (AssertionError, FileNotFoundError):
            continue  # this change needs what another has taken away
        check(root)


def test_an_unchanged_project_is_not_read(tmp_path: Path) -> None:
    write_project(tmp_path, FILES)
    _age(tmp_path)
    assert type(load_project(tmp_path, environ=ENVIRON).nodes) is dict
    assert isinstance(load_project(tmp_path, environ=ENVIRON).nodes, Nodes)


def test_an_edited_model_alone_is_parsed(tmp_path: Path) -> None:
    write_project(tmp_path, FILES)
    _age(tmp_path)
    load_project(tmp_path, environ=ENVIRON)
    for name in ("text of a model", "text of a template with a loop", "comment at the end"):
        CHANGES[name](tmp_path)
        assert isinstance(load_project(tmp_path, environ=ENVIRON).nodes, Nodes), name


def _age(root: Path) -> None:
    """Let the files be older than the step in which file systems count time."""
    import time

    newest = max(path.stat().st_ctime_ns for path in root.rglob("*"))
    while time.time_ns() - newest < 30_000_000:
        time.sleep(0.005)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"not a cache",
        lambda data: data[:100],
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda data: data[:200] + b"\xff" + data[201:],
        lambda data: data[:-50] + bytes(50),
        lambda data: data[:22] + bytes(len(data) - 22),
        lambda data: data + b"more",
    ],
)
def test_a_damaged_cache_is_no_cache(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    fresh = check(write_project(tmp_path, FILES))
    file = tmp_path / "target" / "partwise.cache"
    file.write_bytes(damage(file.read_bytes()))
    assert seen(tmp_path) == fresh
    edit("models/a.sql", "d, x", "d, x + 1 as x")(tmp_path)
    check(tmp_path)


def test_a_cache_of_another_version_is_no_cache(tmp_path: Path) -> None:
    import marshal
    import struct
    from zlib import crc32

    fresh = check(write_project(tmp_path, FILES))
    file = tmp_path / "target" / "partwise.cache"
    head = struct.Struct("<10sIQ")
    magic, _, length = head.unpack(file.read_bytes()[: head.size])
    index = marshal.loads(file.read_bytes()[head.size :])
    index["stamp"] = ("0.0.1", *index["stamp"][1:])
    index["name"] = "wrong"
    text = marshal.dumps(index)
    file.write_bytes(head.pack(magic, crc32(text), len(text)) + text + file.read_bytes()[head.size + length :])
    assert seen(tmp_path) == fresh


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ({}, {"vars": {"country": "DE"}}),
        ({"vars": {"country": "DE"}}, {"vars": {"country": "FR"}}),
        ({"vars": {"country": date(2024, 1, 2)}}, {"vars": {"country": [1, {"a": None}]}}),
        ({}, {"target": "sf"}),
        ({"environ": {"E": "1"}}, {"environ": {"E": "2"}}),
        ({"environ": {"E": "1"}}, {"environ": {}}),
        ({"environ": {}}, {"environ": {"E": ""}}),
        ({}, {"environ": {"DBT_TARGET": "sf"}}),
        ({}, {"environ": {"SCHEMA": "other"}}),
        ({"target": "secret", "environ": {"DBT_ENV_SECRET_S": "s1"}}, {"target": "secret", "environ": {"DBT_ENV_SECRET_S": "s2"}}),
    ],
)
def test_other_options_and_environment(first: dict[str, Any], then: dict[str, Any], tmp_path: Path) -> None:
    profiles = PROFILES.replace("schema: main", "schema: \"{{ env_var('SCHEMA', 'main') }}\"")
    profiles += "    secret: {type: duckdb, schema: \"{{ env_var('DBT_ENV_SECRET_S', 'x') }}\"}\n"
    model = "{{ config(tags=[env_var('E', 'unset'), var('country'), target.name]) }}select 1 as x"
    write_project(tmp_path, {**FILES, "profiles.yml": profiles, "models/e.sql": model})
    one, two = check(tmp_path, **first), check(tmp_path, **then)
    assert one[0] != "error" and one != two
    assert check(tmp_path, **first) == one


def test_no_secret_in_the_cache(tmp_path: Path) -> None:
    profiles = PROFILES.replace("hunter2", "{{ env_var('DBT_ENV_SECRET_PW') }}") + (
        "    literal: {type: snowflake, account: a, database: d, schema: s, password: literal-pass}\n"
    )
    write_project(tmp_path, {**FILES, "profiles.yml": profiles.replace("password: {{", 'password: "{{').replace("') }}}", "') }}\"}")})
    environ = {"DBT_ENV_SECRET_PW": "hunter2", **ENVIRON}
    for target, secret in (("sf", "hunter2"), ("literal", "literal-pass")):
        project = load_project(tmp_path, target=target, environ=environ)
        warm = load_project(tmp_path, target=target, environ=environ)
        assert warm.target.fields["password"] == project.target.fields["password"] == secret
        assert warm.secrets.scrub(secret) == "*****"
        assert secret.encode() not in (tmp_path / "target" / "partwise.cache").read_bytes()


def test_a_target_folder_that_cannot_be_written(tmp_path: Path) -> None:
    write_project(tmp_path, FILES)
    (tmp_path / "target").write_text("a file")
    assert check(tmp_path)[0] != "error"
    assert os.listdir(tmp_path / "models")


@pytest.mark.parametrize(
    ("toml", "folder"),
    [
        ('[tool.partwise]\nname = "shop"\ntarget-path = "build/x"\n', "build/x"),
        ('[tool.partwise]\nname = "shop"\n"target_path" = \'out\'  # here\n', "out"),
        ('[tool.other]\ntarget-path = "foreign"\n[tool.partwise]\nname = "shop"\n', "target"),
    ],
)
def test_the_cache_is_in_the_target_folder(toml: str, folder: str, tmp_path: Path) -> None:
    write_project(tmp_path, {"models/a.sql": "select 1 as a", "pyproject.toml": toml})
    check(tmp_path)
    assert [str(p.relative_to(tmp_path)) for p in tmp_path.rglob("partwise.cache")] == [f"{folder}/partwise.cache"]
    _age(tmp_path)
    load_project(tmp_path, environ=ENVIRON)
    assert isinstance(load_project(tmp_path, environ=ENVIRON).nodes, Nodes) is (folder != "target")


def test_errors_leave_no_cache_behind(tmp_path: Path) -> None:
    write_project(tmp_path, {**FILES, "models/v.sql": "{% if %}"})
    assert check(tmp_path)[0] == "error"
    assert not (tmp_path / "target").exists()
