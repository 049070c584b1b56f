"""What a stranger may send: each is refused in a sentence, before it costs time or memory."""

import json
import os
import resource
import time
import zipfile

import pytest
import yaml

from specvi_benchmark.errors import UserError
from specvi_leaderboard.collection import taken_names
from specvi_leaderboard.submissions.folder import LIMITS
from specvi_leaderboard.submissions.submit import make_submission
from specvi_leaderboard.submissions.validate import validate_submission

DESCRIPTION = {
    "name": "Honest 1.0",
    "authors": ["Ada Müller", "李明"],
    "date": "2026-03-01",
    "kind": "vlm",
    "licence": "Apache-2.0",
    "training": [{"name": "Somebody's spectra", "link": "https://example.org/data"}],
    "links": {"code": "https://example.org/code", "paper": "https://arxiv.org/abs/2601.06498"},
    "model": {"vetter": "transformers", "hub_id": "me/model", "revision": "a" * 40},
    "hardware": "1 x H200",
    "notes": "Reads Hα and S/N < 5 well, R&D at 50 %.",
}


@pytest.fixture(scope="module")
def honest(make_run_once, tmp_path_factory):
    """Return a valid submission, as bytes by file name, and where its split lies."""
    from specvi_benchmark.runs.record import read_run_record
    from specvi_leaderboard.submissions.schema import Description

    run = make_run_once("reader", 9, 4)
    folder = tmp_path_factory.mktemp("honest") / "honest"
    make_submission(run, Description.model_validate(DESCRIPTION), folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}, read_run_record(run).split.path


@pytest.fixture
def send(honest, tmp_path):
    """Return a function that validates the honest submission after a change to it."""
    files, place = honest

    def make(change=None, folder="honest", **metadata):
        whole = tmp_path / "submissions" / folder
        whole.mkdir(parents=True)
        for name, content in files.items():
            (whole / name).write_bytes(content)
        if metadata:
            content = yaml.safe_load(files["submission.yaml"])
            for key, value in metadata.items():
                outer, _, inner = key.partition("__")
                if inner:
                    content[outer][inner] = value
                else:
                    content[outer] = value
            (whole / "submission.yaml").write_text(yaml.safe_dump(content, allow_unicode=True))
        if change:
            change(whole)
        return validate_submission(whole, [place], taken_names())

    return make


def refused(send, sentence, *arguments, **metadata):
    """Check that it is refused with these words, in a message that a terminal can show, without much cost."""
    before, clock = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with pytest.raises(UserError, match=sentence) as caught:
        send(*arguments, **metadata)
    message = str(caught.value)
    assert all(c.isprintable() or c == "\n" for c in message)
    assert len(message) < 3000
    assert "\n" not in caught.value.what
    assert time.process_time() - clock < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 600_000
    return caught.value


def test_the_honest_one_passes(send):
    checked = send()
    assert checked.submission.authors == ("Ada Müller", "李明")
    assert checked.id == "honest"


# Fields


@pytest.mark.parametrize(
    "field",
    [
        "name",
        "authors",
        "licence",
        "hardware",
        "notes",
        "split__name",
        "links__code",
        "training",
        "model__hub_id",
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "x<img src=x onerror=alert(1)>",
        "[click](javascript:alert(1))",
        "&lt;b&gt;",
        "evil\x1b[2Jname",
        "safe\u202egnp.exe",
        "zero\u200bwidth",
        "=HYPERLINK(1)",
        "z\u0335\u0322a\u0337",
    ],
    ids=["script", "image", "link", "entity", "escape", "bidi", "zero-width", "formula", "zalgo"],
)
def test_markup_scripts_and_unseen_characters_in_every_field(send, field, text):
    value = {"authors": [text], "training": [{"name": text}]}.get(field, text)
    refused(send, "is not as it should be", **{field: value})


@pytest.mark.parametrize(
    "name",
    [
        "Ноnest",
        "Ｈonest",
        "Honest\u00ad",
        "../../etc/passwd",
        "\\input{/etc/passwd}",
        "x" * 61,
        "",
        " Honest",
        "a|b",
        "$(id)",
    ],
)
def test_names_are_plain_ascii(send, name):
    refused(send, "Submission is not as it should be: name", name=name)


