"""The benchmark of realism: features, counting, the command and its contact sheet."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from specvi_benchmark.cli.bench_realism import app
from specvi_benchmark.realism import assess
from specvi_benchmark.realism.judge import classes, simulate
from specvi_benchmark.realism.labels import Label
from specvi_benchmark.realism.table import measure, range_of
from specvi_benchmark.simulator import KINDS, Rates, make_source, observe, wavelengths

LABELS = Path(__file__).parent / "realism_labels"
HEADER = "path,class,object,origin,source,medium\n"


def test_every_class_is_made_of_kinds_that_exist():
    named = {kind for members in classes().values() for kind in members}
    assert named <= set(KINDS)


def test_simulated_spectra_do_not_hang_on_how_many_are_asked_for():
    few, more = simulate(2, 5), simulate(3, 5)
    for name in classes():
        assert (few.flux[few.classes == name] == more.flux[more.classes == name][:2]).all()


def flat(n: int = 1) -> np.ndarray:
    return np.ones((n, wavelengths().size))


def test_features_do_not_know_the_unit():
    simulated = simulate(1, 1)
    values = measure(simulated.flux, simulated.bad).values
    scaled = measure(simulated.flux * 1e-15, simulated.bad).values
    assert scaled == pytest.approx(values, rel=1e-5, abs=1e-5, nan_ok=True)


def test_a_flat_spectrum_has_no_features():
    table = measure(flat(), np.zeros(flat().shape, dtype=bool))
    named = dict(zip(table.names, table.values[0], strict=True))
    assert all(abs(value) < 1e-6 for name, value in named.items() if name != "bins of the peak")


def test_the_peak_is_found_wherever_it_is_and_broad_ones_are_broad():
    grid, bad = wavelengths(), np.zeros((4, wavelengths().size), dtype=bool)
    lines = [(4500, 300), (7000, 300), (4500, 3000), (7000, 3000)]
    flux = np.array([1 + 3 * np.exp(-0.5 * ((grid / c - 1) * 299792 / v) ** 2) for c, v in lines])
    table = measure(flux, bad)
    highest = table.values[:, table.names.index("bins 100 %")]
    wide = np.exp(table.values[:, table.names.index("bins of the peak")])
    assert highest[2] == pytest.approx(highest[3], rel=0.1)
    assert wide[2:].min() > 2 * wide[:2].max()


def test_features_beyond_the_range_are_not_measured():
    grid = wavelengths()
    bad = np.zeros((2, grid.size), dtype=bool)
    flux = flat(2)
    flux[1, grid > 7400] = 50.0
    first, second = measure(flux, bad, 7380.0).values
    assert first == pytest.approx(second, nan_ok=True)


@pytest.mark.parametrize(
    ("first", "last", "name"),
    [
        (3541, 7409, "blue"),
        (3700, 9100, "whole"),
        (3800, 9200, "whole"),
        (5300, 9100, None),
        (3700, 6000, None),
    ],
)
def test_the_range_is_that_which_is_covered(first, last, name):
    grid = wavelengths()
    assert range_of((grid < first) | (grid > last)) == name


def label(name: str, object_: str, origin: str = "survey") -> Label:
    return Label(
        Path(f"{object_}.csv"), frozenset(name.split("|")), object_, origin, "test", None, None, 0.0, None
    )


def test_objects_are_counted_not_spectra():
    calls = [
        # One object seen three times, twice called rightly; four others, of which one is called wrongly.
        assess.Call(label("cv", "a"), "cv", 0.9), assess.Call(label("cv", "a"), "cv", 0.9),
        assess.Call(label("cv", "a"), "b-star", 0.9),
        *(assess.Call(label("cv", name), "cv", 0.9) for name in "bcd"),
        assess.Call(label("cv", "e"), "quasar", 0.4),
        assess.Call(label("a-star|b-star", "f"), "b-star", 0.8),
    ]  # fmt: skip
    listed = [call.label for call in calls]
    result = assess.summarise(calls, [], "survey", listed)
    open_, cv = result.classes
    assert (cv.class_name, cv.objects, cv.spectra, cv.counts) == ("cv", 5, 7, True)
    assert cv.recall.value == pytest.approx((2 / 3 + 3) / 5)
    assert cv.recall.low < 0.5
    assert cv.recall.high > 0.9
    assert cv.called == {"cv": 5, "b-star": 1, "quasar": 1}
    assert (open_.recall.value, open_.counts) == (1.0, False)
    assert result.balanced_accuracy.value == pytest.approx(cv.recall.value)
    assert (result.objects, result.classes_counted) == (6, 1)


def test_a_perfect_class_has_a_jeffreys_interval():
    calls = [assess.Call(label("cv", str(number)), "cv", 1.0) for number in range(10)]
    recall = assess.summarise(calls, [], "survey", [call.label for call in calls]).classes[0].recall
    # Beta(10.5, 0.5) has its 2.5 % point at 0.783 (scipy.stats.beta.ppf); the widening ends it at 1.
    assert recall.low == pytest.approx(0.783, abs=0.01)
    assert recall.high == 1.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of clean 'library' spectra, made from the simulator itself, with its labels."""
    folder = tmp_path_factory.mktemp("library")
    rows = []
    for kind, name in (("m-giant", "m-giant"), ("a-star", "a-star"), ("quasar", "quasar")):
        for number in range(6):
            rng = np.random.default_rng([9, number])
            seen = observe(make_source(kind, rng), 100.0, rng, Rates.none())
            lines = [f"{w:.4f},{f:.6g}" for w, f in zip(wavelengths(), seen.flux, strict=True)]
            (folder / f"{kind}{number}.csv").write_text("wavelength,flux\n" + "\n".join(lines) + "\n")
            rows.append(f"{kind}{number}.csv,{name},{kind} {number},library,the simulator,vacuum\n")
    rows.append("quasar0.csv,brown-dwarf,nobody,library,a lie,vacuum\n".replace("quasar0", "extra"))
    (folder / "extra.csv").write_text((folder / "quasar0.csv").read_text())
    (folder / "labels.csv").write_text(HEADER + "".join(rows))
    return folder


