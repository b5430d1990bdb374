"""The plans in the pyproject.toml of a project: ``[tool.workkit.schedules.app-tasks.digest]``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workkit.errors import InvalidOptions, NotFound
from workkit.jobs.options import BY_NAME
from workkit.jobs.planned import Planned, PlanSource

TABLE = "tool.workkit.schedules"


def read_toml(file: Path) -> dict[str, Any]:
    """Read a TOML file. Raises NotFound, InvalidOptions."""
    try:
        return tomllib.loads(file.read_bytes().decode("utf-8"))
    except OSError as error:
        message = f"{file}: {(error.strerror or str(error)).lower()}. Name a .toml file, or MODULE:MAPPING."
        raise NotFound(message, given=str(file)) from error
    except UnicodeDecodeError as error:
        message = f"{file}: byte {error.start + 1} is not UTF-8. Save it as UTF-8."
        raise InvalidOptions(message, given=str(file)) from error
    except tomllib.TOMLDecodeError as error:
        message = f"{file}: {error}. Write a table for each job: [digest]."
        raise InvalidOptions(message, given=str(file)) from error


def entries(table: Mapping[str, Any], *, where: str) -> dict[str, Mapping[str, Any]]:
    """Check that a table holds a table for each job. Raises InvalidOptions."""
    for name, entry in table.items():
        if not isinstance(entry, Mapping):
            remedy = "Write [NAME] for each job, and its keywords below."
            raise InvalidOptions(f"{where}: {name} = {entry!r} is no table. {remedy}", given=name)
    return dict(table)


def plan_of_project(file: Path, schedule: str) -> PlanSource | None:
    """Read what the pyproject.toml of a project plans for a schedule; None where it plans nothing. Raises NotFound,
    InvalidOptions.
    """
    read = read_toml(file)
    settings = read.get("tool", {}).get("workkit", {})
    schedules = settings.get("schedules", {})
    table = schedules.get(schedule) if isinstance(schedules, Mapping) else None
    if table is None:
        return None
    where = f"[{TABLE}.{schedule}] in {file}"
    if not isinstance(table, Mapping):
        raise InvalidOptions(f"{where} is {table!r}. Write [{TABLE}.{schedule}.NAME] for each job.", given=table)
    jobs = {name: Planned(given=entry) for name, entry in entries(table, where=where).items()}
    said, project = settings.get("plan-version"), read.get("project", {}).get("name")
    return PlanSource(
        name=f"pyproject.toml:{project}" if isinstance(project, str) else "pyproject.toml",
        jobs=jobs,
        written_ms=file.stat().st_mtime_ns // 1_000_000,
        version=None if said is None else BY_NAME["plan_version"].read(said, "plan-version"),
    )