@pytest.mark.parametrize("name", ["Spec-o3-7B", "SPEC-03-7B", "Spec-o3 7B", "rules", "Ru1es", "aIways-yes"])
def test_a_name_that_looks_like_another_system(send, name):
    refused(send, "can be taken for that of another", name=name)


def test_an_author_in_mixed_scripts(send):
    refused(send, "mixes CYRILLIC and LATIN", authors=["Jоhn"])


@pytest.mark.parametrize(
    "link",
    [
        "javascript:alert(1)",
        "http://example.org",
        "https://user@evil.org",
        'https://example.org/"><script>',
        "https://xn--80ak6aa92e.com/",
        "file:///etc/passwd",
        "https://localhost:8000/",
        "//evil.org",
    ],
)
def test_links_are_plain_https(send, link):
    refused(send, "links.code", links={"code": link})


@pytest.mark.parametrize(
    "claim",
    [
        "metrics",
        "verified",
        "status",
        "rank",
        "f1",
        "score",
        "superseded_by",
        "id",
        "predictions",
        "withdrawn",
        "__class__",
    ],
)
def test_claims_are_unknown_keys(send, claim):
    refused(send, "is no key of it .scores and statuses are computed", **{claim.replace("__", "_"): "0.99"})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("date", "2026-02-30"),
        ("date", "yesterday"),
        ("kind", "oracle"),
        ("split__fingerprint", "nan"),
        ("split__part", "../train"),
        ("model__revision", "main"),
        ("model__vetter", "transformers:/etc"),
        ("model__hub_id", "../../x"),
        ("model__options", {"revision": "main"}),
        ("model__options", {"base_url": "https://evil.org"}),
        ("model__options", {"prompt": "../../etc/passwd"}),
        ("model__options", {"temperature": "$(id)"}),
        ("schema_version", 2),
        ("schema_version", ".inf"),
        ("training", []),
        ("authors", []),
        ("authors", ["a"] * 51),
        ("notes", "x" * 2001),
        ("run__seed", "١٢"),
    ],
)
def test_values_that_can_not_be(send, field, value):
    refused(send, "is not as it should be", **{field: value})


# YAML


def replaced(text):
    def change(folder):
        (folder / "submission.yaml").write_text(text) if isinstance(text, str) else (
            folder / "submission.yaml"
        ).write_bytes(text)

    return change


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + k)}: &{chr(98 + k)} [{', '.join([f'*{chr(97 + k)}'] * 9)}]\n" for k in range(8)
)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (BOMB, "aliases and anchors"),
        ("name: !!python/object/apply:os.system ['id']\n", "tags are not allowed"),
        ("name: !!binary aGk=\n", "tags are not allowed"),
        ("[" * 30_000, "deeper than 6"),
        ("{a: " * 10_000, "deeper than 6"),
        ("- " * 10_000 + "x", "deeper than 6"),
        ("\n".join(f"k{n}: 1" for n in range(3000)), "more than 2000 values"),
        ("name: a\nname: b\n", "a key stands there twice"),
        ("? [a, b]\n: c\n", "key must be a word"),
        ("--- \na: 1\n--- \nb: 2\n", "not valid YAML"),
        ("name: 'unfinished\n", "not valid YAML"),
        ("", "not a list of keys"),
        ("just words", "not a list of keys"),
        (b"\xff\xfe\x00name", "not a text file"),
        ("name: " + "9" * 50_000, "is not as it should be"),
        ("\x1b]0;title\x07: 1\n", "not valid YAML"),
        ("<<: {name: x}\n", "is no key of it|is not as it should be"),
    ],
    ids=lambda value: None if not isinstance(value, str) else value[:12].encode("unicode_escape").decode(),
)
def test_yaml_that_is_meant_to_harm(send, text, sentence):
    refused(send, sentence, replaced(text))


# Files


