"""lightgbm and logistic: what they learn, what they say, and what they refuse."""

import json
from dataclasses import replace

import lightgbm
import numpy as np
import pytest
from scipy.special import expit, logit

from specvi_baselines import calibration
from specvi_baselines.classical import linear, trees
from specvi_baselines.classical.folder import column_names
from specvi_baselines.classical.sample import Sample, measure
from specvi_baselines.classical.words import value_words
from specvi_benchmark.errors import UserError
from specvi_benchmark.features.selection import selection_columns, selection_features
from specvi_benchmark.runs.fitting import fit, load_system, read_fit_record
from specvi_benchmark.spectrum import Claims, Spectrum, clean_spectrum
from specvi_benchmark.splits import Candidate, Split
from specvi_benchmark.splits.io import write_split
from specvi_benchmark.tasks import get_task
from specvi_benchmark.vetting import Outcome, Question

NAMES = ("lightgbm", "logistic")
GRID_AA = 3800 * 10 ** (1e-4 * np.arange(3800))
PARTS = {"train": (40, 40), "dev": (15, 15), "cal": (10, 50), "test": (20, 60)}


def drawn(rng, positive):
    """A blue continuum with noise; members have Hα in emission, others in absorption."""
    height = rng.normal(1.2, 0.3) if positive else rng.normal(-0.2, 0.2)
    flux = (GRID_AA / 5500) ** rng.normal(-1, 0.7) * (
        1 + height * np.exp(-0.5 * ((GRID_AA - 6564.6) / 6) ** 2)
    )
    noise = np.full(GRID_AA.size, 0.05)
    return clean_spectrum(GRID_AA, flux + noise * rng.normal(size=GRID_AA.size), noise**-2, survey="lamost")


def make(tasks=("cv",), shuffled=False, seed=0, family="lightgbm", parts=PARTS):
    rng = np.random.default_rng(seed)
    members = []
    for task in tasks:
        for part, (yes, no) in parts.items():
            truths = np.repeat([True, False], (yes, no))
            told = rng.permutation(truths) if shuffled and part != "test" else truths
            for number, (really, said) in enumerate(zip(truths, told, strict=True)):
                name = f"{task}-{part}-{number}"
                members.append(
                    Candidate(
                        id=name, task=get_task(task), track="main", part=part, spectrum=drawn(rng, really),
                        redshift=None, truth="YES" if said else "NO", object_id=name,
                        object_id_source="simulated", label_source="simulated",
                    )
                )  # fmt: skip
    return Split("drawn", "1", tuple(members), {"weak_classifier": {"acceptance": 0.8, "family": family}})


@pytest.fixture(scope="module")
def split():
    return make()


@pytest.fixture(scope="module")
def place(split, tmp_path_factory):
    folder = tmp_path_factory.mktemp("classical") / "split"
    write_split(split, folder)
    return str(folder)


@pytest.fixture(scope="module", params=NAMES)
def trained(request, place, tmp_path_factory):
    """Name and folder of a trained learner."""
    folder = tmp_path_factory.mktemp("classical") / request.param
    fit(request.param, place, folder, seed=3)
    return request.param, folder


def f1(vetter, test):
    truth = {c.id: c.truth == "YES" for c in test.candidates}
    said = {v.id: v.answer == "YES" for v in vetter.vet([c.question for c in test.candidates])}
    hits = sum(truth[key] and said[key] for key in truth)
    return 2 * hits / (sum(truth.values()) + sum(said.values()))


def test_it_learns_and_says_what_decided(trained, split):
    name, folder = trained
    vetter = load_system(f"{name}:{folder}")
    assert f1(vetter, split.select(part="test")) > 0.85
    record = json.loads((folder / "model.json").read_text())
    assert record["tasks"]["cv"]["features"][0]["feature"].startswith(("line Hα", "index PyHammer Hα"))
    question = split.select(part="test").candidates[0].question
    (verdict,) = vetter.vet([question])
    measured, told = (turn.text for turn in verdict.traces[0].turns)
    value = selection_features([question.spectrum])[0][column_names().index("line Hα ±8")]
    assert f"line Hα ±8 Å, equivalent width {value:+.1f} Å".replace("-", "−") in measured
    assert told.startswith(
        f"{verdict.answer}. P(YES) {verdict.p_yes:.3f} where 17 % are members (calibrated on cal)"
    )


