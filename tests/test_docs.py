"""The documentation says what the code does: commands are carried out, and names are compared with the code.

`pytest tests/test_docs.py --rewrite-golden` writes what is really printed into the pages; then read the diff.
"""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

import click
import pytest

import docs_console
import docs_reference
import partwise
from partwise import api
from partwise.cli import call
from partwise.project import projectfile, references, selection
from partwise.project.calls import DEFINITIONS, MAPPINGS
from partwise.project.config import OWN
from partwise.project.jinja_env import FILTERS, NOT_THERE, Engine, Scope, World
from partwise.project.profiles import FIELDS
from partwise.warehouse import status_sql

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CARRIED_OUT = ["README.md", "docs/tutorial.md", "docs/concepts.md", "docs/reference.md"]
IN_EXAMPLE = ["README.md", "docs/concepts.md"]  # these speak of the example project
REFERENCE = (ROOT / "docs/reference.md").read_text(encoding="utf-8")


# ---------------------------------------------------------------- what is shown is what is printed


@pytest.mark.parametrize("name", CARRIED_OUT)
def test_commands_print_what_the_page_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    if name in IN_EXAMPLE:
        (tmp_path / "flights").mkdir()
        monkeypatch.chdir(tmp_path / "flights")
        for folder in ("models", "seeds"):
            shutil.copytree(ROOT / folder, folder)
        for file in ("profiles.yml", "pyproject.toml"):
            shutil.copy(ROOT / file, file)
        assert call(["seed", "-q"]) == 0
    page = (ROOT / name).read_text(encoding="utf-8")
    written, differences = docs_console.carry_out(page, docs_console.Shell(tmp_path))
    if differences and pytestconfig.getoption("--rewrite-golden"):
        (ROOT / name).write_text(written, encoding="utf-8")
        return
    assert not differences, "\n\n".join(map(str, differences))


def test_the_readme_shows_a_model_of_the_example():
    model = next(block for block in docs_console.blocks((ROOT / "README.md").read_text()) if block.language == "sql")
    assert model.text + "\n" == (ROOT / "models/daily_delays.sql").read_text()