@pytest.mark.parametrize(
    "name", ["..", "UPPER", "with space", "a" * 61, "-x", "x--y", "naïve", "a.b", "new\nline"]
)
def test_folder_names_are_ids(send, name, tmp_path):
    if name == "..":
        (tmp_path / "submissions" / "a").mkdir(parents=True)
        with pytest.raises(UserError, match=r"not the id|has no place|is its metadata"):
            validate_submission(tmp_path / "submissions" / "a" / "..", [])
        return
    refused(send, "folder's name is not the id", folder=name)


def linked(name, target):
    def change(folder):
        (folder / name).unlink()
        (folder / name).symlink_to(target)

    return change


@pytest.mark.parametrize("name", ["submission.yaml", "predictions.jsonl"])
@pytest.mark.parametrize("target", ["/etc/passwd", "/dev/zero", "../../../secret", "loop"])
def test_symbolic_links_are_not_followed(send, name, target):
    refused(send, "only regular files are read, no links", linked(name, target))


def test_a_folder_that_is_a_link(send, honest, tmp_path):
    send()
    (tmp_path / "submissions" / "alias").symlink_to(tmp_path / "submissions" / "honest")
    with pytest.raises(UserError, match="not a folder of a submission"):
        validate_submission(tmp_path / "submissions" / "alias", [honest[1]])


def piped(folder):
    (folder / "predictions.jsonl").unlink()
    os.mkfifo(folder / "predictions.jsonl")


def nested(folder):
    (folder / "submission.yaml").unlink()
    (folder / "submission.yaml").mkdir()


def huge(folder):
    with (folder / "predictions.jsonl").open("r+b") as stream:
        stream.truncate(10**12)  # sparse: a terabyte that is not there


def long_yaml(folder):
    (folder / "submission.yaml").write_bytes(b"#" * (LIMITS["submission.yaml"] + 1))


def zipped(folder):
    (folder / "predictions.jsonl").unlink()
    with zipfile.ZipFile(folder / "predictions.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("predictions.jsonl", b"0" * 10_000_000)


def zip_by_another_name(folder):
    zipped(folder)
    (folder / "predictions.zip").rename(folder / "predictions.csv")


def code(folder):
    (folder / "setup.py").write_text("raise SystemExit")


def many(folder):
    for number in range(3000):
        (folder / f"f{number}").touch()


def both(folder):
    (folder / "predictions.csv").write_text("id,task,answer\n")


def none(folder):
    (folder / "predictions.jsonl").unlink()


def strange(folder):
    (folder / "a\x1b[31m\n.yaml").touch()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (piped, "only regular files"),
        (nested, "only regular files"),
        (huge, "too large"),
        (long_yaml, "too large"),
        (zipped, "has no place"),
        (zip_by_another_name, "packed or binary"),
        (code, "has no place"),
        (many, "has no place"),
        (both, "metadata and one file of answers"),
        (none, "metadata and one file of answers"),
        (strange, "has no place"),
    ],
)
def test_files_that_have_no_place(send, change, sentence):
    refused(send, sentence, change)


def test_a_device_is_not_read(send, tmp_path):
    def device(folder):
        (folder / "predictions.jsonl").unlink()
        try:
            os.mknod(folder / "predictions.jsonl", 0o666 | 0o020000, os.makedev(1, 5))  # /dev/zero
        except OSError:
            pytest.skip("only root may make a device")

    refused(send, "only regular files", device)


# Answers


def answers(edit):
    """Return a change of the lines of the answers."""

    def change(folder):
        path = folder / "predictions.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        found = edit(lines)
        path.write_bytes(
            found if isinstance(found, bytes) else "".join(f"{line}\n" for line in found).encode()
        )

    return change


def dumped(lines):
    return [json.dumps(line) for line in lines]


def changed(**values):
    return answers(lambda lines: dumped([lines[0] | values, *lines[1:]]))


def raw(line):
    return answers(lambda lines: [line, *dumped(lines[1:])])


