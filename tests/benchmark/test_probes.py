"""Probes: what they change, that they tell nothing by themselves, and what is counted of the answers."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats

from specvi_benchmark.errors import UserError
from specvi_benchmark.features import measure_edge, measure_line, prepare
from specvi_benchmark.lines import all_bands, all_lines, get_band, get_line
from specvi_benchmark.probes import all_probes, choose_probes
from specvi_benchmark.probes.fill import fill, pixel_sigma
from specvi_benchmark.probes.moves import ALL_TASKS, move
from specvi_benchmark.probes.probe import PLAIN
from specvi_benchmark.probes.series import probed
from specvi_benchmark.probes.stretches import hidden_of, seen_stretches
from specvi_benchmark.runs.predictions import Prediction
from specvi_benchmark.spectrum import Spectrum, clean_spectrum
from specvi_benchmark.splits import Split
from specvi_benchmark.splits.split import candidate_seed
from specvi_benchmark.tasks import TASK_KEYS, all_tasks, get_task
from specvi_benchmark.vetting import Outcome, Question

WAVELENGTH = 3700.0 * 10 ** (1e-4 * np.arange(3909))
PROBES = {probe.name: probe for probe in all_probes()}


def spectrum_of(flux: np.ndarray, sigma: float = 1.0, **about: object) -> Spectrum:
    rng = np.random.default_rng(1)
    return clean_spectrum(
        WAVELENGTH,
        flux + rng.normal(0, sigma, WAVELENGTH.size),
        np.full(WAVELENGTH.size, sigma**-2),
        survey="lamost",
        **about,
    )


def balmer(strength: float = 60.0) -> np.ndarray:
    flux = np.full(WAVELENGTH.size, 50.0)
    for name in ("Hα", "Hβ", "Hγ", "Hδ"):
        centre = get_line(name).vacuum_AA
        flux += strength * np.exp(-0.5 * ((WAVELENGTH - centre) / (centre * 600 / 299_792)) ** 2)
    return flux


def asked(probe: str, question: Question, seed: int = 0) -> Question | None:
    return PROBES[probe].change(question, np.random.default_rng(candidate_seed(seed, question.id)))


def changed(probe: str, question: Question) -> Question:
    found = asked(probe, question)
    assert found is not None
    return found


@pytest.mark.parametrize("task", TASK_KEYS)
def test_control_hides_as_much_as_what_decides_and_nothing_of_it(task: str) -> None:
    hidden = hidden_of(task)
    decisive, control = ([one.range_AA for one in part] for part in (hidden.decisive, hidden.control))
    widths = [sum(high - low for low, high in part) for part in (decisive, control)]
    assert widths[1] == pytest.approx(widths[0], rel=0.05)
    assert all(low < high for low, high in decisive + control)
    for low, high in control:
        assert all(high < other_low or low > other_high for other_low, other_high in decisive)


@pytest.mark.parametrize(
    ("task", "species"),
    [
        ("cv", ("Hα", "Hβ", "Hγ", "Hδ", "He I", "He II", "N III", "C III")),
        ("wd", ("Hα", "Hβ", "Hγ", "Hδ", "He I", "He II")),
        ("o", ("He II",)),
        ("b", ("He I",)),
        ("a", ("Hα", "Hβ", "Hγ", "Hδ")),
        ("ss", ("ZrO",)),
        ("cs", ("C2 4737", "C2 5165", "C2 5636")),
    ],
)
def test_every_line_that_decides_is_hidden_and_none_by_the_control(
    task: str, species: tuple[str, ...]
) -> None:
    hidden = hidden_of(task)
    lines = [line.vacuum_AA for line in all_lines() if {line.ion, line.name} & set(species)]
    heads = [band.vacuum_AA for band in all_bands() if {band.species, band.name} & set(species)]
    places = [place for place in (*lines, *heads) if 3700 < place < 9100]
    assert len(places) >= len(species)
    for place in places:
        assert any(low < place < high for low, high in (one.range_AA for one in hidden.decisive)), place
        assert not any(low < place < high for low, high in (one.range_AA for one in hidden.control)), place


@pytest.mark.parametrize("task", TASK_KEYS)
@pytest.mark.parametrize("range_AA", [(3690, 9100), (3800, 7000), (4000, 8900), (3600, 10400)])
@pytest.mark.parametrize("redshift", [0.3, 1.35, 2.35])
def test_within_any_range_the_control_is_no_wider_and_little_narrower(
    task: str, range_AA: tuple[float, float], redshift: float
) -> None:
    wavelength = np.linspace(*range_AA, 3000)
    question = Question("q", get_task(task), clean_spectrum(wavelength, np.ones(3000)), redshift)
    if (found := seen_stretches(question)) is None:
        assert range_AA == (3800, 7000) or task == "qso"
        return
    decisive, control = (
        sum(min(high, range_AA[1]) - max(low, range_AA[0]) for low, high in part) for part in found
    )
    assert 0.7 * decisive <= control <= decisive * (1 + 1e-9)


@pytest.mark.parametrize("task", TASK_KEYS)
def test_named_features_lie_in_their_stretches(task: str) -> None:
    for one in (*hidden_of(task).decisive, *hidden_of(task).control):
        for name in filter(None, one.features.split(", ")):
            try:
                place = get_line(name).vacuum_AA
            except UserError:
                place = get_band(name).vacuum_AA
            assert one.range_AA[0] <= place <= one.range_AA[1], (name, one.range_AA)


@pytest.mark.parametrize("task", TASK_KEYS)
def test_what_is_hidden_depends_on_nothing_but_task_redshift_and_range(task: str) -> None:
    one, other = (
        Question("q", get_task(task), spectrum_of(flux), 0.001) for flux in (balmer(), np.full(3909, 7.0))
    )
    if task == "qso":
        one, other = replace(one, redshift=0.5), replace(other, redshift=0.5)
    assert seen_stretches(one) == seen_stretches(other)


def test_a_quasar_without_redshift_has_no_place_to_hide_and_is_left_out() -> None:
    question = Question("q", get_task("qso"), spectrum_of(balmer()))
    assert asked("masked", question) is None
    assert asked("control", question) is None


def test_stretches_follow_a_star_but_no_wrong_redshift() -> None:
    question = Question("q", get_task("cv"), spectrum_of(balmer()))
    (rest, _), (moved, _), (wrong, _) = (
        seen_stretches(replace(question, redshift=z)) for z in (None, 0.002, 0.7)
    )
    assert np.allclose(np.array(moved), np.array(rest) * 1.002)
    assert wrong == rest


def test_masked_lines_are_gone_and_noise_is_as_stated() -> None:
    question = Question("q", get_task("cv"), spectrum_of(balmer()))
    before = prepare(question.spectrum)
    after = prepare(changed("masked", question).spectrum)
    for name in ("Hα", "Hβ", "Hγ", "Hδ"):
        centre = get_line(name).vacuum_AA
        seen, gone = (measure_line(one, centre, 2500) for one in (before, after))
        assert seen is not None
        assert gone is not None
        assert seen.significance > 50
        assert abs(gone.significance) < 4
    part = question.spectrum.window(6510, 6740)
    filled = changed("masked", question).spectrum.flux[part]
    slope = np.polyfit(np.arange(filled.size), filled, 1)
    residual = filled - np.polyval(slope, np.arange(filled.size))
    assert np.std(residual) == pytest.approx(1.0, rel=0.25)  # noise 1, 150 pixels


def test_control_leaves_the_lines_and_hides_other_bands() -> None:
    band = get_band("C2 5165").vacuum_AA
    flux = balmer() * np.where((band > WAVELENGTH) & (band - 60 < WAVELENGTH), 0.5, 1.0)
    question = Question("q", get_task("cv"), spectrum_of(flux))
    after = prepare(changed("control", question).spectrum)
    edge, plain = (measure_edge(one, band, 25) for one in (after, prepare(question.spectrum)))
    assert edge is not None
    assert plain is not None
    assert plain.step > 0.5
    assert abs(edge.step) < 0.05
    line = measure_line(after, get_line("Hα").vacuum_AA, 2500)
    assert line is not None
    assert line.significance > 50


def test_masked_bands_have_no_edge_left() -> None:
    flux = np.full(WAVELENGTH.size, 80.0)
    for name in ("C2 4737", "C2 5165", "C2 5636"):
        head = get_band(name).vacuum_AA
        inside = head > WAVELENGTH
        flux *= np.where(inside, 1 - 0.6 * np.exp(-(head - WAVELENGTH) / 60), 1.0)
    question = Question("q", get_task("cs"), spectrum_of(flux))
    after = prepare(changed("masked", question).spectrum)
    for name in ("C2 4737", "C2 5165", "C2 5636"):
        edge = measure_edge(after, get_band(name).vacuum_AA, 40, 6)
        assert edge is not None
        assert abs(edge.step) < 0.12  # what counts as a head


def test_fill_keeps_ivar_mask_and_everything_outside() -> None:
    spectrum = spectrum_of(balmer())
    mask = spectrum.mask.copy()
    mask[1500:1503] = True
    spectrum = replace(spectrum, mask=mask, ivar=np.where(mask, 0, spectrum.ivar))
    low, high = spectrum.wavelength_AA[1490], spectrum.wavelength_AA[1510]
    filled = fill(spectrum, [(float(low), float(high))], np.random.default_rng(0))
    assert filled is not None
    assert np.array_equal(filled.ivar, spectrum.ivar)
    assert np.array_equal(filled.mask, spectrum.mask)
    differs = np.flatnonzero(filled.flux != spectrum.flux)
    assert set(differs) == set(range(1490, 1511)) - {1500, 1501, 1502}


def test_fill_at_the_end_of_the_data_takes_the_level_of_the_other_side() -> None:
    flux = np.where(WAVELENGTH < 3800, 500.0, 20.0)
    filled = fill(spectrum_of(flux), [(3000.0, 3800.0)], np.random.default_rng(0))
    assert filled is not None
    assert np.abs(filled.flux[WAVELENGTH < 3800].mean() - 20) < 1
    assert fill(spectrum_of(flux), [(3000.0, 9999.0)], np.random.default_rng(0)) is None


def test_without_errors_the_noise_comes_from_the_scatter() -> None:
    rng = np.random.default_rng(3)
    spectrum = clean_spectrum(WAVELENGTH, 100 + rng.normal(0, 2.0, WAVELENGTH.size))
    assert np.median(pixel_sigma(spectrum)) == pytest.approx(2.0, rel=0.1)
    noisier = changed("noise-4", Question("q", get_task("cv"), spectrum)).spectrum
    assert np.std(noisier.flux) == pytest.approx(8.0, rel=0.1)
    assert not noisier.has_errors


@pytest.mark.parametrize("factor", [2, 4, 8])
def test_noise_is_what_the_new_ivar_says(factor: int) -> None:
    question = Question("q", get_task("cv"), spectrum_of(np.full(3909, 50.0), header_snr={"g": 40.0}))
    spectrum = changed(f"noise-{factor}", question).spectrum
    pulls = (spectrum.flux - 50.0) * np.sqrt(spectrum.ivar)
    assert stats.kstest(pulls, "norm").pvalue > 1e-3
    assert spectrum.header_snr["g"] == pytest.approx(40 / factor)


def test_noise_steps_add_the_same_pattern() -> None:
    question = Question("q", get_task("cv"), spectrum_of(np.full(3909, 50.0)))
    two, four = (
        changed(name, question).spectrum.flux - question.spectrum.flux for name in ("noise-2", "noise-4")
    )
    assert np.allclose(four / two, np.sqrt(15 / 3))


def test_scaled_keeps_signal_to_noise() -> None:
    question = Question("q", get_task("cv"), spectrum_of(balmer()))
    scaled = changed("scaled", question).spectrum
    assert scaled.snr == pytest.approx(question.spectrum.snr)
    assert np.allclose(scaled.flux, 1000 * question.spectrum.flux)


def test_shifts_move_lines_by_a_pixel_and_by_a_view() -> None:
    question = Question("q", get_task("cv"), spectrum_of(balmer()))
    place = np.argmax(question.spectrum.flux[2000:]) + 2000
    one, view = (changed(name, question).spectrum for name in ("shifted-pixel", "shifted-view"))
    assert np.argmax(one.flux[2000:]) + 2000 == place + 1
    moved = WAVELENGTH[np.argmax(view.flux[2000:]) + 2000] - WAVELENGTH[place]
    assert 200 < moved < 400  # the windows of the task are 120 to 540 Å wide
    assert view.mask[:100].all()
    assert view.wavelength_AA is question.spectrum.wavelength_AA


def test_redshifts_and_names_change_nothing_else() -> None:
    question = Question("q", get_task("cv"), spectrum_of(balmer(), name="plate-1"), 1e-4)
    wrong, missing = changed("wrong-redshift", question), changed("no-redshift", question)
    assert wrong.redshift is not None
    assert 0.05 <= wrong.redshift <= 2
    assert wrong.spectrum.claims.redshift == wrong.redshift
    assert missing.redshift is None
    assert changed("named-member", question).spectrum.name == "SS Cyg"
    assert changed("named-stranger", question).spectrum.name == "18 Sco"
    for other in (wrong, missing, changed("named-member", question)):
        assert np.array_equal(other.spectrum.flux, question.spectrum.flux)


def test_every_task_has_a_famous_member() -> None:
    flat = spectrum_of(np.full(3909, 50.0))
    names = {changed("named-member", Question("q", task, flat)).spectrum.name for task in all_tasks()}
    assert len(names) == len(TASK_KEYS)


def test_probes_are_pure_and_their_order_plays_no_part(make_split) -> None:
    split = make_split(6)
    reverse = Split(split.name, split.version, split.candidates[::-1], split.recipe)
    for probe in all_probes():
        one, other = probed(split, probe, 5), probed(reverse, probe, 5)
        assert one.fingerprint == other.fingerprint
        assert [c.truth for c in one.candidates] == [c.truth for c in split.candidates]
    assert probed(split, PROBES["noise-2"], 5).fingerprint != probed(split, PROBES["noise-2"], 6).fingerprint


def test_chosen_probes_bring_what_they_are_compared_with() -> None:
    assert [probe.name for probe in choose_probes(["masked"])] == ["masked", "control"]
    assert [probe.name for probe in choose_probes(["title-on"])] == ["title-off", "title-on"]
    assert choose_probes([]) == all_probes()
    with pytest.raises(UserError, match="no such probe"):
        choose_probes(["mask"])


def test_a_probe_of_another_package_is_found_and_a_double_name_is_refused(monkeypatch) -> None:
    @dataclass
    class Point:
        name: str
        value: tuple

        def load(self) -> tuple:
            return self.value

    from specvi_benchmark.probes import registry

    mine = replace(PROBES["scaled"], name="mine")
    for offered in ((mine,), (replace(mine, name="scaled"),), (replace(mine, against=("nothing",)),)):
        monkeypatch.setattr(registry, "entry_points", lambda offered=offered, **_: [Point("x", offered)])
        registry.all_probes.cache_clear()
        try:
            if offered == (mine,):
                assert mine in registry.all_probes()
            else:
                with pytest.raises(UserError):
                    registry.all_probes()
        finally:
            registry.all_probes.cache_clear()


def said(answers: str) -> dict[str, Prediction]:
    """Return predictions of the small split from a letter each: Y, N, or a point for none."""
    words = {"Y": "YES", "N": "NO", ".": None}
    return {
        f"cv-{number:03d}": Prediction(
            id=f"cv-{number:03d}",
            task="cv",
            answer=words[letter],
            outcome=Outcome.UNPARSED if letter == "." else Outcome.ANSWERED,
            p_yes={"Y": 0.9, "N": 0.2, ".": None}[letter],
        )
        for number, letter in enumerate(answers)
    }


def moved(split: Split, before: str, after: str, truth: str = "YES"):
    return move(
        split.candidates,
        said(before),
        said(after),
        probe="masked",
        against=PLAIN,
        task=ALL_TASKS,
        truth=truth,
        resamples=2000,
    )


def test_move_counts_and_agrees_with_closed_forms(make_split) -> None:
    split = make_split(60)  # 20 members, every third
    before = "".join("Y" if number % 3 == 0 else "N" for number in range(60))
    after = "".join("Y" if number % 3 == 0 and number < 24 else "N" for number in range(60))
    found = moved(split, before, after)
    assert (found.candidates, found.objects) == (20, 20)
    assert (found.yes_before, found.yes_after, found.lost, found.gained) == (20, 8, 12, 0)
    assert found.yes.value == pytest.approx(-0.6)
    assert found.p == pytest.approx(stats.binomtest(0, 12, 0.5).pvalue)
    error = np.sqrt(12 - 12**2 / 20) / 20  # of a mean of 20 zeros and ones
    assert found.yes.low == pytest.approx(-0.6 - 2.1 * error, abs=0.07)
    assert found.yes.high == pytest.approx(-0.6 + 2.1 * error, abs=0.07)
    assert found.direction == "down"
    assert found.p_yes.value == pytest.approx(-0.7 * 12 / 20)
    assert found.p_yes.low < found.p_yes.value < found.p_yes.high
    back = moved(split, after, before)
    assert back.yes.value == pytest.approx(0.6)
    assert back.direction == "up"
    others = moved(split, before, after, "NO")
    assert (others.candidates, others.yes_before, others.yes_after) == (40, 0, 0)
    assert others.yes.value == 0
    assert others.direction == "none"


def test_non_answers_are_no_yes_whatever_the_truth(make_split) -> None:
    found = moved(make_split(12), "Y" * 12, "." * 12, "NO")
    assert (found.yes_before, found.yes_after, found.non_answers_after) == (8, 0, 8)
    assert found.yes.value == pytest.approx(-1)
    assert found.p_yes is None


def test_too_many_errors_give_counts_but_no_difference(make_split) -> None:
    split = make_split(12)
    failed = {
        key: row.model_copy(update={"answer": None, "outcome": Outcome.ERROR})
        for key, row in said("Y" * 12).items()
    }
    found = move(split.candidates, said("Y" * 12), failed, probe="p", against=PLAIN, task="cv", truth="YES")
    assert found.lost == 4
    assert found.yes is None
    assert found.direction == "none"


def test_only_candidates_that_both_were_asked_about_are_compared(make_split) -> None:
    split = make_split(12)
    half = {key: row for key, row in said("Y" * 12).items() if key < "cv-006"}
    found = move(split.candidates, said("N" * 12), half, probe="p", against=PLAIN, task="cv", truth="YES")
    assert found.candidates == 2
    assert found.gained == 2