def test_shuffled_labels_destroy_the_score(tmp_path):
    blind = make(shuffled=True, seed=1)
    write_split(blind, tmp_path / "split")
    for name in NAMES:
        vetter = load_system(fit(name, str(tmp_path / "split"), tmp_path / name))
        assert f1(vetter, blind.select(part="test")) < 0.55  # YES to all is 0.4


def test_the_same_seed_gives_the_same_bytes_and_another_seed_other_trees(place, trained, tmp_path):
    name, folder = trained
    fit(name, place, tmp_path / "again", seed=3)
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()} == files
    fit(name, place, tmp_path / "other", seed=4)
    model = next(key for key in files if key.startswith("cv."))
    assert ((tmp_path / "other" / model).read_bytes() == files[model]) is (name == "logistic")
    assert read_fit_record(folder).calibration_fingerprint is not None


def test_contributions_add_up_to_the_margin(trained, split):
    name, folder = trained
    features = measure([c.question for c in split.select(part="test").candidates])
    module, suffix = {"lightgbm": (trees, ".txt"), "logistic": (linear, ".json")}[name]
    model = module.load(folder / f"cv{suffix}")
    parts, base = model.contributions(features)
    assert parts.shape == features.shape
    np.testing.assert_allclose(parts.sum(axis=1) + base, model.margin(features), rtol=1e-6, atol=1e-9)


def test_logistic_is_the_sum_it_says():
    model = linear.Linear(np.array([1.0, 2.0]), np.array([2.0, 0.5]), np.array([0.5, -1.0]), 0.1)
    features = np.array([[3.0, 2.5], [np.nan, 100.0]], dtype=np.float32)
    np.testing.assert_allclose(model.margin(features), [0.5 * 1 - 1 + 0.1, -linear.LIMIT + 0.1])


def test_classes_count_the_same_however_many_there_are():
    rng = np.random.default_rng(0)
    positive = np.arange(400) < 40
    features = rng.normal(size=(400, 3)).astype(np.float32)
    weight = np.where(positive, 5.0, 400 / 720)
    blind = Sample(features, positive, weight)
    model, _ = linear.fit(blind, blind, 0)
    p = expit(model.margin(features))
    assert (p * weight).mean() == pytest.approx(0.5, abs=0.01)  # the weighted share of members


def test_probability_is_calibrated_and_moved_to_the_declared_prevalence(trained, split):
    name, folder = trained
    question = [c.question for c in split.select(part="test").candidates]

    def told(**options):
        return np.array([v.p_yes for v in load_system(f"{name}:{folder}", options).vet(question)])

    raw, mended, rare = told(probability="raw"), told(), told(prevalence="0.01")
    kept = calibration.read_calibration(folder, ["cv"]).tasks["cv"]
    assert (kept.YES, kept.NO) == (10, 50)
    clipped = np.clip(raw, 1e-6, 1 - 1e-6)
    np.testing.assert_allclose(
        logit(mended), kept.slope * logit(clipped) + kept.intercept, rtol=1e-9, atol=1e-9
    )
    ratio = (0.01 / 0.99) / (10 / 50)
    np.testing.assert_allclose(logit(rare) - logit(mended), np.log(ratio), rtol=1e-6)
    assert load_system(f"{name}:{folder}", {"prevalence": "0.01"}).config["prevalence"] == 0.01
    answers = [v.answer for v in load_system(f"{name}:{folder}", {"probability": "raw"}).vet(question)]
    assert answers == ["YES" if p >= 0.5 else "NO" for p in mended]


def test_without_cal_it_is_calibrated_on_dev(tmp_path):
    two = make(parts={"train": (40, 40), "dev": (15, 15)})
    write_split(two, tmp_path / "split")
    fit("logistic", str(tmp_path / "split"), tmp_path / "m")
    found = calibration.read_calibration(tmp_path / "m", ["cv"])
    assert (found.part, found.tasks["cv"].share) == ("dev", 0.5)


