"""Is what a system says about a spectrum there, and did it look? Claims from text, each tested in flux."""

from specvi_benchmark.evidence.claims import EXTRACTOR_VERSION, Claim, extract_claims
from specvi_benchmark.evidence.decisive import DECISIVE, Decisive
from specvi_benchmark.evidence.features import Feature, Place, get_feature
from specvi_benchmark.evidence.measure import MEASURE_VERSION, Light, Tested, check_claim, measure_light

__all__ = [
    "DECISIVE",
    "EXTRACTOR_VERSION",
    "MEASURE_VERSION",
    "Claim",
    "Decisive",
    "Feature",
    "Light",
    "Place",
    "Tested",
    "check_claim",
    "extract_claims",
    "get_feature",
    "measure_light",
]
