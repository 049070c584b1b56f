"""The documentation: its Python runs, its links lead somewhere, its commands exist."""

import doctest
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path
    for path in REPOSITORY.rglob("*.md")
    if not any(part.startswith(".") for part in path.relative_to(REPOSITORY).parts)
)
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PROMPTS = re.compile(r"^```pycon\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")
COMMAND = re.compile(r"\bspecvi ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?")


def name(page: Path) -> str:
    return str(page.relative_to(REPOSITORY))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_prompts_in_the_docs_print_what_they_show(page: Path) -> None:
    blocks = PROMPTS.findall(page.read_text(encoding="utf-8"))
    example = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, name(page), str(page), 0)
    assert doctest.DocTestRunner().run(example).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_python_in_the_docs_runs(page: Path, tmp_path: Path) -> None:
    blocks = PYTHON.findall(page.read_text(encoding="utf-8"))
    if not blocks:
        return
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(blocks)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_in_the_docs_lead_somewhere(page: Path) -> None:
    dead = [
        target
        for target in LINK.findall(page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert dead == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_in_the_docs_exist(page: Path) -> None:
    known = {point.name.split(".")[0] for point in entry_points(group="specvi.commands")}
    code = "\n".join(
        re.findall(
            r"`[^`\n]+`|^```[a-z]*\n.*?^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
        )
    )
    assert {first for first, _ in COMMAND.findall(code)} <= known


def test_readme_leads_with_the_two_commands() -> None:
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    first_block = re.search(r"^```[a-z]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert first_block is not None
    assert "make demo" in first_block[1]
    assert "make test" in first_block[1]


def test_every_page_of_the_guide_is_linked_from_the_readme() -> None:
    linked = set(LINK.findall((REPOSITORY / "README.md").read_text(encoding="utf-8")))
    assert {f"docs/{page.name}" for page in (REPOSITORY / "docs").glob("*.md")} <= linked


def test_every_design_page_is_linked_from_its_index() -> None:
    index = REPOSITORY / "docs" / "design" / "README.md"
    linked = set(LINK.findall(index.read_text(encoding="utf-8")))
    assert {page.name for page in index.parent.glob("*.md")} - {"README.md"} <= linked
