"""Start-up: `--version`, `--help` and `ls` against importing what they cannot do without."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from _harness import ROOT, compare, process

PARTWISE = str(Path(sys.executable).with_name("partwise"))


def main() -> None:
    click = process([sys.executable, "-c", "import click"])
    jinja = process([sys.executable, "-c", "import click, jinja2"])
    compare("partwise --version / import click", process([PARTWISE, "--version"]), click, 1.5)
    compare("partwise --help / import click", process([PARTWISE, "--help"]), click, 1.5)
    with tempfile.TemporaryDirectory() as folder:
        process([PARTWISE, "init", "tiny"], cwd=Path(folder))()
        tiny = Path(folder) / "tiny"
        process([PARTWISE, "seed", "-q"], cwd=tiny)()
        process([PARTWISE, "run", "-q"], cwd=tiny)()
        compile_one = [PARTWISE, "compile", "--select", "daily_orders", "--partition", "2024-01-01", "-q"]
        compare("compile one model, warm / import click, jinja2", process(compile_one, cwd=tiny), jinja, 2.5)
    compare("partwise ls of the example / import click", process([PARTWISE, "ls"], cwd=ROOT), click, 2.0)


if __name__ == "__main__":
    main()
