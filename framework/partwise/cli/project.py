"""`init`, `debug`, `ls`, `parse`, `clean`: the project itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from partwise.cli import options
from partwise.cli.messages import log


@click.command("init")
@click.argument("folder", default=".")
@click.option("--name", help="Name of the project (default: the folder's).")
@options.output
def init_command(folder: str, name: str | None, output: str) -> int:
    """Write a small working project into FOLDER."""
    import re

    from partwise.errors import ProjectError
    from partwise.starter import starter_files

    root = Path(folder)
    name = name or re.sub(r"\W+", "_", root.resolve().name).strip("_").lower() or "project"
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise ProjectError(f"`{name}` is not a project name", hint="letters, digits and `_`, not starting with a digit")
    files = starter_files(name)
    there = [path for path in files if (root / path).exists()]
    if there:
        raise ProjectError(f"{root} already holds {', '.join(f'`{p}`' for p in there)}", hint="choose an empty folder")
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    if output == "json":
        from partwise.cli.common import say_json

        say_json({"name": name, "folder": str(root), "files": list(files)})
    log(f"wrote {len(files)} files into {root}")
    log(f"next: {'' if folder == '.' else f'cd {folder} && '}partwise seed && partwise run && partwise status")
    return 0


@click.command("debug")
@options.project
@options.output
@click.option("--ddl", is_flag=True, help="Print the statements that create partwise's own tables.")
def debug_command(ddl: bool, output: str, **given: Any) -> int:
    """Show the project, the profile, and whether the warehouse answers."""
    from partwise import __version__
    from partwise.cli.common import open_session, say_json, say_lines
    from partwise.planning.report import count

    session = open_session(given)
    if ddl:
        say_json({"ddl": session.ddl()}) if output == "json" else say_lines([session.ddl()])
        return 0
    target = session.target
    if output == "json":
        with session:
            say_json(
                {
                    "version": __version__,
                    "project": session.project.name,
                    "root": session.root,
                    "profile": target.profile,
                    "profiles_file": target.file,
                    "target": target.public,
                    "warehouse": session.ping(),
                }
            )
        return 0
    say_lines(
        [
            f"partwise   {__version__}",
            f"project    {session.project.name} in {session.root}",
            f"profile    {target.profile} from {target.file}",
            f"target     {target.name}: {target.type}, schema {target.schema}, {count(target.threads, 'thread')}",
        ]
    )
    say_lines([f"warehouse  {session.ping()}"])
    say_lines(["all checks passed"])
    return 0


@click.command("ls")
@options.project
@options.selection
@options.output
@click.option("--resource-type", multiple=True, help="model, seed or source. Repeatable.")
def ls_command(output: str, resource_type: tuple[str, ...], **given: Any) -> int:
    """List models, seeds and sources."""
    from partwise.cli.common import open_session, say_json, say_lines
    from partwise.project.listing import list_lines, list_rows

    select, exclude = options.joined(given.pop("select")), options.joined(given.pop("exclude"))
    session = open_session(given)
    nodes = session.listing(select, exclude, resource_type)
    if output == "json":
        say_json(list_rows(session.project, nodes))
        return 0
    say_lines(list_lines(session.project, nodes))
    if not nodes:
        log("nothing selected")
    return 0


@click.command("parse")
@options.project
@options.output
def parse_command(output: str, **given: Any) -> int:
    """Load the project and write target/manifest.json."""
    from partwise.cli.common import open_session, say_json

    session = open_session(given)
    path, manifest = session.write_manifest()
    if output == "json":
        say_json(manifest)
    session.say(f"wrote {path}")
    return 0


@click.command("clean")
@options.project
@options.output
def clean_command(output: str, **given: Any) -> int:
    """Delete the target folder. A DuckDB file in it stays, because it is data."""
    import shutil

    from partwise.cli.common import open_session, say_json

    session = open_session(given)
    kept, cleaned = 0, []
    for folder in session.clean_targets():
        if not folder.is_dir():
            continue
        for item in sorted(folder.iterdir()):
            if item.suffix in (".duckdb", ".db") or item.name.endswith(".duckdb.wal"):
                kept += 1
            elif item.is_dir() and not item.is_symlink():
                shutil.rmtree(item)
            else:
                item.unlink()
        if not any(folder.iterdir()):
            folder.rmdir()
        cleaned.append(folder)
        session.say(f"cleaned {folder}")
    if kept:
        session.say(f"kept {kept} database file{'s' if kept > 1 else ''}")
    if output == "json":
        say_json({"cleaned": cleaned, "kept_database_files": kept})
    return 0