def test_a_sigmoid_never_turns_answers_round(split, tmp_path, capsys):
    """Where cal ranks members below the others, P(YES) is their share, and that is said; nothing is inverted."""
    cal = split.select(part="cal")
    truth = np.array([candidate.truth == "YES" for candidate in cal.candidates])
    p = np.where(truth, 0.3, 0.6) + np.linspace(0, 0.1, len(truth))
    for raw, level in ((p, True), (1 - p, False)):
        calibration.calibrate(cal, "cal", {"cv": raw}, tmp_path)
        found = calibration.read_calibration(tmp_path, ["cv"])
        mended = found.mended("cv", np.array([0.1, 0.5, 0.9]), None)
        assert (np.diff(mended) >= 0).all()
        assert found.tasks["cv"].is_level == level
        assert ("do not have the higher P(YES)" in capsys.readouterr().err) == level
        assert ("it tells nothing" in found.words("cv", None)) == level
        if level:
            assert mended == pytest.approx([10 / 60] * 3)
            assert found.mended("cv", np.array([0.9]), 0.002) == pytest.approx([0.002])
        else:
            assert mended[2] - mended[0] > 0.98


def test_an_ensemble_bears_the_mark_of_a_member(tmp_path):
    write_split(make(), tmp_path / "split")
    for name in NAMES:
        fit(name, str(tmp_path / "split"), tmp_path / name)
    both = f"ensemble:{tmp_path / 'lightgbm'},{tmp_path / 'logistic'}"
    config = load_system(both).config
    assert (config["family"], config["selector_family"]) == ("lightgbm", True)
    with pytest.raises(UserError, match="mended P"):
        load_system(both, {"probability": "raw"})
    with pytest.raises(UserError, match="each once"):
        load_system(f"ensemble:{tmp_path / 'logistic'},{tmp_path / 'split' / '..' / 'logistic'}")


@pytest.mark.parametrize(("family", "marked"), [("lightgbm", True), ("random-forest", False)])
def test_the_selectors_family_is_marked(family, marked, tmp_path):
    write_split(make(family=family), tmp_path / "split")
    config = load_system(fit("lightgbm", str(tmp_path / "split"), tmp_path / "m")).config
    assert (config["family"], config["selector_family"]) == ("lightgbm", marked)


def test_a_task_that_was_not_learnt_is_an_error_that_says_so(trained, split):
    name, folder = trained
    question = replace(split.candidates[0].question, task=get_task("o"))
    (verdict,) = load_system(f"{name}:{folder}").vet([question])
    assert (verdict.outcome, verdict.answer) == (Outcome.ERROR, None)
    assert verdict.traces[0].turns[0].text == f"{name} was not trained for the task o, only for cv"


def test_a_spectrum_without_any_feature_gets_no_answer_and_a_short_one_says_how_many(trained):
    name, folder = trained
    vetter = load_system(f"{name}:{folder}")
    dark = clean_spectrum([10000.0, 10001.0, 10002.0], [1.0, 1.0, 1.0])
    blue = clean_spectrum(GRID_AA[:600], np.ones(600))
    nan = clean_spectrum(GRID_AA, np.where(GRID_AA > 4400, np.nan, 1.0))
    none, short, part = vetter.vet([Question("q", get_task("cv"), one) for one in (dark, blue, nan)])
    assert none.outcome is Outcome.ABSTAINED
    for verdict in (short, part):
        assert verdict.outcome is Outcome.ANSWERED
        number = int(verdict.traces[0].turns[0].text.split()[0])
        assert 0 < number < 60


def test_bad_pixels_change_nothing(trained, split):
    name, folder = trained
    vetter, s = load_system(f"{name}:{folder}"), split.select(part="test").candidates[0].spectrum
    mask = np.zeros(s.flux.size, dtype=bool)
    mask[np.random.default_rng(2).integers(0, mask.size, 200)] = True
    verdicts = [
        next(vetter.vet([Question("q", get_task("cv"), Spectrum(s.wavelength_AA, flux, s.ivar, mask))]))
        for flux in (s.flux, np.where(mask, 1e9, s.flux))
    ]
    assert verdicts[0] == verdicts[1]