CASES = {
    "a candidate is missing": (answers(lambda lines: dumped(lines[1:])), "do not fit the split"),
    "an unknown id": (changed(id="never-seen"), "do not fit the split"),
    "an id of another task": (changed(task="wd"), "do not fit the split"),
    "an id with a path": (changed(id="../../etc/passwd"), "do not fit the split"),
    "an id that moves the cursor": (changed(id="\x1b[2J"), "an id that no split has"),
    "an id without end": (changed(id="x" * 5000), "an id that no split has"),
    "a formula for an id": (changed(id='=HYPERLINK("http://evil")'), "do not fit the split"),
    "rows that contradict": (
        answers(
            lambda lines: dumped(
                [*lines, lines[0] | {"answer": "NO" if lines[0]["answer"] == "YES" else "YES"}]
            )
        ),
        "do not fit the split",
    ),
    "a doubled key": (raw('{"id": "a", "id": "b", "task": "cv", "answer": "YES"}'), "do not fit the split"),
    "NaN": (raw('{"id": "a", "task": "cv", "answer": "YES", "p_yes": NaN}'), "not a number of JSON"),
    "infinity": (
        raw('{"id": "a", "task": "cv", "answer": "YES", "seconds": Infinity}'),
        "not a number of JSON",
    ),
    "a number too large for a float": (
        raw('{"id": "a", "task": "cv", "answer": "YES", "p_yes": 1e999}'),
        "do not fit",
    ),
    "a probability of 2": (changed(p_yes=2), "do not fit the split"),
    "seconds of an age": (changed(seconds=1e300), "can't be so large"),
    "a number of 5,000 digits": (
        raw('{"id": "a", "task": "cv", "answer": "YES", "tokens_in": ' + "9" * 5000 + "}"),
        "do not fit the split",
    ),
    "brackets without end": (raw("[" * 15_000), "do not fit the split|one JSON list"),
    "nested objects": (raw('{"id":' * 2500), "do not fit the split"),
    "an endless line": (raw('{"id": "' + "x" * 20_000), "line is too long"),
    "an answer of another kind": (changed(answer="YES<script>"), "do not fit the split"),
    "an outcome that does not fit": (changed(outcome="error"), "do not fit the split"),
    "an unknown outcome": (changed(outcome="won"), "do not fit the split"),
    "one list": (answers(lambda lines: [json.dumps(lines)]), "one JSON list"),
    "a million rows": (answers(lambda _: b'{"id":"a"}\n' * 1_000_000), "far more bytes"),
    "many short rows": (answers(lambda _: b"1\n" * 300_000), "far more rows"),
    "bytes that are no text": (answers(lambda _: bytes(range(128, 256)) * 10), "not a text file"),
    "zero bytes": (answers(lambda _: b"\0" * 1000), "not a text file"),
    "gzip": (answers(lambda _: b"\x1f\x8b" + b"\0" * 100), "packed or binary"),
    "parquet": (answers(lambda _: b"PAR1" + b"\0" * 100), "packed or binary"),
    "nothing": (answers(lambda _: b""), "empty"),
    "a header of escapes": (answers(lambda _: b"\x1b[31mid,task\x07\n1,2\n"), "missing column"),
}


@pytest.mark.parametrize("case", CASES)
def test_answers_that_are_meant_to_harm(send, case):
    change, sentence = CASES[case]
    refused(send, sentence, change)


def test_an_open_quote_in_csv(send):
    def change(folder):
        (folder / "predictions.jsonl").unlink()
        (folder / "predictions.csv").write_text('id,task,answer\n"a,cv,YES\n' + "b,cv,YES\n" * 50)

    refused(send, "do not fit the split", change)


def test_training_on_what_is_scored(send, honest):
    fingerprint = yaml.safe_load(honest[0]["submission.yaml"])["split"]["fingerprint"]
    refused(send, "trained on the candidates it is scored on", training=[{"name": "x", "split": fingerprint}])


def test_a_scored_object_among_the_training_objects(send):
    def change(folder):
        (folder / "training-objects.txt").write_text("other\nToy-cv-3\n")

    assert "Toy-cv-3" in refused(send, "1 of the scored objects", change).got


def test_another_fingerprint(send):
    refused(send, "the split that was answered is not here", split__fingerprint="0" * 64)
