"""profiles.yml: which target, where it was looked for, and what is secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from partwise.errors import ProjectError
from partwise.project.profiles import Profile, load_profile
from partwise.project.secrets import Secrets
from projects import load

TEXT = """
shop:
  target: "{{ env_var('T', 'dev') }}"
  outputs:
    dev: {type: duckdb, path: data/x.duckdb, threads: "{{ env_var('N', '3') | as_number }}"}
    memory: {type: duckdb}
    lake: {type: duckdb, path: "md:lake", settings: {memory_limit: "{{ env_var('MEM', '4GB') }}"}}
    prod:
      type: snowflake
      account: "{{ env_var('ACCOUNT') }}-x"
      user: me
      database: DB
      schema: MART
      password: "{{ env_var('DBT_ENV_SECRET_PW') }}"
      private_key_passphrase: literal-pass
      client_session_keep_alive: "{{ env_var('KEEP', 'true') | as_bool }}"
      connect_retries: "{{ env_var('R', '2') | as_native }}"
      query_tag: "{{ env_var('R', '2') | as_text }}"
    typo: {type: duckdb, pth: x}
    kind: {type: duckbd}
    none: {schema: x}
    short: {type: snowflake, account: a}
    threads: {type: duckdb, threads: many}
one: {outputs: {only: {type: duckdb}}}
empty: {target: dev}
default: {outputs: {a: {type: duckdb}, default: {type: duckdb, schema: s}}}
"""


def profile(root: Path, target: str | None = None, name: str = "shop", **environ: str) -> Profile:
    (root / "profiles.yml").write_text(TEXT)
    return load_profile(root, profile=name, target=target, environ=environ)


@pytest.mark.parametrize(
    ("environ", "target", "wanted"),
    [
        ({}, None, {"name": "dev", "type": "duckdb", "schema": "main", "threads": 3}),
        ({"N": "8"}, None, {"threads": 8}),
        ({"T": "memory"}, None, {"name": "memory", "threads": 1}),
        ({"PARTWISE_TARGET": "memory"}, None, {"name": "memory"}),
        ({"DBT_TARGET": "memory"}, None, {"name": "memory"}),
        ({"DBT_TARGET": "memory", "PARTWISE_TARGET": "dev"}, None, {"name": "dev"}),
        ({"T": "memory", "PARTWISE_TARGET": "memory"}, "dev", {"name": "dev"}),
        (
            {"ACCOUNT": "a", "DBT_ENV_SECRET_PW": "pw1"},
            "prod",
            {"type": "snowflake", "schema": "MART", "database": "DB"},
        ),
    ],
)
def test_target(environ: dict[str, str], target: str | None, wanted: dict[str, Any], tmp_path: Path) -> None:
    found = profile(tmp_path, target, **environ).target
    assert {key: getattr(found, key) for key in wanted} == wanted


def test_fields(tmp_path: Path) -> None:
    fields = profile(tmp_path, "prod", ACCOUNT="a", DBT_ENV_SECRET_PW="pw1").target.fields
    assert fields["account"] == "a-x" and fields["password"] == "pw1"
    assert fields["client_session_keep_alive"] is True
    assert (fields["connect_retries"], fields["query_tag"]) == (2, "2")
    assert profile(tmp_path, "lake").target.fields["settings"] == {"memory_limit": "4GB"}


def test_duckdb_path_is_relative_to_the_file(tmp_path: Path) -> None:
    assert profile(tmp_path).target.fields["path"] == str(tmp_path.resolve() / "data" / "x.duckdb")
    assert profile(tmp_path, "memory").target.fields["path"] == ":memory:"
    assert profile(tmp_path, "lake").target.fields["path"] == "md:lake"


def test_default_target(tmp_path: Path) -> None:
    assert profile(tmp_path, name="one").target.name == "only"
    assert profile(tmp_path, name="default").target.schema == "s"


@pytest.mark.parametrize(
    ("name", "target", "words"),
    [
        ("shop", "prd", ["no target `prd`; available: `dev`, `memory`", "profiles.yml:2", "did you mean `prod`?"]),
        ("shop", "typo", ["unknown field `pth`", "profiles.yml:19", "did you mean `path`?"]),
        ("shop", "kind", ["of type `duckbd`", "profiles.yml:20", "did you mean `duckdb`?"]),
        ("shop", "none", ["has no `type`", "profiles.yml:21", "`duckdb`, `snowflake`"]),
        ("shop", "short", ["has no `database`", "profiles.yml:22"]),
        ("shop", "threads", ["`threads` is `many`", "profiles.yml:23"]),
        ("shop", "prod", ["environment variable `ACCOUNT` is not set", "profiles.yml:10"]),
        ("empty", None, ["has no outputs", "profiles.yml:25"]),
        ("shp", None, ["no profile `shp`; searched", "/profiles.yml", "did you mean `shop`?"]),
    ],
)
def test_refused(name: str, target: str | None, words: list[str], tmp_path: Path) -> None:
    with pytest.raises(ProjectError) as caught:
        profile(tmp_path, target, name)
    text = str(caught.value)
    for word in words:
        assert word in text


def test_search_order(tmp_path: Path) -> None:
    places = ["given", "partwise_env", "dbt_env", "root", "home/.partwise", "home/.dbt"]
    for place in places:
        folder = tmp_path / place
        folder.mkdir(parents=True)
        (folder / "profiles.yml").write_text(f"shop: {{outputs: {{x: {{type: duckdb, schema: '{place}'}}}}}}")
    environ = {
        "HOME": str(tmp_path / "home"),
        "DBT_PROFILES_DIR": str(tmp_path / "dbt_env"),
        "PARTWISE_PROFILES_DIR": str(tmp_path / "partwise_env"),
    }
    root = tmp_path / "root"

    def schema(given: Path | None = None) -> str:
        return load_profile(root, profile="shop", profiles_dir=given, environ=environ).target.schema

    assert schema(tmp_path / "given") == "given"
    for used, gone in (
        ("partwise_env", "PARTWISE_PROFILES_DIR"),
        ("dbt_env", "DBT_PROFILES_DIR"),
        ("root", None),
        ("home/.partwise", None),
        ("home/.dbt", None),
    ):
        assert schema() == used
        if gone:
            del environ[gone]
        else:
            (tmp_path / used / "profiles.yml").unlink()
    with pytest.raises(ProjectError, match="searched") as caught:
        schema()
    for place in places[3:]:
        assert str(tmp_path / place / "profiles.yml") in str(caught.value)


def test_a_file_without_the_profile_is_passed_over(tmp_path: Path) -> None:
    home = tmp_path / "home" / ".dbt"
    home.mkdir(parents=True)
    (home / "profiles.yml").write_text("shop: {outputs: {x: {type: duckdb, schema: dbt}}}")
    (tmp_path / "profiles.yml").write_text("other: {outputs: {x: {type: duckdb}}}")
    found = load_profile(tmp_path, profile="shop", environ={"HOME": str(tmp_path / "home")})
    assert found.target.schema == "dbt"


def test_secrets_are_scrubbed(tmp_path: Path) -> None:
    secrets = profile(
        tmp_path, "prod", ACCOUNT="acc", DBT_ENV_SECRET_PW="p'w\n1", PARTWISE_ENV_SECRET_B="other"
    ).secrets
    for text in ("p'w\n1", repr("p'w\n1"), '{"a": "p\'w\\n1"}', "literal-pass", "other"):
        shown = secrets.scrub(f"before {text} after")
        assert "w\\n1" not in shown and "w\n1" not in shown and "literal" not in shown and "other" not in shown
        assert shown.startswith("before ") and shown.endswith(" after")
    assert secrets.scrub("acc DB MART me") == "acc DB MART me"


def test_the_longest_secret_first() -> None:
    secrets = Secrets({"DBT_ENV_SECRET_A": "abc", "DBT_ENV_SECRET_B": "abcdef", "DBT_ENV_SECRET_C": "", "OTHER": "xyz"})
    assert secrets.scrub("abcdef abc xyz") == "***** ***** xyz"


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    target = profile(tmp_path, "prod", ACCOUNT="a", DBT_ENV_SECRET_PW="hunter2").target
    assert "hunter2" not in repr(target) and "hunter2" not in repr(target.public)


def test_templates_see_no_secrets(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="password"):
        load(tmp_path, {"models/m.sql": "select '{{ target.password }}'"}, target="sf")
    assert load(tmp_path, {"models/m.sql": "select '{{ target.database }}'"}, target="sf").target.fields["password"]
