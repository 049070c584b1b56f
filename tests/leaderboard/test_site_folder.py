"""What becomes of the folder of a site: whole sites only, and nothing of anybody else's."""

import multiprocessing
import os
import signal

import pytest

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import locked
from specvi_leaderboard.site.folder import BUILDING, WRITTEN_FILE, renewed


def build(folder, files):
    with renewed(folder, "index.html") as place:
        for name, text in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)


def seen(folder):
    """Return name → text of what a visitor could ask for."""
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_text() for name, path in files.items() if not name.startswith(".")}


def test_what_was_written_before_and_not_now_goes_with_its_empty_folders(tmp_path):
    build(tmp_path, {"index.html": "1", "data/a/old.js": "1", "data/kept.js": "1"})
    (tmp_path / "data" / "mine.js").write_text("mine")
    build(tmp_path, {"index.html": "2", "data/kept.js": "1"})
    assert seen(tmp_path) == {"index.html": "2", "data/kept.js": "1", "data/mine.js": "mine"}
    assert not (tmp_path / "data" / "a").exists()
    build(tmp_path, {"index.html": "3"})
    assert seen(tmp_path) == {"index.html": "3", "data/mine.js": "mine"}


def test_a_file_that_is_the_same_is_left_alone(tmp_path):
    build(tmp_path, {"index.html": "1", "data/a.js": "1"})
    before = (tmp_path / "data" / "a.js").stat().st_ino
    build(tmp_path, {"index.html": "2", "data/a.js": "1"})
    assert (tmp_path / "data" / "a.js").stat().st_ino == before


@pytest.mark.parametrize("kind", ["file", "folder", "link", "link to a folder", "file for a folder"])
def test_what_nobody_built_is_never_written_over(tmp_path, kind):
    site, other = tmp_path / "site", tmp_path / "other"
    site.mkdir()
    other.mkdir()
    (other / "a.js").write_text("mine")
    {
        "file": lambda: (site / "index.html").write_text("mine"),
        "folder": (site / "index.html").mkdir,
        "link": lambda: (site / "index.html").symlink_to(other / "a.js"),
        "link to a folder": lambda: (site / "data").symlink_to(other),
        "file for a folder": lambda: (site / "data").write_text("mine"),
    }[kind]()
    before = sorted(path.name for path in site.iterdir())
    with pytest.raises(UserError, match="no build of a leaderboard wrote"):
        build(site, {"index.html": "1", "data/a.js": "1"})
    assert (other / "a.js").read_text() == "mine"
    assert sorted(path.name for path in site.iterdir() if path.name != ".specvi-site.lock") == before


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "site").write_text("mine")
    with pytest.raises(UserError, match="a file lies where the site should go"):
        build(tmp_path / "site", {"index.html": "1"})


def test_a_list_that_was_tampered_with_removes_nothing_elsewhere(tmp_path):
    site, other = tmp_path / "site", tmp_path / "mine.txt"
    other.write_text("mine")
    build(site, {"index.html": "1"})
    (site / WRITTEN_FILE).write_text(f"index.html\n../mine.txt\n{other}\n")
    build(site, {"index.html": "2"})
    assert other.read_text() == "mine"


def killed_in(where, folder):
    """Build until there, and be killed."""
    kill = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # noqa: E731
    with renewed(folder, "index.html") as place:
        for name in ("index.html", "data/a.js", "data/b.js"):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text("2")
        if where == "building":
            kill()
        from specvi_leaderboard.site import folder as module

        module._remove = kill  # everything is in its place, what is gone is still there


@pytest.mark.parametrize(("where", "index"), [("building", "1"), ("clearing", "2")])
def test_a_killed_build_leaves_one_site_and_the_next_clears_up(tmp_path, where, index):
    build(tmp_path, {"index.html": "1", "data/a.js": "1", "data/old.js": "1"})
    process = multiprocessing.get_context("fork").Process(target=killed_in, args=(where, tmp_path))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert (tmp_path / "index.html").read_text() == (tmp_path / "data" / "a.js").read_text() == index
    build(tmp_path, {"index.html": "3"})
    assert seen(tmp_path) == {"index.html": "3"}
    assert not (tmp_path / BUILDING).exists()


def test_two_builds_at_once_are_one_build(tmp_path):
    build(tmp_path, {"index.html": "1"})
    with (
        locked(tmp_path / "specvi-site"),
        pytest.raises(UserError, match="another process is building a site there"),
    ):
        build(tmp_path, {"index.html": "2"})
    assert seen(tmp_path) == {"index.html": "1"}
