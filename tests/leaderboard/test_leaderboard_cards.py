"""Model cards, the Space and the push, as the Hub's own library reads them; and the files about the repository."""

import re
from pathlib import Path

import pytest
import yaml
from huggingface_hub import ModelCard, SpaceCard, parse_eval_result_entries

from specvi_benchmark.cli.main import main
from specvi_benchmark.hub.results_card import CardSubject, model_card
from specvi_leaderboard.collection import read_board_file

REPOSITORY = Path(__file__).resolve().parents[2]
SUBJECT = CardSubject(
    name="Reader",
    kind="agent",
    licence="proprietary",
    base_model=None,
    status="re-scored: sent",
    date="2026-03-01",
    notes="<script>alert(1)</script> [x](javascript:1) {{ 7 * 7 }} {% raw %}",
    rank="1–2 of 5",
    simulated=True,
)


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return caught.value.code, out, err


def test_cards_hold_the_scores_as_the_hub_reads_them(make_run, tmp_path, capsys):
    out = tmp_path / "cards"
    run = make_run("reader", 9, 4)
    code, _, _ = call(capsys, "leaderboard", "cards", run, "--dataset", "me/toy", "--out", out)
    assert code == 0
    folders = {path.name.rsplit("-", 1)[0]: path for path in out.iterdir()}
    assert set(folders) == {"reader", "rules"}  # constants have no repository
    card = ModelCard.load(folders["reader"] / "README.md")
    found = {(r.dataset_config, r.metric_type): r.metric_value for r in card.data.eval_results}
    assert found["cv", "f1"] == pytest.approx(18 / 25)
    assert found["cv", "accuracy"] == pytest.approx(65 / 72)
    assert found["main", "f1"] == pytest.approx(18 / 25)
    assert card.data.datasets == ["me/toy"]
    assert "simulated" in card.data.tags
    assert "SIMULATED" in card.text
    assert "Any non-answer" in card.text
    (path,) = (folders["reader"] / ".eval_results").iterdir()
    entries = {e.task_id: e for e in parse_eval_result_entries(yaml.safe_load(path.read_text()))}
    assert entries["main"].value == 72.0
    assert entries["main"].dataset_id == "me/toy"
    assert entries["main-cv"].value == 72.0


def test_a_submitters_words_are_no_markup_and_no_template(make_run):
    from specvi_leaderboard.systems import read_systems

    results = read_systems([make_run("reader", 9, 4)])[0].system.results
    card = model_card(SUBJECT, results, "me/toy")
    assert "<script>" not in card.text
    assert r"\[x\](javascript:1)" in card.text  # brackets that are escaped make no link
    assert "{{ 7 \\* 7 }}" in card.text
    assert card.data.license == "other"
    assert card.data.license_name == "proprietary"


@pytest.mark.parametrize(
    ("option", "value"), [("--dataset", "nope"), ("--dataset", "a/b c"), ("--source", "javascript:alert(1)")]
)
def test_names_and_addresses_are_checked(make_run, tmp_path, capsys, option, value):
    more = ["--dataset", "me/toy"] if option != "--dataset" else []
    arguments = ["leaderboard", "cards", make_run("r", 9, 4), "--out", tmp_path / "c", *more, option, value]
    assert call(capsys, *arguments)[0] == 2


def test_a_dry_run_writes_the_space_and_asks_nobody(make_run, tmp_path, capsys, monkeypatch):
    import socket

    def refuse(*_, **__):
        raise AssertionError("no connection is wanted")

    site = tmp_path / "site"
    call(capsys, "leaderboard", "build", make_run("reader", 9, 4), "--out", site)
    (site / "link.html").symlink_to("/etc/passwd")
    (site / "code.py").write_text("x")
    monkeypatch.setattr(socket.socket, "connect", refuse)
    space = tmp_path / "space"
    code, said, _ = call(
        capsys, "leaderboard", "push", site, "--repo", "me/board", "--dry-run", "--out", space
    )
    assert code == 0
    assert "Nothing was uploaded" in said
    names = {str(path.relative_to(space)) for path in space.rglob("*") if path.is_file()}
    assert {"README.md", "index.html", "leaderboard.json", "leaderboard.schema.json"} <= names
    assert not {"link.html", "code.py"} & names
    card = SpaceCard.load(space / "README.md")
    assert (card.data.sdk, card.data.app_file) == ("static", "index.html")