def test_the_readme_shows_the_status_of_the_example():
    """`make demo` is not run here; the models and how many partitions each has are compared."""
    shown = dict(
        re.findall(r"^(\w+) +#+ +([\d,]+) of [\d,]+ partitions$", (ROOT / "README.md").read_text(), re.MULTILINE)
    )
    with api.Project.load(ROOT) as project:
        models = project.models
        parts = {n: m.definition for n, m in models.items() if m.is_partitioned and m.definition is not None}
        sizes = {n: f"{len(d.existing(None)):,}" for n, d in parts.items() if d.kind != "dynamic"}  # type: ignore[arg-type]
    assert {name: count for name, count in shown.items() if name in sizes} == sizes
    listed = re.findall(r"^(\w+) +#+ ", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(models)


def test_snowflake_sql_can_be_compiled_without_a_warehouse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """As the README says."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "models", "models")
    shutil.copytree(ROOT / "seeds", "seeds")
    shutil.copy(ROOT / "pyproject.toml", "pyproject.toml")
    target = "{type: snowflake, account: a, database: DB, schema: MART}"
    Path("profiles.yml").write_text(f"flights: {{target: sf, outputs: {{sf: {target}}}}}\n")
    for partition in ([], ["--partition", "2013-11-03"]):
        assert call(["compile", "-s", "daily_delays", *partition]) == 0
        assert "MART.departures where time_hour >= '2013-" in capsys.readouterr().out


def _imported(path: Path) -> Iterable[str]:
    """The modules of partwise that a file imports, anywhere in it but for types alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    only_types = [n for n in ast.walk(tree) if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test)]
    skipped = {inner for node in only_types for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if node in skipped or not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("partwise"):
            continue
        yield from [a.name for a in node.names] if node.module == "partwise" else [str(node.module).split(".", 1)[1]]


def test_modules_know_only_those_above_them_in_the_readme():
    listed = (ROOT / "README.md").read_text().split("## How it works")[1].split("\n## ")[0]
    rows = [row.split("|")[1] for row in listed.splitlines() if row.startswith("| `") and "framework" not in row]
    rank = {name: i for i, row in enumerate(rows) for name in re.findall(r"`(\w+)`", row)}
    package = ROOT / "framework/partwise"
    for name, layer in rank.items():
        files = [package / f"{name}.py"] if (package / f"{name}.py").exists() else sorted((package / name).glob("*.py"))
        assert files, f"there is no module `{name}`"
        below = {m for f in files for m in _imported(f) if rank.get(m.split(".")[0], -1) > layer} - {"adapters.base"}
        assert not below, f"{name} imports {sorted(below)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path):
    for text, target in re.findall(r"\[([^\]]+)\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        if "://" in target:
            continue
        found = (page.parent / path) if path else page
        assert found.exists(), f"[{text}]({target})"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", found.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in [re.sub(r"[^\w -]", "", h).strip().lower().replace(" ", "-") for h in headings], target


# ---------------------------------------------------------------- the reference names what there is


def test_generated_parts_are_up_to_date(pytestconfig: pytest.Config):
    made = docs_reference.filled(REFERENCE)
    if made != REFERENCE and pytestconfig.getoption("--rewrite-golden"):
        (ROOT / "docs/reference.md").write_text(made, encoding="utf-8")
        return
    assert made == REFERENCE, "run `pytest tests/test_docs.py --rewrite-golden`, and read the diff"


def named(heading: str, column: str | None = None) -> set[str]:
    """The names in backticks in the first cells of the tables below a heading."""
    section = re.split(rf"^## {heading}$", REFERENCE, flags=re.MULTILINE)[1].split("\n## ")[0]
    names: set[str] = set()
    inside = column is None
    for line in section.splitlines():
        if column is not None and line.startswith("| ") and not line.startswith("| `"):
            inside = line.split("|")[1].strip() == column
        if inside and line.startswith("| `"):
            names |= set(re.findall(r"`([^`]+)`", re.split(r"(?<!\\)\|", line)[1]))
    return names


def same(documented: Iterable[str], there: Iterable[str]) -> None:
    documented, there = set(documented), set(there)
    assert not there - documented, f"not in the reference: {sorted(there - documented)}"
    assert not documented - there, f"in the reference, and nowhere else: {sorted(documented - there)}"


def test_every_command_and_option_is_there():
    shown = set(re.findall(r"^### `partwise ([a-z ]+?)(?: [A-Z\[].*)?`$", REFERENCE, re.MULTILINE))
    same(shown, [name for name, _ in docs_reference.commands()])
    options = {o for _, c in docs_reference.commands() for p in c.params if isinstance(p, click.Option) for o in p.opts}
    same({name for name in named("Commands") if name.startswith("-")}, options)


def test_every_project_setting_is_there():
    same(named("Project file"), projectfile._KEYS)


def test_every_config_key_is_there():
    same(named("Config keys"), OWN)


def test_every_profile_field_is_there():
    same(named("Profiles"), FIELDS["duckdb"])


def test_every_definition_and_argument_is_there():
    same({name.partition("(")[0] for name in named("Partition definitions", "constructor")}, DEFINITIONS)
    taken: set[str] = set()
    for name in DEFINITIONS:
        inside = docs_reference.signature(name).partition("(")[2].rstrip(")")
        taken |= {part.partition("=")[0] for part in inside.split(", ")} - {"..."}
    same(named("Partition definitions", "argument"), taken)


def test_every_mapping_and_option_of_ref_is_there():
    same({name.partition("(")[0] for name in named("Mappings", "constructor")}, MAPPINGS)
    same(named("Mappings", "option"), references._OPTIONS)


def test_every_name_of_templates_is_there():
    scope = Scope(Engine(World("", {}, {}, {})), model_file="")
    jinja = {"range", "dict", "lipsum", "cycler", "joiner", "namespace"}
    there = {name for name in scope.names() if name.isidentifier()} - jinja
    same(named("Names in templates"), there | set(NOT_THERE))
    for name in FILTERS:
        assert f"`{name}`" in REFERENCE


def test_every_public_name_of_python_is_there():
    constructors = {*DEFINITIONS, "mapping", "single_run", "multi_run"}
    same(named("Python", "name"), set(partwise.__all__) - constructors)
    public = {name for name in vars(api.Project) if not name.startswith("_")}
    same(named("Python", "method of `Project`"), public)


@pytest.mark.parametrize("table", [*status_sql.TABLES])
def test_every_column_of_a_status_table_is_there(table: str):
    same(named("Status tables", f"column of `{table}`"), [column for column, _ in status_sql.TABLES[table]])


def test_every_column_of_the_status_view_is_there():
    import duckdb

    connection = duckdb.connect()
    for statement in status_sql.ddl():
        connection.execute(statement)
    columns = [row[0] for row in connection.execute("describe partwise.partition_status").fetchall()]
    same(named("Status tables", "column of `partition_status`"), columns)


def test_every_selection_method_is_there():
    methods = {f"{method}:" for method in selection._METHODS} | {"config."}
    terms = {name for name in named("Commands") if re.fullmatch(r"[a-z_]+[:.]", name)}
    same(terms, methods)


def test_every_exit_code_is_there():
    from partwise import errors

    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.PartwiseError)
    ]
    codes = {str(kind.exit_code) for kind in kinds} | {"0"}
    assert codes == set(re.findall(r"^\| (\d) \|", REFERENCE, re.MULTILINE))
