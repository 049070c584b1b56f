"""The same candidates, changed in one known way: how a system's answers move tells what it looks at."""

from specvi_benchmark.probes.probe import PROBE_VERSION, Probe
from specvi_benchmark.probes.registry import all_probes, choose_probes

__all__ = ["PROBE_VERSION", "Probe", "all_probes", "choose_probes"]