def test_the_redshift_of_the_question_moves_the_windows_not_the_claim(split):
    s = split.candidates[0].spectrum
    claimed = replace(s, claims=Claims(redshift=0.004))
    asked = [Question("q", get_task("cv"), one) for one in (s, claimed)]
    np.testing.assert_array_equal(measure(asked[:1]), measure(asked[1:]))
    moved = measure([replace(asked[0], redshift=0.004)])
    np.testing.assert_array_equal(moved, selection_features([claimed]))
    assert not np.array_equal(moved, measure(asked[:1]), equal_nan=True)


def test_a_part_with_one_class_is_refused(tmp_path):
    for part, parts in {
        "train": {**PARTS, "train": (40, 3)},
        "dev": {**PARTS, "dev": (15, 0)},
        "cal": {**PARTS, "cal": (0, 10)},
    }.items():
        write_split(make(parts=parts), tmp_path / part)
        with pytest.raises(UserError, match=r"too few candidates to train|on one class") as error:
            fit("logistic", str(tmp_path / part), tmp_path / "m")
        assert f", {part}, task cv" in str(error.value)
        assert not (tmp_path / "m").exists()


def test_a_folder_that_does_not_fit_is_refused(trained, tmp_path):
    name, folder = trained
    other = {"lightgbm": "logistic", "logistic": "lightgbm"}[name]

    def refused(words, what=name, where=folder):
        with pytest.raises(UserError, match=words):
            load_system(f"{what}:{where}")

    refused("another learner", what=other)
    refused("not a trained", where=tmp_path)
    record = json.loads((folder / "model.json").read_text())
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in folder.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    for changed, words in (
        ({"selection_version": 999}, "other features"),
        ({"columns": record["columns"][::-1]}, "other features"),
        ({"schema_version": 2}, "newer version"),
        ({"surprise": 1}, "fault"),
        ({"tasks": {}}, "fault"),
    ):
        (copy / "model.json").write_text(json.dumps({**record, **changed}))
        refused(words, where=copy)
    (copy / "model.json").write_text(json.dumps(record))
    model = copy / record["tasks"]["cv"]["file"]
    model.write_text("tree\nbroken")
    refused("missing or not the one", where=copy)
    (copy / "calibration.json").unlink()
    with pytest.raises(UserError):
        load_system(f"{name}:{copy}")


def test_a_broken_model_file_is_told(tmp_path):
    (tmp_path / "cv.txt").write_text("no model")
    with pytest.raises(UserError, match="not a LightGBM model"):
        trees.load(tmp_path / "cv.txt")
    (tmp_path / "cv.json").write_text("{}")
    with pytest.raises(UserError, match="fault"):
        linear.load(tmp_path / "cv.json")


def test_options_are_checked():
    for options in ({"colour": "red"}, {"probability": "good"}, {"prevalence": "2"}, {"prevalence": "few"}):
        with pytest.raises(UserError):
            calibration.read_reporting("lightgbm", options)


def test_the_early_stop_keeps_what_dev_preferred(split):
    """The kept booster has as many trees as were chosen, and is LightGBM's own."""
    rng = np.random.default_rng(1)
    features = rng.normal(size=(200, 4)).astype(np.float32)
    positive = features[:, 0] > 0
    found = Sample(features, positive, np.ones(200))
    model, chosen = trees.fit(found, found, 0)
    assert isinstance(model.booster, lightgbm.Booster)
    assert model.booster.num_trees() == chosen["trees"] < trees.MAX_ROUNDS
    assert ((model.margin(features) > 0) == positive).mean() > 0.98


def test_every_column_has_words():
    for column in selection_columns():
        assert column.name in value_words(column, 0.5)
        assert value_words(column, float("nan")) == f"{column.name}, not measured"
