"""Recorded inspections: found by id, as text, as a page, and drawn again."""

import base64
import hashlib
import json
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path

import pytest

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import append_line
from specvi_benchmark.runs.record import choose_split
from specvi_benchmark.runs.runner import run
from specvi_benchmark.splits.io import write_split
from specvi_benchmark.trace_page import RecordedRun, audit, render_page, render_text
from specvi_benchmark.traces import ToolCall, Trace, Turn, said
from specvi_benchmark.vetting import Outcome, Verdict, answered
from specvi_benchmark.views import ViewOptions, render
from specvi_benchmark.views.tool import call_tool

HOSTILE = (
    '</div><script>alert("x")</script><img src=http://evil.example/x.png onerror=alert(1)>&amp; {{ 7*7 }} '
)
UNSEEN = "\x1b[31mred\x1b[0m \x07 \u202eabc\u202c \u2066x\u2069 end"
WINDOW = '{"wavelength_range": ["6700", 6400], "label": "Hα"}'
VOID = {"meta", "img", "br", "link"}


class Inspector:
    """Answers everything after one zoom, in hostile words; every fourth question by two votes."""

    config: Mapping[str, str] = {"note": HOSTILE}

    def vet(self, questions):
        for number, question in enumerate(questions):
            if number % 4 == 3:
                yield Verdict(
                    question.id,
                    question.task.key,
                    Outcome.ABSTAINED,
                    votes=("YES", "NO"),
                    traces=tuple(self.inspect(question, sample) for sample in (0, 1)),
                )
            elif number % 4 == 2:
                yield answered(question, "NO", traces=(said(HOSTILE),))
            else:
                yield answered(question, "YES", tool_calls=1, traces=(self.inspect(question, 0),))

    def inspect(self, question, sample):
        options = ViewOptions()
        views = [
            render(question.spectrum, None, options),
            call_tool(question.spectrum, WINDOW, options).view,
        ]
        turns = (
            Turn(role="system", text=HOSTILE),
            Turn(role="user", text="<image>\nIs it?", views=(views[0].record,)),
            Turn(
                role="assistant",
                text=f"<think>{HOSTILE}</think>{UNSEEN}",
                reasoning=HOSTILE,
                tool_calls=(ToolCall(id="<b>", name=HOSTILE, arguments=WINDOW),),
                stop="tool_calls",
            ),
            Turn(role="tool", text=HOSTILE, tool_call_id="<b>", views=(views[1].record,)),
            Turn(role="assistant", text=f"<answer>\\boxed{{YES}} {HOSTILE}</answer>", stop="length"),
        )
        pictures = {view.record.png_sha256: view.png for view in views}
        return Trace(turns, {"view": dict(options.config), "redshift": 0.0}, sample, pictures)


@pytest.fixture
def split_folder(tmp_path, make_split) -> Path:
    write_split(make_split(8), tmp_path / "split")
    return tmp_path / "split"


