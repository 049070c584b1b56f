"""`specvi score` beyond accuracy: sections, calibration runs, CSV, figures, refusals, old and new result files."""

import csv
import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score

from specvi_benchmark.cli.main import main
from specvi_benchmark.errors import UserError
from specvi_benchmark.files import append_line
from specvi_benchmark.runs.predictions import Prediction
from specvi_benchmark.runs.record import RunRecord, choose_split, write_run_record
from specvi_benchmark.scoring.results import read_results
from specvi_benchmark.splits import Split
from specvi_benchmark.splits.io import write_split

N = 120
SURVEYS = ("lamost", "sdss")


def call(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code or 0


def split_of(make_split, part, survey="lamost", n=N):
    """A split whose ids carry the part and whose label evidence has kinds; every third is a YES."""
    made = make_split(n, part=part)
    candidates = tuple(
        replace(
            c,
            id=f"{part}-{c.id}",
            object_id=f"{part}-{c.object_id}",
            spectrum=replace(
                c.spectrum, survey=survey, ivar=np.full(c.spectrum.ivar.size, (0.3 + number % 60 / 10) ** 2)
            ),
            label_evidence={"kind": f"kind-{number % 2}"},
        )
        for number, c in enumerate(made.candidates)
    )
    return Split(f"small-{part}", "1", candidates, made.recipe)


@pytest.fixture
def make_run(tmp_path, make_split):
    """Return the maker of run folders: a noisy system that sees the truth, with or without P(YES)."""

    def make(part, *, survey="lamost", with_p=True, silent=3, seed=0, vetter="made", n=N):
        folder = tmp_path / f"{vetter}-{part}-{survey}-{with_p}"
        write_split(split_of(make_split, part, survey, n), tmp_path / f"split-{folder.name}")
        split, reference = choose_split(str(tmp_path / f"split-{folder.name}"), part)
        folder.mkdir()
        write_run_record(
            folder,
            RunRecord(
                schema_version=1, vetter=vetter, config={}, split=reference, versions={"scoring_version": 1},
                environment={}, seed=0, started="2026-01-01T00:00:00+00:00",
            ),
        )  # fmt: skip
        rng = np.random.default_rng([seed, len(part)])
        for number, candidate in enumerate(split.candidates):
            score = rng.normal() + (3 if candidate.truth == "YES" else 0)
            p = 1 / (1 + np.exp(-3 * (score - 1.2)))
            said = {"outcome": "abstained", "answer": None, "p_yes": None}
            if number >= silent:
                said = {
                    "outcome": "answered",
                    "answer": "YES" if p > 0.5 else "NO",
                    "p_yes": p if with_p else None,
                }
            append_line(
                folder / "predictions.jsonl",
                Prediction(id=candidate.id, task="cv", **said).model_dump(mode="json"),
            )
        return folder

    return make


def lines(folder):
    return [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]


def test_numbers_of_the_sections_against_scikit_learn(make_run, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    folder = make_run("test")
    assert call("score", folder) == 0
    beyond = read_results(folder / "results.json").beyond
    answers = lines(folder)
    truth = np.array([number % 3 == 0 for number in range(N)])[3:]
    p = np.array([line["p_yes"] for line in answers[3:]])
    (task,) = beyond.probability
    assert (task.n, task.left_out, task.positives) == (N - 3, 3, int(truth.sum()))
    (raw,) = task.versions
    assert raw.auroc.value == pytest.approx(roc_auc_score(truth, p))
    assert raw.average_precision.value == pytest.approx(average_precision_score(truth, p))
    assert raw.brier.value == pytest.approx(brier_score_loss(truth, p))
    parts = raw.reliability - raw.resolution + raw.uncertainty + raw.within_bins
    assert parts == pytest.approx(raw.brier.value)
    assert raw.auroc.low < raw.auroc.value < raw.auroc.high
    (deferral,) = beyond.deferral
    assert deferral.non_answers == pytest.approx(3 / N)
    assert deferral.versions[0].points[0].purity is None  # 0 % can't be deferred: 2.5 % are people's anyway
    assert deferral.versions[0].points[4].deferred == 0.1
    yes = np.array([line["answer"] == "YES" for line in answers])
    everyone = np.arange(N) % 3 == 0
    found = int(everyone[:3].sum())
    assert deferral.without_order.purity == pytest.approx(
        (int((yes & everyone).sum()) + found) / (int(yes.sum()) + found)
    )
    assert beyond.survey is None
    assert beyond.calibration is None
    printed = capsys.readouterr().out
    assert "AUGRC" in printed
    assert f"{raw.auroc.value:.3f} [" in printed


def test_without_probability_there_is_one_line(make_run, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    folder = make_run("test", with_p=False)
    assert call("score", folder) == 0
    printed = capsys.readouterr().out
    assert printed.count("undefined: the system gives no probability") == 1
    assert "AUROC" not in printed
    beyond = read_results(folder / "results.json").beyond
    assert beyond.probability[0].versions == ()
    assert beyond.deferral[0].versions == ()
    assert beyond.deferral[0].workload_by_answer[0].opened is not None


def test_some_answers_without_probability_are_not_passed_over(make_run, capsys):
    folder = make_run("test", silent=0)
    log = folder / "predictions.jsonl"
    rows = lines(folder)
    rows[5]["p_yes"] = None
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert call("score", folder) == 0
    assert f"1 of {N} answers have no P(YES)" in " ".join(capsys.readouterr().out.split())


def test_calibration_mends_and_promises(make_run, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    test, cal = make_run("test", seed=1), make_run("cal", seed=2)
    assert call("score", test, "--calibrate", cal, "--false-share", "0.2", "--prevalence", "0.002") == 0
    beyond = read_results(test / "results.json").beyond
    versions = {made.version: made for made in beyond.probability[0].versions}
    assert list(versions) == ["raw", "platt", "isotonic", "venn-abers"]
    assert versions["platt"].auroc.value == pytest.approx(versions["raw"].auroc.value)
    assert versions["platt"].brier.value < versions["raw"].brier.value
    assert beyond.calibration.part == "cal"
    assert beyond.calibration.warnings == ()
    (promise,) = beyond.promises
    assert promise.negatives == 80  # with the two that have no P(YES): never on a list, here or there
    assert promise.negatives_needed == 14
    assert promise.negatives_needed_at_prevalence == 2499
    assert promise.selected > 20
    printed = capsys.readouterr().out
    assert "Conformal selection" in printed
    assert "expected share of false entries is at most q" in printed
    assert "2,499 at the stated prevalence" in printed


def test_too_few_calibration_negatives_are_refused(make_run, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    test, cal = make_run("test"), make_run("cal", n=30)
    assert call("score", test, "--calibrate", cal, "--false-share", "0.05") == 0
    assert (
        "Refused: 59 independent calibration negatives are needed, 20 are there: main cv."
        in capsys.readouterr().out
    )
    (promise,) = read_results(test / "results.json").beyond.promises
    assert promise.selected is None
    assert promise.undefined


def test_another_survey_and_dev_are_warned_of(make_run, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    test, dev = make_run("test", survey="sdss"), make_run("dev", survey="lamost")
    assert call("score", test, "--calibrate", dev) == 0
    printed = capsys.readouterr().out
    assert "candidates of two surveys are not exchangeable" in printed
    assert "another share of positives by design" in printed
    purity = [
        p for p in read_results(test / "results.json").beyond.promises[0].thresholds if p.kind == "purity"
    ]
    assert all(promise.undefined for promise in purity)


def test_a_prior_shift_keeps_the_ranking_and_moves_the_level(make_run):
    test = make_run("test")
    assert call("score", test, "--trained-at", "0.5") == 0
    task = read_results(test / "results.json").beyond.probability[0]
    raw, shifted = task.versions
    assert shifted.version == "prior-shifted"
    assert task.declared_prevalence == pytest.approx(1 / 3)
    assert shifted.auroc.value == pytest.approx(raw.auroc.value)
    assert sum(row.mean_p * row.n for row in shifted.bins) < sum(row.mean_p * row.n for row in raw.bins)


def test_survey_section_follows_from_the_rates(make_run, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    folder = make_run("test")
    screen = ("--screen-completeness", "776/803", "--screen-acceptance", "0.0174")
    assert call("score", folder, "--prevalence", "0.002", *screen, "--by", "snr", "--by", "subtype") == 0
    beyond = read_results(folder / "results.json").beyond
    answers = lines(folder)
    truth = np.arange(N) % 3 == 0
    yes = np.array([line["answer"] == "YES" for line in answers])
    open_ = np.array([line["answer"] != "NO" for line in answers])
    keep = 776 / 803
    tpr, fpr = yes[truth].mean() * keep, yes[~truth].mean() * 0.0174
    (task,) = beyond.survey.tasks
    assert task.purity.value == pytest.approx(0.002 * tpr / (0.002 * tpr + 0.998 * fpr))
    assert task.completeness.value == pytest.approx(tpr)
    assert task.completeness_with_queue.value == pytest.approx(open_[truth].mean() * keep)
    looked = 0.002 * keep * open_[truth].mean() + 0.998 * 0.0174 * open_[~truth].mean()
    assert task.looks_per_member.value == pytest.approx(looked / (0.002 * keep * open_[truth].mean()))
    passed = 0.002 * keep + 0.998 * 0.0174
    assert task.hours_saved.value == pytest.approx((passed - looked) * 100_000 * 10 / 3600)
    for measure in (task.purity, task.completeness, task.looks_per_member, task.hours_saved):
        assert measure.low <= measure.value <= measure.high
    by_snr = [row for row in beyond.breakdown if row.by == "snr"]
    assert [row.value for row in by_snr] == ["below 5", "5 to 10", "10 to 20", "20 to 50", "50 and above"]
    assert sum(row.positives for row in by_snr) == truth.sum()
    assert sum(row.negatives for row in by_snr) == (~truth).sum()
    kinds = {row.value: row for row in beyond.breakdown if row.by == "subtype"}
    even = np.arange(N) % 2 == 0
    assert kinds["kind-0"].completeness.value == pytest.approx(yes[truth & even].mean())
    printed = capsys.readouterr().out
    assert "Without a system: 500 looks per member" in printed
    assert "By signal to noise" in printed


def test_the_same_objects_in_two_surveys(make_run, make_split, tmp_path):
    """Ten objects seen by both surveys, one row each; the second survey's answers are worse."""
    split = split_of(make_split, "test", n=30)
    twins = tuple(
        replace(c, id=f"twin-{c.id}", spectrum=replace(c.spectrum, survey="sdss"))
        for c in split.candidates[:10]
    )
    write_split(Split("two", "1", (*split.candidates, *twins), split.recipe), tmp_path / "two")
    rows = [f"{c.id},cv,{c.truth}" for c in split.candidates]
    rows += [f"{c.id},cv,{'NO' if number < 6 else c.truth}" for number, c in enumerate(twins)]
    (tmp_path / "answers.csv").write_text("\n".join(["id,task,answer", *rows]) + "\n")
    assert (
        call("score", tmp_path / "answers.csv", "--split", tmp_path / "two", "--out", tmp_path / "r.json")
        == 0
    )
    drops = {row.metric: row for row in read_results(tmp_path / "r.json").beyond.survey_drops}
    assert drops["recall"].reference_survey == "lamost"
    assert (drops["recall"].objects, drops["recall"].positives) == (10, 4)
    assert drops["recall"].drop.value == pytest.approx(0.5)  # numbers 0 and 3 of 0, 3, 6 and 9
    assert drops["false_alarms"].drop.value == 0


def test_csv_and_figures(make_run, tmp_path, capsys):
    test, cal = make_run("test", seed=1), make_run("cal", seed=2)
    options = ("--calibrate", cal, "--prevalence", "0.002", "--csv", tmp_path / "csv", "--by", "survey")
    assert call("score", test, *options, "--figures", tmp_path / "one") == 0
    printed = capsys.readouterr().out
    assert f"Wrote {tmp_path / 'csv'}" in printed
    with (tmp_path / "csv" / "candidates.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == N
    assert rows[0]["p_raw"] == ""
    assert float(rows[5]["p_raw"]) == lines(test)[5]["p_yes"]
    shares = [
        float(row["p_venn-abers_at_prevalence"]) < float(row["p_venn-abers"]) + 1e-12 for row in rows[3:]
    ]
    assert all(shares)
    names = {path.stem for path in (tmp_path / "csv").iterdir()}
    assert names == {
        "scores", "probability", "reliability", "deferral", "workload", "selection", "thresholds", "survey",
        "breakdown", "candidates",
    }  # fmt: skip
    assert call("score", test, *options, "--figures", tmp_path / "two") == 0
    drawn = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert drawn == ["deferral.svg", "precision-recall.svg", "purity-prevalence.svg", "reliability.svg"]
    for name in drawn:
        content = (tmp_path / "one" / name).read_bytes()
        assert content == (tmp_path / "two" / name).read_bytes()
        assert b"<dc:date>" not in content
        assert ET.fromstring(content).tag.endswith("svg")


def test_figures_without_probability_draw_what_there_is(make_run, tmp_path):
    assert call("score", make_run("test", with_p=False), "--figures", tmp_path / "figures") == 0
    drawn = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert drawn == ["precision-recall.svg", "purity-prevalence.svg"]


def test_what_cannot_be_asked_is_told(make_run, capsys):
    test, other = make_run("test"), make_run("cal", vetter="other")
    for arguments, told in (
        (("--prevalence", "1.5"), "not a share"),
        (("--trained-at", "0"), "not a share"),
        (("--false-share", "2"), "not a share"),
        (("--screen-completeness", "0.9"), "add --prevalence"),
        (("--prevalence", "0.1", "--screen-completeness", "5/0"), "776/803"),
        (("--prevalence", "0.1", "--screen-acceptance", "much"), "776/803"),
        (("--by", "colour"), "no such breakdown"),
        (("--calibrate", test), "can't calibrate"),
        (("--calibrate", other), "another system"),
    ):
        assert call("score", test, *arguments) == 2, arguments
        captured = capsys.readouterr()
        assert told in captured.err
        assert "Traceback" not in captured.err
        assert not (test / "results.json").exists()


def test_older_results_are_read_and_newer_refused(make_run, capsys):
    folder = make_run("test")
    assert call("score", folder) == 0
    path = folder / "results.json"
    content = json.loads(path.read_text())
    assert content["schema_version"] == 3
    del content["beyond"]
    path.write_text(json.dumps(content | {"schema_version": 1}))
    old = read_results(path)
    assert old.schema_version == 3
    assert old.beyond is None
    path.write_text(json.dumps(content | {"schema_version": 4}))
    with pytest.raises(UserError, match="newer version"):
        read_results(path)
