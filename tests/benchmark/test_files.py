"""Files: atomic writes, logs that survive a kill at any byte, and faults told in one message."""

import json
import os
from pathlib import Path

import pytest

from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.files import (
    StrictModel,
    append_line,
    atomic_path,
    canonical_json,
    home,
    mend_log,
    parse_yaml,
    read_json_model,
    read_lines,
    write_json,
    write_text,
)


class Point(StrictModel):
    x: int
    y: int


def test_atomic_path_leaves_the_old_file_on_failure(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    write_text(path, "old")

    def fail() -> None:
        with atomic_path(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["result.json"]


def test_written_files_have_ordinary_rights(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "x")
    (tmp_path / "b").write_text("x")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_a_log_survives_a_cut_at_any_byte(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    records = [{"id": "α", "n": 1}, {"id": "b", "n": 2}, {"id": "c\n", "n": 3}]
    for record in records:
        append_line(log, record)
    whole = log.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == 0x0A]
    for cut in range(len(whole) + 1):
        log.write_bytes(whole[:cut])
        finished = sum(end <= cut for end in ends)
        assert [value for _, value in read_lines(log)] == records[:finished]  # also before it is mended
        mend_log(log)
        assert [value for _, value in read_lines(log)] == records[:finished]
        append_line(log, {"id": "next"})
        assert [value for _, value in read_lines(log)][-1] == {"id": "next"}


def test_every_fault_of_a_record_is_in_one_message(tmp_path: Path) -> None:
    path = tmp_path / "point.json"
    path.write_text('{"x": "one", "z": 3}')
    with pytest.raises(UserError) as caught:
        read_json_model(path, Point)
    message = str(caught.value)
    assert "3 faults in Point" in message
    assert str(path) in message
    for word in ("x: ", "'one'", "y: Field required", "z: Extra inputs"):
        assert word in message


def test_a_short_write_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.write
    monkeypatch.setattr(os, "write", lambda handle, line: whole(handle, line[:3]))
    append_line(tmp_path / "log", {"id": "a long enough line"})
    assert [value for _, value in read_lines(tmp_path / "log")] == [{"id": "a long enough line"}]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"9" * 5000, "not usable JSON", id="huge-number"),
        pytest.param(b"[" * 100_000, "not usable JSON", id="deep"),
        pytest.param(b"{", "not valid JSON", id="cut"),
        pytest.param(b"\xff\xfe{", "not a text file", id="utf-16"),
        pytest.param(None, "no such file", id="missing"),
    ],
)
def test_unreadable_json_is_told(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "p.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        read_json_model(path, Point)


def test_nan_is_never_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "a.json", {"x": float("nan")})
    assert not (tmp_path / "a.json").exists()


def test_canonical_json_has_one_form() -> None:
    assert canonical_json({"b": 1, "a": [1.5, None, "é"]}) == b'{"a":[1.5,null,"\\u00e9"],"b":1}'
    assert json.loads(canonical_json({"z": 0.1})) == {"z": 0.1}


def test_home_is_chosen_by_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPECVI_HOME", str(tmp_path))
    assert home() == tmp_path
    monkeypatch.delenv("SPECVI_HOME")
    assert home().name == "specvi"


def test_examples_names_the_first_and_counts_the_rest() -> None:
    assert examples("abcde", limit=2) == "a, b and 3 more"
    assert examples(["a"]) == "a"


def test_a_key_that_stands_twice_in_yaml_is_refused() -> None:
    for text in ("rate: 1\nrate: 2", "model: {base: a, base: b}", "- {x: 1, x: 1}"):
        with pytest.raises(UserError, match="stands twice"):
            parse_yaml(text, "config.yaml")
    merged = "common: &c {rate: 1}\nmine: {<<: *c, rate: 2}\nother: {rate: 3}"
    assert parse_yaml(merged, "config.yaml")["mine"] == {"rate": 2}