@pytest.fixture
def folder(tmp_path, split_folder) -> Path:
    """Return a run folder as `specvi run` leaves it."""
    split, reference = choose_split(str(split_folder))
    run(Inspector(), "in<b>spector", split, reference, tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def recorded(folder):
    return RecordedRun(folder).find("cv-000")


class Reader(HTMLParser):
    """Checks that tags balance, and keeps what a reader sees and what a browser would do."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data

    def count(self, name):
        return sum(tag == name for tag, _ in self.tags)


def test_the_page_is_whole_and_asks_for_nothing(recorded):
    page = render_page(recorded)
    reader = Reader(page)
    assert page.startswith("<!DOCTYPE html>")
    assert reader.count("script") == 0
    assert reader.count("img") == 2
    for _, attributes in reader.tags:
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "href", "srcset", "action"):
            assert (attributes.get(name) or "data:image/png;base64,").startswith("data:image/png;base64,")
    assert "url(" not in page
    assert "@import" not in page
    (policy,) = [a["content"] for tag, a in reader.tags if tag == "meta" and "http-equiv" in a]
    assert "default-src 'none'" in policy
    assert {"viewport", "color-scheme"} <= {a.get("name") for tag, a in reader.tags if tag == "meta"}
    for medium in ("prefers-color-scheme: dark", "print", "max-width"):
        assert f"@media ({medium}" in page or f"@media {medium}" in page
    assert render_page(recorded) == page


def test_the_pages_pictures_are_those_that_were_shown(recorded, folder):
    shown = [
        base64.b64decode(a["src"].partition(",")[2])
        for tag, a in Reader(render_page(recorded)).tags
        if tag == "img"
    ]
    views = [view for turn in recorded.samples[0].turns for view in turn.views]
    assert [hashlib.sha256(png).hexdigest() for png in shown] == [view.png_sha256 for view in views]
    assert shown[0] == (folder / "views" / f"{views[0].png_sha256}.png").read_bytes()


def test_hostile_words_are_words(recorded):
    reader = Reader(render_page(recorded))
    assert reader.text.count(HOSTILE.strip()) >= 5  # system, thought, reasoning, call, tool, answer
    assert "{{ 7*7 }}" in reader.text
    assert "in<b>spector" in reader.text
    for text in (reader.text, render_text(recorded, full=True)):
        assert "⟨U+001B⟩[31mred" in text
        assert "⟨U+202E⟩abc⟨U+202C⟩" in text
        assert not set(UNSEEN[:1] + "\x07\u202e\u2066") & set(text)


def test_as_text(recorded):
    text = render_text(recorded)
    assert "Verdict: YES (answered), 1 tool call" in text
    assert "[picture: 6400.0 to 6700.0 Å, observed frame, style clean, 896 × 448 px, " in text
    assert f"({WINDOW})" in text
    assert "(ended by length)" in text
    sizes = [len(shown.png) for shown in recorded.pictures.values()]
    assert all(f"{size:,} bytes" in text for size in sizes)


def test_long_prompts_are_cut_in_text_unless_all_is_asked_for(folder):
    path = folder / "traces.jsonl"
    record = json.loads(path.read_text().splitlines()[0])
    record["turns"][0]["text"] = "word " * 1000
    path.write_text(json.dumps(record) + "\n")
    found = RecordedRun(folder).find(record["id"])
    assert "… (4,600 more characters; --full shows them)" in render_text(found)
    assert "word " * 1000 in render_text(found, full=True)


def test_several_samples_are_all_shown(folder):
    recorded = RecordedRun(folder).find("cv-003")
    assert [sample.sample for sample in recorded.samples] == [0, 1]
    assert "votes YES, NO" in render_text(recorded)
    assert "═══ sample 1 ═══" in render_text(recorded)
    reader = Reader(render_page(recorded))
    assert "Sample 0" in reader.text
    assert "Sample 1" in reader.text
    assert reader.count("img") == 4


def test_a_statement_alone(folder):
    recorded = RecordedRun(folder).find("cv-002")
    assert "── 1 assistant ──" in render_text(recorded)
    assert Reader(render_page(recorded)).count("img") == 0


def test_missing_and_damaged_pictures_are_said(folder):
    recorded = RecordedRun(folder).find("cv-000")
    first, second = recorded.pictures
    (folder / "views" / f"{first}.png").unlink()
    path = folder / "views" / f"{second}.png"
    path.write_bytes(path.read_bytes() + b"x")
    recorded = RecordedRun(folder).find("cv-000")
    assert recorded.pictures[first].fault == f"views/{first}.png is missing"
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    assert recorded.pictures[second].fault.endswith(f"bytes have SHA-256 {found}")
    reader = Reader(render_page(recorded))
    assert reader.count("img") == 0
    for text in (reader.text, render_text(recorded)):
        assert f"views/{first}.png is missing" in text
        assert f"views/{second}.png is damaged" in text


def test_a_trace_cannot_name_a_file_elsewhere(folder, tmp_path):
    (tmp_path / "secret.png").write_bytes(b"secret")
    path = folder / "traces.jsonl"
    record = json.loads(path.read_text().splitlines()[0])
    record["turns"][1]["views"][0]["png_sha256"] = "../../secret"
    path.write_text(json.dumps(record) + "\n")
    recorded = RecordedRun(folder).find(record["id"])
    assert recorded.pictures["../../secret"].png == b""
    assert "no SHA-256" in recorded.pictures["../../secret"].fault
    assert base64.b64encode(b"secret").decode() not in render_page(recorded)


def test_an_id_may_be_shortened_as_long_as_one_question_is_meant(folder, make_split):
    found = RecordedRun(folder)
    assert found.find("cv-001").id == "cv-001"
    with pytest.raises(UserError, match="more than one question") as raised:
        found.find("cv-")
    assert "cv-000 (cv)" in str(raised.value)
    with pytest.raises(UserError, match="no such question") as raised:
        found.find("nothing")
    assert "cv-000" in str(raised.value)
    with pytest.raises(UserError, match="no such question"):
        found.find("cv-001", "wd")
    with pytest.raises(UserError, match="no such question"):
        found.find("")
    append_line(folder / "predictions.jsonl", prediction("cv-0010"))
    assert RecordedRun(folder).find("cv-001").id == "cv-001"  # the whole id before the beginnings of others


def test_no_trace_is_said(folder):
    append_line(folder / "predictions.jsonl", prediction("untold"))
    with pytest.raises(UserError, match="but no trace"):
        RecordedRun(folder).find("untold")
    (folder / "traces.jsonl").unlink()
    with pytest.raises(UserError, match="this run has no traces"):
        RecordedRun(folder).find("cv-000")
    with pytest.raises(UserError, match="not a run folder"):
        RecordedRun(folder / "views")


def test_a_trace_without_prediction(folder):
    (folder / "predictions.jsonl").unlink()
    recorded = RecordedRun(folder).find("cv-000")
    assert "stopped between trace and prediction" in render_text(recorded)
    assert "stopped between trace and prediction" in Reader(render_page(recorded)).text


def prediction(question_id: str) -> dict:
    return {"id": question_id, "task": "cv", "answer": "NO", "outcome": "answered"}


def test_views_drawn_again_are_the_same(folder, split_folder):
    result = audit(RecordedRun(folder), choose_split(str(split_folder))[0])
    assert (result.same, result.changed, result.faulty) == (16, (), ())  # two without, two with two samples


def test_a_view_that_would_be_another_is_found(folder, split_folder):
    path = folder / "traces.jsonl"
    lines = path.read_text().splitlines()
    record = json.loads(lines[0])
    record["turns"][3]["views"][0]["pixel_sha256"] = "0" * 64
    path.write_text("\n".join([json.dumps(record), *lines[1:]]) + "\n")
    (folder / "views" / f"{record['turns'][1]['views'][0]['png_sha256']}.png").write_bytes(b"")
    result = audit(RecordedRun(folder), choose_split(str(split_folder))[0])
    assert result.same == 15
    assert result.changed == ("cv cv-000: 6400.0 to 6700.0 Å",)
    assert len(result.faulty) == 1
    assert "damaged" in result.faulty[0]


def test_an_audit_needs_the_right_split(folder, tmp_path, make_split):
    write_split(make_split(4), tmp_path / "other")
    with pytest.raises(UserError, match="no candidate of the split"):
        audit(RecordedRun(folder), choose_split(str(tmp_path / "other"))[0])
