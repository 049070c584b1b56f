"""The evidence score: where a system looked, what its claims come to, intervals, files and the command."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta

from specvi_benchmark.cli.main import main
from specvi_benchmark.evidence import validation
from specvi_benchmark.evidence.inspected import hold_against
from specvi_benchmark.evidence.looked import looked_at
from specvi_benchmark.evidence.score import Row, score_task, share, standing
from specvi_benchmark.files import append_line, write_json
from specvi_benchmark.lines import get_line
from specvi_benchmark.runs.predictions import Prediction
from specvi_benchmark.runs.record import RunRecord, choose_split, write_run_record
from specvi_benchmark.scoring.results import read_results
from specvi_benchmark.spectrum import clean_spectrum
from specvi_benchmark.splits import Candidate, Split
from specvi_benchmark.splits.io import write_split
from specvi_benchmark.tasks import get_task
from specvi_benchmark.traces import ToolCall, Trace, Turn, ViewRecord, said

GRID_AA = 3700.0 * 10 ** (1e-4 * np.arange(3909))
FULL = (3700.0, 9100.0)


def spectrum_with(heights: dict[str, float], seed: int = 0):
    """Return a flat spectrum at S/N 20 with Gaussian lines, FWHM 25 Å, of these heights."""
    flux = np.ones(GRID_AA.size)
    for name, height in heights.items():
        flux += height * np.exp(-0.5 * ((GRID_AA - get_line(name).vacuum_AA) / 10.6) ** 2)
    noise = np.random.default_rng(seed).normal(0, 0.05, flux.size)
    return clean_spectrum(GRID_AA, flux + noise, np.full(flux.size, 400.0), survey="lamost", name="made")


def candidate(name: str, truth: str = "YES", heights: dict[str, float] | None = None) -> Candidate:
    return Candidate(
        id=name, task=get_task("cv"), track="main", part="test", spectrum=spectrum_with(heights or {"Hα": 0.8, "Hβ": 0.7}),
        redshift=None, truth=truth, object_id=f"object of {name}", object_id_source="simulated", label_source="test",
    )  # fmt: skip


def view(low: float, high: float, frame: str = "observed") -> ViewRecord:
    return ViewRecord(
        png_sha256="0" * 64,
        pixel_sha256="0" * 64,
        window_AA=(low, high),
        frame=frame,
        style="clean",
        size_px=(896, 448),
    )


def inspection(
    *zooms: tuple[float, float] | None, thought: str = "", answer: str = "", frame: str = "observed"
):
    """Return the turns of an inspection: a full view, zooms (None: a call without a picture), an answer."""
    turns = [Turn(role="user", text="Is it?", views=(view(*FULL, frame),))]
    for number, zoom in enumerate(zooms):
        call = ToolCall(id=str(number), name="spectral_visualization_tool", arguments="{}")
        turns.append(Turn(role="assistant", text=thought, tool_calls=(call,)))
        pictures = () if zoom is None else (view(*zoom, frame),)
        turns.append(Turn(role="tool", text="shown", tool_call_id=str(number), views=pictures))
    turns.append(Turn(role="assistant", text=answer))
    return tuple(turns)


def test_where_it_looked() -> None:
    turns = inspection((4770, 4960), None, (6400, 6740), (6401, 6739), (3700, 9090))
    looked = looked_at(turns, {}, get_task("cv"), 0.0)
    assert looked.order == ("Hβ", "Hα")
    assert (looked.calls, looked.without_picture, looked.repeated) == (5, 1, 2)
    assert looked.windows == len(get_task("cv").windows)
    h_alpha, last = 6564.6, len(turns)
    assert looked.shows(h_alpha, 0)  # the full view comes first
    assert not looked.shows(h_alpha, 4, zoomed=True)  # the zoom on it comes in the sixth turn
    assert looked.shows(h_alpha, last, zoomed=True)
    assert not looked.shows(3600.0, last)


def test_views_at_rest_are_brought_to_observed_wavelengths() -> None:
    turns = inspection((6400, 6740), frame="rest")
    looked = looked_at(turns, {"redshift": 0.002}, get_task("cv"), 0.002)
    assert looked.views[1].range_AA == pytest.approx((6412.8, 6753.48))
    assert looked.order == ("Hα",)


def held(text: str, *zooms: tuple[float, float], heights: dict[str, float] | None = None):
    made = candidate("one", heights=heights)
    record = Trace(inspection(*zooms, answer=text), {}).record("cv", made.id)
    return hold_against(made.question, record)


def test_each_claim_is_held_against_the_flux() -> None:
    text = "Hα and Hβ are in emission. He II 4686 is in emission. Hγ is absent. There is no Hα absorption. Hδ may be in emission."
    found = {(item.claim.feature, item.claim.kind): item.verdict for item in held(text, (6400, 6740)).held}
    assert found == {
        ("Hα", "emission"): "holds",
        ("Hβ", "emission"): "holds",
        ("He II 4687", "emission"): "unsupported",
        ("Hγ", None): "holds",
        ("Hα", "absorption"): "holds",
        ("Hδ", "emission"): "open",
    }


def test_what_the_flux_denies_is_a_contradiction() -> None:
    heights = {"Hα": 0.8, "Hβ": -0.5}
    found = {
        item.claim.feature: item.verdict
        for item in held("Hα is absent. Hβ is in emission.", heights=heights).held
    }
    assert found == {"Hα": "contradicted", "Hβ": "contradicted"}


def test_the_last_word_counts() -> None:
    (item,) = held("Hα emission is absent. Looking closer, Hα emission is present.").held
    assert (item.claim.polarity, item.verdict) == ("present", "holds")


def test_the_last_word_counts_where_only_one_names_the_kind() -> None:
    (item,) = held("Hα emission is present. Looking closer, Hα is absent.").held
    assert item.claim.polarity == "absent"


def test_a_claimed_width_is_compared() -> None:
    agrees = {
        fwhm: held(f"Hα is in emission: EW 20 Å, FWHM {fwhm} km/s.").held[0].width_agrees
        for fwhm in (1100, 300, 4000)
    }
    assert agrees == {1100: True, 300: False, 4000: False}  # it is 25 Å, 1140 km/s


def test_what_no_view_showed_is_not_covered() -> None:
    made = candidate("one")
    turns = (
        Turn(role="user", text="Is it?", views=(view(4000, 5000),)),
        Turn(role="assistant", text="Hα and Hβ are in emission."),
    )
    found = hold_against(made.question, Trace(turns, {}).record("cv", made.id))
    assert {item.claim.feature: item.outcome for item in found.held} == {"Hα": "not covered", "Hβ": "found"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hα and Hβ are in emission.", "found"),
        ("He II 4686 is in emission.", "not_found"),
        ("Hα at 5000 Å is in emission.", "none"),  # a wrong wavelength supports nothing
        ("[O III] 5007 is absent.", "none"),
        ("It looks like one.", "none"),
    ],
)
def test_what_the_decisive_claims_come_to(text: str, expected: str) -> None:
    assert standing(held(text).held) == expected


def test_the_counts_of_a_task() -> None:
    texts = {
        "a": ("YES", "YES", "Hα and Hβ are in emission."),
        "b": ("YES", "YES", "He II 4686 is in emission."),
        "c": ("YES", "YES", "It is one."),
        "d": ("YES", "NO", "Hα is absent."),
        "e": ("NO", "YES", "Hα is in emission."),
    }
    rows = []
    for name, (truth, answer, text) in texts.items():
        made = candidate(name, truth)
        rows.append(Row(made, answer, hold_against(made.question, said(text).record("cv", name))))
    rows.append(Row(candidate("f"), "YES", None))
    found = score_task("main", "cv", rows)
    assert (found.n, found.without_text) == (5, 1)
    decisive = found.decisive
    assert (decisive.n, decisive.found, decisive.not_found, decisive.none) == (3, 1, 1, 1)
    assert decisive.share.value == pytest.approx(1 / 3)
    claims = found.claims
    assert (claims.present, claims.absent) == (4, 1)
    assert claims.unsupported.value == pytest.approx(1 / 4)  # He II
    assert claims.contradicted.value == pytest.approx(1 / 5)  # Hα of d
    assert found.looked.calls is None  # text alone has no views
    assert {example.of for example in found.examples} == {"unsupported YES", "contradicted"}


def test_thin_shares_have_jeffreys_intervals() -> None:
    found = share([True] * 3 + [False] * 9, [str(number) for number in range(12)])
    assert found.value == 0.25
    assert (found.low, found.high) == pytest.approx(beta.interval(0.95, 3.5, 9.5), abs=0.02)
    assert share([], []).value is None
    assert share([True] * 5, list("abcde")).high == 1.0


def test_claims_of_one_object_stand_together() -> None:
    """20 objects with 10 equal claims each know as much as 20 claims: their interval is √10 times as wide."""
    hits = [number % 2 == 0 for number in range(20) for _ in range(10)]
    together = share(hits, [str(number) for number in range(20) for _ in range(10)])
    apart = share(hits, [str(number) for number in range(200)])
    ratio = (together.high - together.low) / (apart.high - apart.low)
    assert ratio == pytest.approx(np.sqrt(10), rel=0.15)


def test_thin_shares_widen_where_claims_of_one_object_agree() -> None:
    """Nine equal claims of one object among five objects of twelve: Jeffreys' interval of n over the design effect."""
    together = share([True] * 9 + [False] * 51, [str(number // 12) for number in range(60)])
    effect = ((9 - 0.15 * 12) ** 2 + 4 * (0.15 * 12) ** 2) / (9 * 51 / 60)
    low, high = beta.ppf([0.025, 0.975], 9 / effect + 0.5, 51 / effect + 0.5)
    assert (together.low, together.high) == pytest.approx((low, high), abs=0.02)
    assert together.high > share([True] * 9 + [False] * 51, [str(number) for number in range(60)]).high + 0.1


def call(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code or 0


@pytest.fixture
def run_folder(tmp_path):
    """Return a run with text over twelve candidates, as `specvi run` leaves it."""
    made = tuple(candidate(f"cv-{n:03d}", "YES" if n % 3 == 0 else "NO") for n in range(12))
    write_split(
        Split(name="small", version="1", recipe={"made": "by a test"}, candidates=made), tmp_path / "split"
    )
    folder = tmp_path / "run"
    folder.mkdir()
    split, reference = choose_split(str(tmp_path / "split"))
    record = RunRecord(
        schema_version=1, vetter="made", config={}, split=reference, versions={"scoring_version": 1}, environment={},
        seed=0, started="2026-01-01T00:00:00+00:00",
    )  # fmt: skip
    write_run_record(folder, record)
    for one in split.candidates:
        line = Prediction(id=one.id, task="cv", answer="YES", outcome="answered")
        append_line(folder / "predictions.jsonl", line.model_dump(mode="json"))
        trace = said("Hα and Hβ are in emission, but no He II.").record("cv", one.id)
        append_line(folder / "traces.jsonl", trace.model_dump(mode="json"))
    return folder


def test_score_prints_and_writes_the_evidence(run_folder, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert call("score", run_folder) == 0
    printed = capsys.readouterr().out
    assert "is the decisive claim of a right YES in the flux?" in printed
    assert "docs/evidence.md" in printed
    (task,) = read_results(run_folder / "results.json").evidence.tasks
    assert (task.n, task.decisive.n, task.decisive.found) == (12, 4, 4)
    assert task.claims.present == 24
    assert task.claims.contradicted.value == 0


def test_score_without_evidence(run_folder, capsys) -> None:
    assert call("score", run_folder, "--no-evidence") == 0
    assert "decisive claim" not in capsys.readouterr().out
    assert read_results(run_folder / "results.json").evidence is None


def test_a_run_without_text_has_no_evidence(run_folder, capsys) -> None:
    (run_folder / "traces.jsonl").unlink()
    assert call("score", run_folder) == 0
    assert "decisive claim" not in capsys.readouterr().out


def test_older_results_are_read(run_folder) -> None:
    assert call("score", run_folder, "--no-evidence") == 0
    path = run_folder / "results.json"
    content = json.loads(path.read_text())
    content["schema_version"] = 2
    del content["evidence"]
    write_json(path, content)
    assert read_results(path).evidence is None


def test_a_quasar_claim_lies_where_it_is_said_to_be() -> None:
    redshift = 0.3
    flux = 1 + 0.8 * np.exp(-0.5 * ((GRID_AA / (1 + redshift) - get_line("Hβ").vacuum_AA) / 15) ** 2)
    noise = np.random.default_rng(1).normal(0, 0.05, flux.size)
    spectrum = clean_spectrum(GRID_AA, flux + noise, np.full(flux.size, 400.0), survey="lamost")
    made = replace(candidate("q"), task=get_task("qso"), spectrum=spectrum)
    for text, outcome in (
        ("Hβ is in broad emission at z = 0.30.", "found"),
        ("Hβ is in broad emission at 6321 Å.", "found"),
        ("Hβ is in broad emission at z = 0.50.", "not found"),
        ("Hβ is in broad emission.", "not testable"),  # no redshift said, none given
    ):
        (item,) = hold_against(made.question, said(text).record("qso", "q")).held
        assert item.outcome == outcome, text


@pytest.mark.parametrize("as_json", [False, True])
def test_bench_evidence_prints_both_tables(as_json: bool, capsys, monkeypatch) -> None:
    kept = [
        case for case in validation.CASES if (case.kind, case.feature) in {("wd-da", "Hβ"), ("wd-dc", "Hβ")}
    ]
    monkeypatch.setattr(validation, "CASES", tuple(kept))
    monkeypatch.setenv("COLUMNS", "160")
    assert call("bench", "evidence", "--objects", 3, *(["--json"] if as_json else [])) == 0
    printed = capsys.readouterr().out
    if as_json:
        rates = {(row["case"]["kind"], row["snr"]): row["share"] for row in json.loads(printed)}
        assert rates["wd-da", 50.0] == 1.0
        assert rates["wd-dc", 50.0] == 0.0
    else:
        assert "the rest is missed" in printed
        assert "not there" in printed
