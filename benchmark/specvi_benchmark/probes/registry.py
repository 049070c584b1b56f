"""The registry of probes: each file in `kinds/` is found, and those of other packages by entry point.

A file of probes is a module that defines ``PROBES``, a tuple. Another package offers its own under the entry-point
group ``specvi.probes``, each pointing at such a tuple.
"""

import pkgutil
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from specvi_benchmark.errors import UserError
from specvi_benchmark.probes import kinds
from specvi_benchmark.probes.probe import PLAIN, Probe

GROUP = "specvi.probes"


@cache
def all_probes() -> tuple[Probe, ...]:
    """Return every probe: the built-in ones file by file, then those of other packages.

    Raises
    ------
    UserError
        Two probes have one name, or one is compared with a probe that does not exist.
    """
    modules = (
        import_module(f"{kinds.__name__}.{info.name}") for info in pkgutil.iter_modules(kinds.__path__)
    )
    found: list[Probe] = [probe for module in modules for probe in module.PROBES]
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        found += point.load()
    names = [probe.name for probe in found]
    doubled = sorted({name for name in names if names.count(name) > 1 or name == PLAIN})
    if doubled:
        raise UserError("two probes have one name", got=", ".join(doubled), fix="rename one of them")
    lost = sorted({other for probe in found for other in probe.against} - {PLAIN, *names})
    if lost:
        raise UserError("a probe is compared with one that does not exist", got=", ".join(lost))
    return tuple(found)


def choose_probes(names: Sequence[str]) -> tuple[Probe, ...]:
    """Return the probes of these names, and those they are compared with; all of them where none is named.

    Raises
    ------
    UserError
        No probe has that name.
    """
    known = {probe.name: probe for probe in all_probes()}
    strange = [name for name in names if name not in known]
    if strange:
        raise UserError(
            "no such probe",
            where=f"--probe {strange[0]}",
            expected=f"one of {', '.join(known)}",
            fix="`specvi probe --list` says what each one does",
        )
    wanted = set(names or known)
    while more := {other for name in wanted for other in known[name].against} - {PLAIN} - wanted:
        wanted |= more
    return tuple(probe for probe in known.values() if probe.name in wanted)
