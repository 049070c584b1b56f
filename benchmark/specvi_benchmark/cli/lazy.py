"""Commands that are listed without being imported, and loaded when called."""

import ast
from collections.abc import Iterable, Sequence
from importlib.machinery import PathFinder
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from specvi_benchmark.errors import UserError

GROUP = "specvi.commands"
PACKAGE = "specvi-bench"


class LazyCommand(TyperCommand):
    """A command known by its entry point only; the first call imports it.

    ``members`` are entry points with a dotted name that extend it when it is a group.
    """

    def __init__(self, name: str, point: EntryPoint, members: Sequence[EntryPoint] = ()) -> None:
        missing = missing_packages(point)
        note = f" (needs [{','.join(point.extras)}])" if missing else ""
        super().__init__(name, help=escape(first_docstring_line(point.module) + note))
        self.point = point
        self.members = tuple(members)

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Load the real command and let it parse the arguments."""
        return self._real().make_context(info_name, args, parent=parent, **extra)

    def _real(self) -> Any:
        if missing := missing_packages(self.point):
            raise UserError(
                f"`specvi {self.point.name.replace('.', ' ')}` needs packages that are not installed",
                got=f"missing: {', '.join(missing)}",
                fix=f"pip install '{_distribution(self.point)}[{','.join(self.point.extras)}]'",
            )
        real = get_command(self.point.load())
        for member in self.members:
            if not isinstance(real, TyperGroup):
                raise TypeError(f"{member.name} extends {self.point.name}, which is not a group")
            child = member.name.split(".", 1)[1]
            real.add_command(LazyCommand(child, member), child)
        return real


def root_group(points: Iterable[EntryPoint] | None = None) -> TyperGroup:
    """Return the `specvi` command with every installed command under it, none of them imported."""
    known = sorted(entry_points(group=GROUP) if points is None else points, key=lambda point: point.name)
    members: dict[str, list[EntryPoint]] = {}
    for point in known:
        if "." in point.name:
            members.setdefault(point.name.split(".", 1)[0], []).append(point)
    commands: dict[str, Any] = {
        point.name: LazyCommand(point.name, point, members.pop(point.name, ()))
        for point in known
        if "." not in point.name
    }
    for name, children in members.items():  # a group that no package owns: its members make it
        stubs: dict[str, Any] = {
            child.name.split(".", 1)[1]: LazyCommand(child.name.split(".", 1)[1], child) for child in children
        }
        commands[name] = TyperGroup(
            name=name, commands=stubs, no_args_is_help=True, help=f"Group: {', '.join(stubs)}."
        )
    return TyperGroup(
        name="specvi",
        commands=dict(sorted(commands.items())),
        no_args_is_help=True,
        help="Score, train and publish systems that vet candidates for rare objects in survey spectra.",
        epilog="specvi --version prints the version.",
    )


def missing_packages(point: EntryPoint) -> list[str]:
    """Return the requirements of the entry point's extras that are not installed."""
    if not point.extras or point.dist is None:
        return []
    declared = [Requirement(text) for text in point.dist.requires or []]
    wanted = [
        requirement
        for requirement in declared
        if requirement.marker and any(requirement.marker.evaluate({"extra": extra}) for extra in point.extras)
    ]
    return [requirement.name for requirement in wanted if not _is_installed(requirement.name)]


def first_docstring_line(module: str) -> str:
    """Return the first line of a module's docstring from its source, without importing anything."""
    package, *inside = module.split(".")
    found = find_spec(package)  # finding a top-level name imports nothing, and knows editable installs too
    for depth in range(1, len(inside) + 1):
        folders = found.submodule_search_locations if found else None
        found = PathFinder.find_spec(".".join((package, *inside[:depth])), folders or [])
    if found is None or found.origin is None:
        return ""
    tree = ast.parse(Path(found.origin).read_text(encoding="utf-8"))
    return (ast.get_docstring(tree) or "").split("\n", 1)[0]


def _distribution(point: EntryPoint) -> str:
    return point.dist.name if point.dist else PACKAGE


def _is_installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True