@pytest.mark.slow
def test_the_command_judges_counts_and_draws(folder, tmp_path):
    sheet = tmp_path / "sheet.png"
    options = [str(folder), "--per-class", "10", "--json"]
    run = CliRunner().invoke(app, [*options, "--sheet", str(sheet), "--pairs", "2"])
    assert run.exit_code == 0, run.output
    said = json.loads(run.stdout)
    (library,) = said["origins"]
    assert (library["origin"], library["objects"], library["classes_counted"]) == ("library", 18, 3)
    assert library["not_judged"] == {"no simulated kind stands for the class": {"brown-dwarf": 1}}
    assert library["balanced_accuracy"]["value"] > 0.7
    assert len(said["calls"]) == 18
    with Image.open(sheet) as picture:
        # Three classes of two pairs, two pairs in a row.
        assert picture.size == (2 * (2 * 420 + 16) + 8, 3 * (190 + 18 + 8) + 8)
        assert len(picture.getcolors() or []) > 3
    half = json.loads(CliRunner().invoke(app, [*options, "--half", "held-out"]).stdout)
    assert half["origins"][0]["objects"] == 9
    # The same spectra are called the same with the same probability, whatever else is judged.
    assert [call for call in said["calls"] if call in half["calls"]] == half["calls"]


def test_a_folder_without_labels_is_told(tmp_path):
    run = CliRunner().invoke(app, [str(tmp_path)])
    assert "labels.csv" in str(run.exception)


@pytest.mark.slow
def test_real_spectra_are_told_apart_by_what_simulated_ones_teach(shared_data):
    """A floor well below the published figures: it tells a broken simulator, not an unlucky seed."""
    lists = [str(LABELS / name) for name in ("library.csv", "survey.csv")]
    run = CliRunner().invoke(
        app,
        [str(shared_data / "library"), str(shared_data / "real"), "--labels", lists[0], "--labels", lists[1],
         "--per-class", "60", "--json"],
    )  # fmt: skip
    assert run.exit_code == 0, run.output
    library, survey = json.loads(run.stdout)["origins"]
    assert library["objects"] > 200
    assert survey["objects"] > 70
    assert library["balanced_accuracy"]["value"] > 0.7
    assert survey["balanced_accuracy"]["value"] > 0.65
