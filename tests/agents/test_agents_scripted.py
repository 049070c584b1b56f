"""The scripted inspector: what it says stands in the windows it zoomed to, and nowhere else."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specvi_agents.environment import EnvironmentOptions
from specvi_agents.rereading import reread_reward
from specvi_agents.scripted import Scripted, create, inspect
from specvi_agents.scripted.seen import see
from specvi_benchmark.errors import UserError
from specvi_benchmark.lines import all_bands, all_lines
from specvi_benchmark.simulator import make_source, observe, wavelengths
from specvi_benchmark.spectrum import Spectrum, clean_spectrum
from specvi_benchmark.tasks import TASK_KEYS, get_task
from specvi_benchmark.traces import Trace, Turn
from specvi_benchmark.vetting import Outcome, Question, Verdict, load_vetter
from specvi_benchmark.views import ViewOptions

# (kind of object, task it is asked about, the answer)
OBJECTS = (
    ("cv-quiescent", "cv", "YES"),
    ("active-m-dwarf", "cv", "NO"),
    ("be-star", "cv", "NO"),
    ("carbon-n", "cs", "YES"),
    ("k-giant", "cs", "NO"),
    ("wd-dq", "cs", "NO"),
    ("pure-s-star", "ss", "YES"),
    ("m-giant", "ss", "NO"),
    ("m-giant", "mg", "YES"),
    ("m-dwarf", "mg", "NO"),
    ("wd-da", "wd", "YES"),
    ("wd-db", "wd", "YES"),
    ("wd-dz", "wd", "YES"),
    ("a-star", "wd", "NO"),
    ("a-star", "b", "NO"),
    ("fg-star", "a", "NO"),
    ("fg-star", "o", "NO"),
    ("quasar", "qso", "YES"),
    ("m-dwarf", "qso", "NO"),
)

NAMES = {line.name: line.vacuum_AA for line in all_lines()} | {
    band.name: band.vacuum_AA for band in all_bands()
}
CLAIM = re.compile(
    r"(?:^|[.] (?:In its core, )?|<think>)"
    rf"(?P<name>{'|'.join(re.escape(name) for name in sorted(NAMES, key=len, reverse=True))})"
    r"(?: at (?P<at>\d+) Å)?(?P<words> is (?:in|absent|present)|:)"
)


IN_FLUX = re.compile(
    rf"{CLAIM.pattern.split('(?: at')[0]} is in (?P<kind>emission|absorption): EW (?P<width>[\d.]+)"
)


def simulated(kind: str, snr: float = 60.0, seed: int = 5) -> Spectrum:
    rng = np.random.default_rng(seed)
    seen = observe(make_source(kind, rng, snr), snr, rng)
    return Spectrum(wavelengths(), seen.flux, seen.ivar, seen.mask, survey="lamost", name=f"{kind} {seed}")


@cache
def inspected(kind: str, task: str, snr: float = 60.0, seed: int = 5) -> Verdict:
    return inspect(Question(kind, get_task(task), simulated(kind, snr, seed)))


def words(verdict: Verdict) -> list[str]:
    (trace,) = verdict.traces
    return [turn.text for turn in trace.turns if turn.role == "assistant"]


def claims(trace: Trace) -> Iterator[tuple[str, float, bool, list[tuple[float, float]]]]:
    """Yield every statement on a feature: name, place, whether it is there, the windows zoomed to so far."""
    zooms: list[tuple[float, float]] = []
    for turn in trace.turns:
        if turn.role == "tool":
            zooms += [view.window_AA for view in turn.views]
        elif turn.role == "assistant":
            thought = turn.text.split("</think>")[0]
            for found in CLAIM.finditer(thought):
                place = float(found["at"]) if found["at"] else NAMES[found["name"]]
                yield found["name"], place, found["words"] in (" is in", " is present"), list(zooms)


@pytest.mark.parametrize(("kind", "task", "answer"), OBJECTS)
def test_clear_cases_are_right_in_the_agents_format(kind, task, answer):
    verdict = inspected(kind, task)
    assert (verdict.answer, verdict.outcome) == (answer, Outcome.ANSWERED), words(verdict)[-1]
    (trace,) = verdict.traces
    assert reread_reward(trace.record(task, kind), answer) == 1.0
    assert verdict.tool_calls == sum(turn.role == "tool" for turn in trace.turns) <= 8
    assert verdict.p_yes is None
    assert verdict.cost_usd == 0


# Their answers are tested on real stars: the simulated Balmer series of A and B stars ends early.
ALSO_LOOKED_AT = (
    ("b-star", "b"),
    ("a-star", "a"),
    ("subdwarf-o", "o"),
    ("cv-outburst", "cv"),
    ("quasar", "cv"),
)


@pytest.mark.parametrize(("kind", "task"), [*((kind, task) for kind, task, _ in OBJECTS), *ALSO_LOOKED_AT])
@pytest.mark.parametrize("snr", [60.0, 8.0])
def test_what_it_names_stands_in_the_windows_it_zoomed_to(kind, task, snr):
    verdict = inspected(kind, task, snr)
    (trace,) = verdict.traces
    said = list(claims(trace))
    assert said, words(verdict)
    for name, place, _, zooms in said:
        shown = zooms if task == "qso" else zooms[-1:]
        assert any(low <= place <= high for low, high in shown), (name, place, zooms)


@pytest.mark.parametrize(("kind", "task"), [("cv-quiescent", "cv"), ("wd-da", "wd"), ("b-star", "b")])
def test_lines_it_sees_are_in_the_flux(kind, task):
    # Flux within 5 Å of the place against the median of the window, without any of its own code.
    spectrum = simulated(kind)
    (trace,) = inspected(kind, task).traces
    strong = [
        (found["name"], NAMES[found["name"]], found["kind"])
        for turn in trace.turns
        if turn.role == "assistant"
        for found in IN_FLUX.finditer(turn.text)
        if float(found["width"]) >= 2
    ]
    assert len(strong) >= 2
    for name, place, text in strong:
        line = spectrum.flux[spectrum.window(place - 5, place + 5)].mean()
        around = np.concatenate(
            [spectrum.flux[spectrum.window(place + a, place + b)] for a, b in ((-90, -45), (45, 90))]
        )
        assert (line > np.median(around)) == (text == "emission"), (name, line, np.median(around))


@pytest.mark.parametrize(
    ("kind", "task", "name", "rises"),
    [("carbon-n", "cs", "C2 5165", True), ("m-giant", "mg", "TiO 7054", False)],
)
def test_bands_it_sees_go_the_way_it_says(kind, task, name, rises):
    spectrum = simulated(kind)
    text = " ".join(words(inspected(kind, task)))
    assert f"{name} is present: the flux {'rises' if rises else 'falls'} by" in text
    head = NAMES[name]
    blue, red = (spectrum.flux[spectrum.window(head + a, head + b)].mean() for a, b in ((-30, -6), (6, 30)))
    assert (red > blue) == rises


def test_pixels_outside_a_window_do_not_enter():
    spectrum = simulated("cv-quiescent")
    window = (6400.0, 6740.0)
    outside = (spectrum.wavelength_AA < window[0]) | (spectrum.wavelength_AA > window[1])
    other = replace(
        spectrum,
        flux=np.where(outside, -1e6, spectrum.flux),
        ivar=np.where(outside, 1e9, spectrum.ivar),
        mask=spectrum.mask | (outside & (spectrum.wavelength_AA > 8000)),
    )
    mine, theirs = (see(one, 0.0, [window]) for one in (spectrum, other))
    assert mine is not None
    assert theirs is not None
    for name in ("wavelength_AA", "flux", "sigma", "width_AA"):
        np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name))
    assert mine.wavelength_AA[0] >= window[0]
    assert mine.wavelength_AA[-1] <= window[1]


def test_what_it_never_looked_at_changes_nothing_it_says():
    # The median S/N of the full view and its colour are read off the full view, the rest off the zooms.
    spectrum = simulated("k-giant")
    question = Question("one", get_task("cs"), spectrum)
    before = inspect(question)
    windows = [
        view.window_AA for turn in before.traces[0].turns if turn.role == "tool" for view in turn.views
    ]
    wavelength = spectrum.wavelength_AA
    kept = np.zeros(wavelength.size, bool)
    for low, high in (*windows, (4500, 4600), (6600, 6700)):
        kept |= (wavelength >= low) & (wavelength <= high)
    flux = np.where(kept, spectrum.flux, 1.01 * spectrum.flux)
    after = inspect(replace_spectrum(question, replace(spectrum, flux=flux)))
    assert 0.2 < kept.mean() < 0.8
    assert words(after)[1:] == words(before)[1:]
    assert (flux != spectrum.flux).any()


def replace_spectrum(question: Question, spectrum: Spectrum) -> Question:
    return replace(question, spectrum=spectrum)


def test_same_question_same_words_and_pictures():
    question = Question("one", get_task("wd"), simulated("wd-da", 12.0))
    first, second = inspect(question), inspect(question)

    def without_time(turn: Turn) -> Turn:
        return turn.model_copy(update={"seconds": None})

    (one,), (two,) = first.traces, second.traces
    assert list(map(without_time, one.turns)) == list(map(without_time, two.turns))
    assert one.pictures == two.pictures
    assert replace(first, traces=()) == replace(second, traces=())


@pytest.mark.parametrize("task", TASK_KEYS)
def test_masked_windows_cannot_be_seen(task):
    spectrum = simulated("quasar" if task == "qso" else "cv-quiescent")
    question = Question("one", get_task(task), spectrum)
    mask = spectrum.mask.copy()
    mask[(spectrum.wavelength_AA > 3800) & (spectrum.wavelength_AA < 8900)] = True
    verdict = inspect(replace_spectrum(question, replace(spectrum, mask=mask)))
    assert verdict.answer == "NO"
    assert verdict.tool_calls <= 8
    text = " ".join(words(verdict))
    assert "cannot be seen" in text
    assert not re.search(r" is in (emission|absorption)| is present| is absent", text)


def test_windows_outside_the_data_cost_no_call():
    spectrum = simulated("cv-quiescent")
    kept = spectrum.wavelength_AA < 5200
    cut = clean_spectrum(spectrum.wavelength_AA[kept], spectrum.flux[kept], spectrum.ivar[kept])
    verdict = inspect(Question("one", get_task("cv"), cut))
    text = " ".join(words(verdict))
    assert "The window of Hα lies outside the data." in text
    assert "Hβ is in emission" in text
    assert all(turn.views for turn in verdict.traces[0].turns if turn.role == "tool")


def test_two_peaks_are_told_from_one():
    wavelength = wavelengths()
    velocity = 299_792.458 * (wavelength / 6564.61 - 1)

    def with_profile(profile: np.ndarray) -> str:
        rng = np.random.default_rng(0)
        flux = 100 * (1 + profile) + rng.normal(0, 2, wavelength.size)
        spectrum = clean_spectrum(wavelength, flux, np.full(wavelength.size, 0.25), survey="lamost")
        return " ".join(words(inspect(Question("one", get_task("cv"), spectrum))))

    double = sum(np.exp(-0.5 * ((velocity - shift) / 250) ** 2) for shift in (-450, 450))
    apart = re.search(r"two peaks (\d+) km/s apart", with_profile(double))
    assert apart
    assert 700 <= int(apart[1]) <= 1100
    assert "two peaks" not in with_profile(1.5 * np.exp(-0.5 * (velocity / 600) ** 2))


def test_a_star_in_the_frame_of_a_wrong_redshift_is_still_seen():
    # The released style divides out whatever redshift there is; the windows are translated.
    spectrum = simulated("cv-quiescent")
    released = EnvironmentOptions(view=ViewOptions(style="spec-o3"))
    question = Question("one", get_task("cv"), spectrum, redshift=0.31)
    verdict = inspect(question, released)
    assert verdict.answer == "YES"
    first = next(turn for turn in verdict.traces[0].turns if turn.role == "tool")
    low, high = first.views[0].window_AA
    assert low < 6564.61 / 1.31 < high


@pytest.mark.parametrize(
    ("options", "calls"),
    [
        ({"dialect": "hermes"}, 8),
        ({"profile": "released-code"}, 7),
        ({"tool": "off"}, 0),
        ({"prompt": "official"}, 8),
    ],
)
def test_every_environment(options, calls):
    vetter = create(None, options)
    question = Question("one", get_task("cv"), simulated("cv-quiescent"))
    (verdict,) = vetter.vet([question])
    assert verdict.outcome is Outcome.ANSWERED
    assert verdict.tool_calls == calls
    assert vetter.config["environment"] == dict(vetter.environment.config)
    assert verdict.answer == ("NO" if options.get("tool") == "off" else "YES")


def test_it_is_a_vetter_that_refuses_what_it_does_not_read():
    assert isinstance(load_vetter("scripted"), Scripted)
    with pytest.raises(UserError, match="takes no argument"):
        load_vetter("scripted:x")
    with pytest.raises(UserError, match="no such option"):
        load_vetter("scripted", {"votes": "3"})


@settings(max_examples=40)
@given(
    task=st.sampled_from(TASK_KEYS),
    seed=st.integers(0, 2**16),
    size=st.integers(2, 400),
    has_errors=st.booleans(),
    scale=st.sampled_from([0.0, 1e-18, 1.0, 1e30]),
    redshift=st.sampled_from([None, 0.0, 0.001, 2.5, -0.9]),
)
def test_any_spectrum_gets_an_answer(task, seed, size, has_errors, scale, redshift):
    rng = np.random.default_rng(seed)
    wavelength = np.sort(rng.uniform(1000, 11000, size)) + 1e-3 * np.arange(size)
    mask = rng.random(size) < 0.2
    mask[:2] = False
    ivar = rng.uniform(0.1, 10, size) if has_errors else np.zeros(size)
    spectrum = Spectrum(wavelength, scale * rng.normal(1, 1, size), ivar, mask)
    verdict = inspect(Question("one", get_task(task), spectrum, redshift))
    assert verdict.outcome is Outcome.ANSWERED
    assert verdict.tool_calls <= 8