def test_a_push_uploads_that_folder_as_a_space_in_one_commit(make_run, tmp_path, capsys, monkeypatch):
    import huggingface_hub

    calls = {}

    class Api:
        def __init__(self, token):
            calls["token"] = token

        def create_repo(self, repo_id, **more):
            calls["repo"] = (repo_id, more["repo_type"], more["space_sdk"])

        def upload_folder(self, *, folder_path, repo_type, **_):
            calls["files"] = {p.name for p in Path(folder_path).rglob("*") if p.is_file()}
            calls["type"] = repo_type
            return type("Commit", (), {"commit_url": "https://hub/commit/1"})()

    monkeypatch.setattr(huggingface_hub, "HfApi", Api)
    site = tmp_path / "site"
    call(capsys, "leaderboard", "build", make_run("reader", 9, 4), "--out", site)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    code, _, err = call(capsys, "leaderboard", "push", site, "--repo", "me/board")
    assert code == 2
    assert "no token" in err
    assert not calls
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    code, said, err = call(capsys, "leaderboard", "push", site, "--repo", "me/board")
    assert code == 0
    assert calls["repo"] == ("me/board", "space", "static")
    assert calls["type"] == "space"
    assert "README.md" in calls["files"]
    assert "hf_secret" not in said + err


def test_what_is_no_site_is_not_pushed(tmp_path, capsys):
    (tmp_path / "x").mkdir()
    arguments = ["leaderboard", "push", tmp_path / "x", "--repo", "a/b", "--dry-run", "--out", tmp_path / "y"]
    code, _, err = call(capsys, *arguments)
    assert code == 2
    assert "not a leaderboard's site" in err


# The repository's own files


def test_the_citation_file_has_what_the_format_asks_for():
    content = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(content)
    version = re.search(r'^version = "(.+)"', (REPOSITORY / "pyproject.toml").read_text(), re.MULTILINE)
    assert content["version"] == version[1]


def test_the_workflow_has_no_secret_and_runs_the_base_branch():
    text = (REPOSITORY / ".github/workflows/validate-submission.yml").read_text()
    content = yaml.safe_load(text)
    assert set(content[True]) == {"pull_request"}  # YAML 1.1 reads the key `on` as true
    assert content["permissions"] == {"contents": "read"}
    assert "secrets." not in text
    (job,) = content["jobs"].values()
    runs = [step.get("run", "") for step in job["steps"]]
    assert not any("github.event.pull_request" in line or "github.head_ref" in line for line in runs)
    assert any("pip install" in line and "./base" in line for line in runs)
    assert all(
        step["with"]["persist-credentials"] is False
        for step in job["steps"]
        if "checkout" in step.get("uses", "")
    )


def test_the_workflows_filter_lets_one_submission_pass_and_nothing_else():
    text = (REPOSITORY / ".github/workflows/validate-submission.yml").read_text()
    pattern = re.compile(re.search(r"grep -v '(.+)' changed", text)[1])
    assert pattern.search("submissions/my-model/submission.yaml")
    for name in (
        "board.yaml",
        "submissions/README.md",
        ".github/workflows/x.yml",
        'submissions/a/../../x"',
        "submissions/a/b/c",
        "xsubmissions/a/b",
    ):
        assert not pattern.search(name)


def test_issue_forms_and_the_board_file_are_sound():
    for path in (REPOSITORY / ".github/ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(path.read_text())
        assert form["name"]
        assert all(item["type"] in {"input", "textarea", "dropdown", "markdown"} for item in form["body"])
    assert read_board_file(REPOSITORY).splits == ("mini-small", "mini")
