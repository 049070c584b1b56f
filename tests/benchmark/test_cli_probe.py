"""`specvi probe`: series that resume, tables that say what moved, and mistakes that are told."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from specvi_benchmark.cli.probe import app
from specvi_benchmark.cli.run import app as run_app
from specvi_benchmark.errors import UserError
from specvi_benchmark.features import measure_line, prepare
from specvi_benchmark.lines import get_line
from specvi_benchmark.probes import all_probes
from specvi_benchmark.probes.report import ProbeReport
from specvi_benchmark.spectrum import clean_spectrum
from specvi_benchmark.splits import Candidate, Split
from specvi_benchmark.splits.io import write_split
from specvi_benchmark.tasks import get_task
from specvi_benchmark.vetting import Verdict, answered

LISTED = 20  # candidates; every second one has Balmer emission


class Balmer:
    """Says YES where Hα is in emission: what a system does that looks at the right thing."""

    def __init__(self, options: dict[str, str]) -> None:
        strange = set(options) - {"least", "style", "title"}
        if strange:
            raise UserError("no such option", got=strange)
        self.config = {"name": "balmer", **options}
        self.least = float(options.get("least", 8))
        self.asked = 0

    def vet(self, questions) -> Iterator[Verdict]:
        for question in questions:
            self.asked += 1
            line = measure_line(prepare(question.spectrum), get_line("Hα").vacuum_AA, 2500)
            seen = line is not None and line.significance > self.least
            named = self.config.get("title") == "figure" and question.spectrum.name == "SS Cyg"
            yield answered(question, "YES" if seen or named else "NO", p_yes=0.9 if seen else 0.1)


class Blind:
    """Says YES by the signal to noise of the header alone, and takes no options."""

    def __init__(self, options: dict[str, str]) -> None:
        if options:
            raise UserError("no such option", got=list(options))
        self.config = {"name": "blind"}

    def vet(self, questions) -> Iterator[Verdict]:
        for question in questions:
            yield answered(question, "YES" if question.spectrum.header_snr["r"] > 10 else "NO")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Balmer | Blind]:
    """Return the vetters that the commands make, in order."""
    found: list[Balmer | Blind] = []

    def load(spec: str, options: dict[str, str] | None = None) -> Balmer | Blind:
        found.append({"balmer": Balmer, "blind": Blind}[spec](dict(options or {})))
        return found[-1]

    monkeypatch.setattr("specvi_benchmark.runs.fitting.load_vetter", load)
    monkeypatch.setattr("specvi_benchmark.probes.series.load_vetter", load)
    return found


@pytest.fixture
def split(tmp_path: Path) -> str:
    wavelength = 3700.0 * 10 ** (3e-4 * np.arange(1300))
    rng = np.random.default_rng(11)
    candidates = []
    for number in range(LISTED):
        flux = np.full(wavelength.size, 30.0)
        if number % 2:
            for name in ("Hα", "Hβ"):
                centre = get_line(name).vacuum_AA
                flux += 40 * np.exp(-0.5 * ((wavelength - centre) / 14) ** 2)
        spectrum = clean_spectrum(
            wavelength,
            flux + rng.normal(0, 1, flux.size),
            np.ones(flux.size),
            survey="lamost",
            name=f"plate-{number}",
            header_snr={"r": 5.0 + number},
        )
        candidates.append(
            Candidate(
                id=f"cv-{number:03d}",
                task=get_task("cv"),
                track="main",
                part="test",
                spectrum=spectrum,
                redshift=0.0,
                truth="YES" if number % 2 else "NO",
                object_id=f"object-{number}",
                object_id_source="simulated",
                label_source="test",
            )
        )
    folder = tmp_path / "split"
    write_split(Split("lines", "1", tuple(candidates), {"made": "by a test"}), folder)
    return str(folder)


def invoke(*arguments: object, application: object = app) -> object:
    return CliRunner().invoke(application, [str(one) for one in arguments])


def report_of(done: object) -> ProbeReport:
    assert done.exit_code == 0, done.output
    return ProbeReport.model_validate_json(done.stdout)


def test_a_system_that_looks_at_the_line_loses_its_yes_with_it_and_only_with_it(
    made: list, split: str, tmp_path: Path
) -> None:
    report = report_of(invoke("balmer", "--split", split, "--out", tmp_path / "p", "--json"))
    assert {one.name for one in report.asked} == {"plain", *(probe.name for probe in all_probes())}
    masked, control = report.of("masked", "plain", "YES"), report.of("control", "plain", "YES")
    assert (masked.yes_before, masked.yes_after, masked.lost) == (10, 0, 10)
    assert (control.yes_before, control.yes_after) == (10, 10)
    assert masked.direction == report.of("masked", "control", "YES").direction == "down"
    assert masked.p == pytest.approx(2 / 2**10)
    assert masked.p_yes.value == pytest.approx(-0.8)
    assert report.of("shifted-view", "plain", "YES").yes_after == 0
    for name in ("scaled", "wrong-redshift", "no-redshift", "shifted-pixel"):
        assert report.of(name, "plain", "YES").lost == 0
    swapped = report.of("named-member", "named-stranger", "NO")
    assert (swapped.yes_before, swapped.yes_after) == (0, 10)  # this one reads names in titles
    assert report.of("title-on", "title-off", "NO").gained == 0
    assert ProbeReport.model_validate_json((tmp_path / "p" / "probe.json").read_text()) == report


def test_a_blind_system_does_not_care_and_the_text_says_so(made: list, split: str, tmp_path: Path) -> None:
    done = invoke("blind", "--split", split, "--out", tmp_path / "p")
    words = " ".join(done.output.split())
    assert "Of 7 YES to members, 7 stay YES" in words
    assert "No sign that the decisive features matter" in words
    assert "Not asked: title-on, the vetter draws no pictures with a title." in words
    report = ProbeReport.model_validate_json((tmp_path / "p" / "probe.json").read_text())
    assert report.of("masked", "plain", "YES").direction == "none"
    assert report.of("noise-8", "plain", "YES").lost == 7
    assert report.of("named-member", "named-stranger", "YES").lost == 0  # asked without the title


def test_a_series_goes_on_where_it_stopped(made: list, split: str, tmp_path: Path) -> None:
    out = tmp_path / "p"
    first = report_of(invoke("balmer", "--split", split, "--out", out, "--json"))
    log = out / "masked" / "predictions.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:-3]) + lines[-3][:20])
    made.clear()
    assert report_of(invoke("balmer", "--split", split, "--out", out, "--json")) == first
    assert sum(vetter.asked for vetter in made) == 3


def test_a_run_is_the_plain_series_and_needs_its_options(made: list, split: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    options = ["--option", "least=9"]
    done = invoke("--vetter", "balmer", "--split", split, "--out", folder, *options, application=run_app)
    assert done.exit_code == 0, done.output
    out = tmp_path / "p"
    done = invoke(folder, "--out", out, "--probe", "masked")
    assert isinstance(done.exception, UserError)
    assert "options of the run" in str(done.exception)
    report = report_of(invoke(folder, "--out", out, "--probe", "masked", *options, "--json"))
    assert [one.name for one in report.asked] == ["masked", "control"]
    assert not (out / "plain").exists()
    assert report.of("masked", "plain", "YES").lost == 10


def test_members_only(made: list, split: str, tmp_path: Path) -> None:
    report = report_of(
        invoke("blind", "--split", split, "--out", tmp_path / "p", "--members", "--probe", "scaled", "--json")
    )
    assert report.candidates == 10
    assert report.of("scaled", "plain", "NO") is None


def test_a_changed_split_can_not_be_scored_as_the_real_one(made: list, split: str, tmp_path: Path) -> None:
    from specvi_benchmark.runs.evaluate import match_run

    invoke("blind", "--split", split, "--out", tmp_path / "p", "--probe", "noise-8")
    record = json.loads((tmp_path / "p" / "noise-8" / "run.json").read_text())
    assert record["split"]["name"] == "lines-noise-8"
    with pytest.raises(UserError, match="not the one"):
        match_run(tmp_path / "p" / "noise-8")


def test_another_seed_in_the_same_folder_is_refused(made: list, split: str, tmp_path: Path) -> None:
    arguments = ["blind", "--split", split, "--out", tmp_path / "p", "--probe", "noise-2"]
    assert invoke(*arguments).exit_code == 0
    assert isinstance(invoke(*arguments, "--seed", "1").exception, UserError)


@pytest.mark.parametrize("arguments", [[], ["blind", "--probe", "mask"], ["no/such/vetter:x"]])
def test_mistakes_are_told(arguments: list[str], split: str) -> None:
    assert isinstance(invoke(*arguments, "--split", split).exception, UserError)


def test_the_list_names_every_probe() -> None:
    done = CliRunner().invoke(app, ["--list"])
    assert done.exit_code == 0
    for probe in all_probes():
        assert probe.name in done.output


def test_by_task_prints_a_table_for_each(
    made: list, make_split: Callable[..., Split], tmp_path: Path
) -> None:
    folder = tmp_path / "two"
    both = [candidate for task in ("cv", "wd") for candidate in make_split(6, task).candidates]
    write_split(Split("two", "1", tuple(both), {"made": "by a test"}), folder)
    done = invoke("balmer", "--split", folder, "--out", tmp_path / "p", "--probe", "scaled", "--by-task")
    assert done.exit_code == 0, done.output
    titles = [line.strip() for line in done.output.splitlines()]
    assert [title for title in titles if title in {"all tasks", "cv", "wd"}] == ["all tasks", "cv", "wd"]


def test_one_vetter_is_made_at_a_time_and_none_twice_in_a_row(made: list, split: str, tmp_path: Path) -> None:
    assert invoke("balmer", "--split", split, "--out", tmp_path / "p").exit_code == 0
    assert [vetter.config.get("title") for vetter in made] == [None, "none", "figure"]


def test_a_limit_in_dollars_holds_for_all_probes_together(
    made: list, split: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    free = Balmer.vet
    monkeypatch.setattr(
        Balmer, "vet", lambda self, asked: (replace(one, cost_usd=0.01) for one in free(self, asked))
    )
    monkeypatch.setattr(Balmer, "expected_usd", 0.01, raising=False)
    arguments = ["balmer", "--split", split, "--out", tmp_path / "p", "--probe", "scaled"]
    done = invoke(*arguments, "--max-usd", "0.305")  # 20 questions as they are, 10 of the probe's
    assert done.exit_code == 3, done.output
    logged = [
        (tmp_path / "p" / name / "predictions.jsonl").read_text().count("\n") for name in ("plain", "scaled")
    ]
    assert logged == [20, 10]
    assert invoke(*arguments, "--max-usd", "0.41").exit_code == 0
