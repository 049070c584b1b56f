"""The figures in docs/scripted.md: counts on SpecVI-Mini and on the library, beside those of `rules`.

``pytest -s tests/agents/test_agents_scripted_figures.py`` prints the tables anew. Nothing is drawn here: a
conversation that clips windows as the tool does stands in for the environment.
"""

import csv
import importlib.util
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from specvi_agents.scripted.inspection import Inspection
from specvi_agents.scripted.vetter import SCRIPTS, inspect
from specvi_baselines.rules import create
from specvi_benchmark.features import choose_shift
from specvi_benchmark.simulator import make_source, observe, wavelengths
from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.splits.named import find_split
from specvi_benchmark.surveys import read_spectra
from specvi_benchmark.tasks import TASK_KEYS, get_task
from specvi_benchmark.vetting import Question

REPOSITORY = Path(__file__).resolve().parents[2]
CELLS = ("TP", "FN", "FP", "TN")


def module(name: str):
    """Return what the tests of `rules` share: the library's reader, and its labels."""
    spec = importlib.util.spec_from_file_location(name, REPOSITORY / "tests" / "baselines" / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


class Undrawn:
    """Shows windows without drawing them."""

    def __init__(self, question: Question) -> None:
        self.spectrum = question.spectrum
        self.redshift = choose_shift(question.redshift, question.task.frame).redshift
        self.calls_left = 8
        low, high = question.spectrum.range_AA
        self.full_AA = (low / (1 + self.redshift), high / (1 + self.redshift))

    def zoom(self, thought, window_AA, label):  # noqa: ARG002  # the protocol names them
        self.calls_left -= 1
        low, high = max(window_AA[0], self.full_AA[0]), min(window_AA[1], self.full_AA[1])
        stretch = 1 + self.redshift
        inside = self.spectrum.window(low * stretch, high * stretch)
        return (low, high) if self.spectrum.good[inside].any() else None


def answer(question: Question) -> str:
    return SCRIPTS[question.task.key](Inspection(question, Undrawn(question))).answer


def cell(said: str, truth: bool) -> str:
    return ("TP" if said == "YES" else "FN") if truth else ("FP" if said == "YES" else "TN")


def check(setting: str, ours: dict[str, Counter], rules: dict[str, list[int]]) -> None:
    found = {task: [*(ours[task][name] for name in CELLS), *rules[task]] for task in ours}
    rows = [f"| `{task}` | {' | '.join(map(str, cells))} |" for task, cells in found.items()]
    print("", f"**{setting}**", *rows, sep="\n")  # noqa: T201  # the table for the page, shown with -s
    page = (REPOSITORY / "docs" / "scripted.md").read_text(encoding="utf-8")
    section = page.split(f"**{setting}**", 1)[1].split("**", 1)[0]
    stated = re.findall(r"^\| `(\w+)` \|((?: \d+ \|){8})$", section, re.MULTILINE)
    assert found == {task: [int(number) for number in numbers.split(" |")[:-1]] for task, numbers in stated}


def test_undrawn_is_answered_as_drawn():
    rng = np.random.default_rng(6)
    for kind in ("cv-quiescent", "cv-polar", "be-star", "active-m-dwarf"):
        seen = observe(make_source(kind, rng), 15.0, rng)
        spectrum = Spectrum(wavelengths(), seen.flux, seen.ivar, seen.mask)
        question = Question(kind, get_task("cv"), spectrum)
        assert answer(question) == inspect(question).answer


@pytest.mark.slow
def test_on_mini():
    ours: dict[str, Counter] = {}
    rules: dict[str, Counter] = {}
    test = find_split("mini").select(part="test").candidates
    candidates = [candidate for candidate in test if candidate.track == candidate.task.track]
    verdicts = create(None, {}).vet([candidate.question for candidate in candidates])
    for candidate, verdict in zip(candidates, verdicts, strict=True):
        truth, task = candidate.truth == "YES", candidate.task.key
        ours.setdefault(task, Counter())[cell(answer(candidate.question), truth)] += 1
        rules.setdefault(task, Counter())[cell(verdict.answer, truth)] += 1
    check(
        "SpecVI-Mini, test (simulated)",
        ours,
        {task: [counts[name] for name in CELLS] for task, counts in rules.items()},
    )


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "snr"), [("As stored", None), ("S/N 10", 10)])
def test_on_the_library(shared_data, setting, snr):
    helpers, baseline = vars(module("conftest")), module("test_rules_library")
    observe = helpers["as_lamost"]._get_wrapped_function()()
    rng = np.random.default_rng(0)
    ours = {task: Counter() for task in TASK_KEYS}
    for row in csv.DictReader((shared_data / "library/labels.csv").read_text().splitlines()):
        if row["verdict"] != "clear":
            continue
        redshifts = {"GAL": (0.03, 0.1), "QSO": (0.1, 0.3, 0.6, 1.2, 2.2, 3.2)}.get(row["class_key"], (0.0,))
        for redshift in redshifts:
            path = shared_data / "library" / row["file"]
            spectrum = helpers["library_spectrum"](path, row["wavelength"].split()[0], redshift)
            if snr:
                spectrum = observe(spectrum, snr, rng, velocity_kms=60 * rng.normal())
            for task in TASK_KEYS:
                if (truth := baseline.label(row, task)) is not None:
                    ours[task][cell(answer(Question("q", get_task(task), spectrum)), truth)] += 1
    check(setting, ours, baseline.stated(setting))


@pytest.mark.slow
def test_on_real_files_no_star_or_galaxy_is_called_something_rare(shared_data):
    folders = module("test_rules_real").FOLDERS
    left_out = ("redrock-", "zbest-", "spPlate-")
    alarms, missed, quasars = [], [], 0
    for path in (path for one in folders for path in sorted(shared_data.glob(f"real/{one}/*"))):
        if not path.is_file() or path.name.startswith(left_out):
            continue
        for spectrum in read_spectra(path).spectra:
            asked = {t: Question("q", get_task(t), spectrum, spectrum.claims.redshift) for t in TASK_KEYS}
            is_quasar = spectrum.claims.object_class == "QSO"
            quasars += is_quasar
            alarms += [
                (path.name, task)
                for task in ("cv", "cs", "ss", "wd", *(() if is_quasar else ("qso",)))
                if answer(asked[task]) == "YES"
            ]
            missed += [path.name] if is_quasar and answer(asked["qso"]) == "NO" else []
    assert alarms == [("spec-0266-51602-0031.fits", "wd"), ("coadd-mws-66003-20200315-wd.fits", "wd")]
    assert (quasars, missed) == (
        15,
        ["Mrk477.fits", "spec-10000-57346-0002.fits", "spec-5400-56308-0220.fits"],
    )
