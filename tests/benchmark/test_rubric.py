"""Ratings of inspections: the file, families, and agreement held against closed forms."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from specvi_benchmark.cli.rubric import app
from specvi_benchmark.errors import UserError
from specvi_benchmark.files import json_line
from specvi_benchmark.rubric import (
    Preference,
    Rated,
    Rater,
    Rating,
    family_of,
    read_ratings,
    same_family,
    the_rubric,
)
from specvi_benchmark.rubric.agreement import agreement
from specvi_benchmark.runs.record import SplitReference
from specvi_benchmark.runs.runner import run
from specvi_benchmark.splits import Split
from specvi_benchmark.traces import said
from specvi_benchmark.vetting import answered


def rated(number: int, vetter: str = "scripted", *, trace: str | None = None) -> Rated:
    return Rated(
        run="r",
        vetter=vetter,
        family=family_of(vetter),
        task="cv",
        id=f"cv-{number}",
        sample=0,
        trace_sha256=trace or f"{number:064d}",
    )


def rating(rater: Rater, number: int, level: int | None, **more: object) -> Rating:
    return Rating(rubric_version=1, rater=rater, of=rated(number), coherence=level, **more)


ANN, BEN, CAI = (Rater(name=name, kind="person") for name in ("Ann", "Ben", "Cai"))
JUDGE = Rater(name="openai:gpt-9", kind="model", family="openai", prompt_version=1)


def test_every_level_of_every_criterion_has_an_anchor() -> None:
    rubric = the_rubric()
    assert [criterion.key for criterion in rubric.criteria] == ["coherence", "consistency"]
    for criterion in rubric.criteria:
        assert len(set(criterion.anchors)) == 6
        assert hasattr(Rating, "model_fields")
        assert criterion.key in Rating.model_fields


@pytest.mark.parametrize(
    ("spec", "family"),
    [
        ("scripted", "code"),
        ("openai:gpt-9-mini", "openai"),
        ("openai:o3", "openai"),
        ("openai:openai/o4-mini", "openai"),
        ("vllm:Maxwell-Jia/Spec-o3-7B", "qwen"),
        ("transformers:Qwen/Qwen3-VL-8B", "qwen"),
        ("inspect:anthropic/claude-opus", "anthropic"),
        ("openai:google/gemma-4", "google"),
        ("openai:OpenGVLab/InternVL3-8B", "internlm"),
        ("transformers:checkpoints/run-7", None),
        ("openai:llama-turbo3", "meta"),
    ],
)
def test_families_by_name(spec: str, family: str | None) -> None:
    assert family_of(spec) == family


def test_own_family_is_told_and_not_known_is_not_no() -> None:
    assert same_family(JUDGE, rated(1, "openai:gpt-4o")) is True
    assert same_family(JUDGE, rated(1, "vllm:qwen"), rated(2, "openai:o3")) is True
    assert same_family(JUDGE, rated(1, "vllm:qwen")) is False
    assert same_family(JUDGE, rated(1, "scripted")) is False
    assert same_family(JUDGE, rated(1, "vllm:folder")) is None
    nameless = Rater(name="vllm:folder", kind="model")
    assert same_family(nameless, rated(1, "vllm:qwen")) is None
    assert same_family(nameless, rated(1, "rules")) is False
    assert same_family(ANN, rated(1, "openai:gpt-4o")) is False


def test_a_model_distilled_from_another_family_is_of_both() -> None:
    distilled = rated(1, "vllm:DeepSeek-R1-Distill-Qwen-7B")
    assert distilled.family == "qwen+deepseek"
    for judge, told in (("deepseek", True), ("Qwen", True), ("meta", False), ("deepseek+meta", True)):
        assert same_family(Rater(name="judge", kind="model", family=judge), distilled) is told
    assert family_of("vllm:spec-o3-7b") == "qwen"


@pytest.mark.parametrize("said", [{}, {"own_family": False}, {"own_family": None}])
def test_a_line_that_hides_its_own_family_is_found_out(tmp_path: Path, said: dict[str, object]) -> None:
    line = rating(JUDGE, 1, 3).model_dump(mode="json")
    line["of"] |= {"vetter": "openai:gpt-4o", "family": "openai"}
    del line["own_family"]
    (tmp_path / "one.jsonl").write_text(json.dumps(line | said) + "\n", encoding="utf-8")
    (entry,) = read_ratings(tmp_path / "one.jsonl")
    assert entry.own_family is True


def write(path: Path, *entries: Rating | Preference) -> Path:
    path.write_bytes(b"".join(json_line(entry.model_dump(mode="json")) for entry in entries))
    return path


def test_a_file_reads_back_and_the_last_line_of_a_rater_counts(tmp_path: Path) -> None:
    one, again, other = rating(ANN, 1, 2), rating(ANN, 1, 4), rating(BEN, 1, 5)
    choice = Preference(rubric_version=1, rater=ANN, first=rated(1), second=rated(2), prefers="tie")
    assert read_ratings(write(tmp_path / "r.jsonl", one, other, choice, again)) == (again, other, choice)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("coherence", 6),
        ("coherence", 2.5),
        ("coherence", "3"),
        ("coherence", True),
        ("stars", 5),
        ("kind", "x"),
    ],
)
def test_what_is_no_rating_is_refused_with_its_line(tmp_path: Path, key: str, value: object) -> None:
    line = rating(ANN, 1, 2).model_dump(mode="json") | {key: value}
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps(rating(BEN, 1, 1).model_dump(mode="json")) + "\n" + json.dumps(line) + "\n")
    with pytest.raises(UserError, match="line 2"):
        read_ratings(path)


def test_agreement_of_two_raters_against_closed_forms() -> None:
    levels = {"Ann": [0, 1, 2, 3, 4, 5, 5, 3], "Ben": [0, 1, 2, 3, 4, 5, 3, 5]}
    entries = [
        rating(rater, number, level)
        for rater in (ANN, BEN)
        for number, level in enumerate(levels[rater.name])
    ]
    (line,) = agreement(entries)
    assert (line.criterion, line.raters, line.items) == ("coherence", ("Ann", "Ben"), 8)
    assert line.exact.value == pytest.approx(6 / 8)
    assert line.within_one == pytest.approx(6 / 8)
    assert line.higher == 0
    assert line.alpha.low < line.alpha.value < 1
    up = [rating(BEN, number, min(5, level + 1)) for number, level in enumerate([0, 1, 2, 3])]
    down = [rating(ANN, number, level) for number, level in enumerate([0, 1, 2, 3])]
    (line,) = agreement([*up, *down])
    assert line.exact.value == 0
    assert line.within_one == 1
    assert line.higher == pytest.approx(1)


def test_random_raters_agree_as_by_chance_and_all_people_get_a_line() -> None:
    rng = np.random.default_rng(5)
    entries = [
        rating(rater, number, int(rng.integers(6))) for rater in (ANN, BEN, CAI) for number in range(300)
    ]
    lines = agreement(entries)
    assert [line.raters for line in lines] == [
        ("Ann", "Ben", "Cai"),
        ("Ann", "Ben"),
        ("Ann", "Cai"),
        ("Ben", "Cai"),
    ]
    assert abs(lines[0].alpha.value) < 0.1
    assert lines[0].higher is None


def test_preferences_agree_whatever_the_order_of_the_pair() -> None:
    one, other = rated(1, trace="a" * 64), rated(1, trace="b" * 64)
    entries = [
        Preference(rubric_version=1, rater=ANN, first=one, second=other, prefers="first"),
        Preference(rubric_version=1, rater=BEN, first=other, second=one, prefers="second"),
    ]
    (line,) = agreement(entries)
    assert line.criterion == "preference"
    assert line.exact.value == 1
    assert line.within_one is None
    turned = entries[1].model_copy(update={"prefers": "first"})
    (line,) = agreement([entries[0], turned])
    assert line.exact.value == 0


def test_open_levels_and_faults_are_not_counted_and_own_family_is() -> None:
    entries = [
        rating(ANN, 1, 3),
        rating(ANN, 2, None),
        rating(JUDGE, 1, 3, own_family=True),
        rating(JUDGE, 2, None, fault="no JSON"),
    ]
    (line,) = agreement(entries)
    assert (line.items, line.own_family) == (1, 1)


class Speaker:
    """A vetter that says something different of each question."""

    def __init__(self, words: str) -> None:
        self.config = {"name": "speaker"}
        self.words = words

    def vet(self, questions):
        for question in questions:
            yield answered(question, "NO", traces=(said(f"{self.words} {question.id}"),))


@pytest.fixture
def runs(make_split: Callable[..., Split], tmp_path: Path) -> list[Path]:
    split = make_split(8)
    reference = SplitReference(
        name="small", version="1", path="small", part="test", task=None, fingerprint=split.fingerprint
    )
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        run(Speaker(folder.name), "speaker", split, reference, folder)
    return folders


def test_sheets_draw_the_same_questions_for_everyone(runs: list[Path], tmp_path: Path) -> None:
    drawn = []
    for name, chosen in (("Ann", runs[:1]), ("Ben", runs[:1]), ("Cai", runs[1:]), ("Dee", runs)):
        out = tmp_path / f"{name}.jsonl"
        arguments = ["sheet", *map(str, chosen), "--name", name, "--out", str(out), "--number", "3"]
        assert CliRunner().invoke(app, arguments).exit_code == 0
        drawn.append(read_ratings(out))
    ids = [[entry.of.id for entry in entries] for entries in drawn[:3]]
    assert ids[0] == ids[1] == ids[2]
    assert len(set(ids[0])) == 3
    assert [entry.first.id for entry in drawn[3]] == ids[0]
    assert all(entry.first.trace_sha256 != entry.second.trace_sha256 for entry in drawn[3])
    assert [entry.of.trace_sha256 for entry in drawn[0]] == [entry.of.trace_sha256 for entry in drawn[1]]


def test_agree_prints_a_table_and_says_what_must_be_said(tmp_path: Path) -> None:
    people = write(tmp_path / "p.jsonl", *(rating(ANN, number, number % 6) for number in range(12)))
    judged = write(
        tmp_path / "j.jsonl",
        *(rating(JUDGE, number, number % 6, own_family=number < 2 or None) for number in range(12)),
        rating(JUDGE, 99, None, fault="no JSON object"),
    )
    done = CliRunner().invoke(app, ["agree", str(people), str(judged)])
    assert done.exit_code == 0
    words = " ".join(done.output.split())
    assert "1.00" in words
    assert "2 ratings are by a judge of the rated model's own family" in words
    assert "Of 10 ratings it is not known" in words
    assert "1 replies of judges could not be read" in words
    (line,) = json.loads(CliRunner().invoke(app, ["agree", str(people), str(judged), "--json"]).output)
    assert line["alpha"]["value"] == 1
    assert line["higher"] == 0


def test_ratings_of_two_rubric_versions_are_not_mixed(tmp_path: Path) -> None:
    old = rating(BEN, 1, 3).model_copy(update={"rubric_version": 0})
    path = write(tmp_path / "r.jsonl", rating(ANN, 1, 3), old)
    done = CliRunner().invoke(app, ["agree", str(path)])
    assert isinstance(done.exception, UserError)
