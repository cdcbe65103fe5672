"""partwise builds partitioned warehouse tables from SQL models.

The names below are the Python interface. They are loaded when first used, so `import partwise` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partwise import mapping as mapping
    from partwise.errors import PartitionError as PartitionError
    from partwise.errors import PartwiseError as PartwiseError
    from partwise.errors import PlanError as PlanError
    from partwise.errors import ProjectError as ProjectError
    from partwise.errors import ProjectErrors as ProjectErrors
    from partwise.errors import RenderError as RenderError
    from partwise.errors import WarehouseError as WarehouseError
    from partwise.mapping import Needed as Needed
    from partwise.mapping import downstream as downstream
    from partwise.mapping import upstream as upstream
    from partwise.partitions import Definition as Definition
    from partwise.partitions import PartitionSet as PartitionSet
    from partwise.partitions import Window as Window
    from partwise.partitions import cron as cron
    from partwise.partitions import daily as daily
    from partwise.partitions import dynamic as dynamic
    from partwise.partitions import hourly as hourly
    from partwise.partitions import monthly as monthly
    from partwise.partitions import multi as multi
    from partwise.partitions import quarterly as quarterly
    from partwise.partitions import static as static
    from partwise.partitions import weekly as weekly
    from partwise.partitions import yearly as yearly
    from partwise.policy import multi_run as multi_run
    from partwise.policy import single_run as single_run

__version__ = "0.1.0"

_HOMES = {
    "api": ("Project",),
    "errors": (
        "PartitionError",
        "PartwiseError",
        "PlanError",
        "ProjectError",
        "ProjectErrors",
        "RenderError",
        "WarehouseError",
    ),
    "mapping": ("Needed", "downstream", "upstream"),
    "partitions": (
        "Definition",
        "PartitionSet",
        "Window",
        "cron",
        "daily",
        "dynamic",
        "hourly",
        "monthly",
        "multi",
        "quarterly",
        "static",
        "weekly",
        "yearly",
    ),
    "policy": ("multi_run", "single_run"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["mapping", *_HOME_OF]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        value = getattr(import_module(f"partwise.{_HOME_OF[name]}"), name)
    elif name == "mapping":
        value = import_module("partwise.mapping")
    else:
        raise AttributeError(f"module `partwise` has no name `{name}`")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
