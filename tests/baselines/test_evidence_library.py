"""The test in flux on labelled library spectra: what astronomers see in real stars is found, and what they do not is not."""

import pytest

from specvi_benchmark.evidence.features import get_feature
from specvi_benchmark.evidence.measure import check_claim, measure_light

THERE = [
    ("CS", "C2", "band", 1.0),
    ("SS", "ZrO", "band", 0.8),
    ("SS", "TiO", "band", 0.8),
    ("MG", "TiO 7054", "band", 0.95),
    ("MG", "TiO", "band", 0.95),
    ("MD", "TiO", "band", 0.95),
    ("A", "Hβ", "absorption", 0.95),
    ("B", "He I", "absorption", 0.8),
    ("O", "He II", "absorption", 0.8),
    ("G", "Hα", "absorption", 0.9),
    ("BE", "Hα", "emission", 1.0),
]
NOT_THERE = [
    ("MG", "C2", "band", 0.0),
    ("MD", "C2", "band", 0.0),
    ("K", "C2", "band", 0.0),
    ("G", "C2", "band", 0.0),
    ("K", "TiO 7054", "band", 0.0),
    ("G", "TiO", "band", 0.1),
    ("K", "ZrO 6474", "band", 0.0),
    ("MD", "ZrO 6474", "band", 0.0),
    ("MG", "ZrO 6474", "band", 0.25),  # M giants have a slope there: docs/evidence.md says so
    ("GKG", "Hα", "emission", 0.0),
    ("G", "Hα", "emission", 0.0),
    ("A", "He I 4473", "absorption", 0.0),
    ("B", "He II 4687", "absorption", 0.05),
    ("WD", "C2", "band", 0.0),
]


@pytest.fixture(scope="module")
def lights(library):
    classes = {name for name, *_ in THERE + NOT_THERE}
    return [
        (row["class_key"], measure_light(spectrum))
        for row, spectrum in library
        if row["class_key"] in classes
    ]


def share(lights, wanted: str, feature: str, kind: str) -> float:
    outcomes = [
        check_claim(light, get_feature(feature), kind).outcome for key, light in lights if key == wanted
    ]
    tested = [outcome for outcome in outcomes if outcome != "not testable"]
    assert tested
    return sum(outcome == "found" for outcome in tested) / len(tested)


@pytest.mark.parametrize(("name", "feature", "kind", "least"), THERE)
def test_what_is_there_is_found(lights, name: str, feature: str, kind: str, least: float) -> None:
    assert share(lights, name, feature, kind) >= least


@pytest.mark.parametrize(("name", "feature", "kind", "most"), NOT_THERE)
def test_what_is_not_there_is_not_found(lights, name: str, feature: str, kind: str, most: float) -> None:
    assert share(lights, name, feature, kind) <= most
