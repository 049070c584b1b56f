"""Everything that goes wrong between sky and file. Each module here that defines ``ARTEFACTS`` is found by itself."""

from specvi_benchmark.simulator.artefacts.artefact import Artefact, Stage, Visit
from specvi_benchmark.simulator.artefacts.rates import Rates, all_artefacts

__all__ = ["Artefact", "Rates", "Stage", "Visit", "all_artefacts"]
