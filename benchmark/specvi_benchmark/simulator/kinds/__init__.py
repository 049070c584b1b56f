"""Every kind of object the simulator knows, found by name."""

from specvi_benchmark.simulator.kinds import cool, cv, hot
from specvi_benchmark.simulator.kinds.kind import Kind

KINDS: dict[str, Kind] = {kind.name: kind for kind in (*cool.KINDS, *hot.KINDS, *cv.KINDS)}

__all__ = ["KINDS", "Kind"]
