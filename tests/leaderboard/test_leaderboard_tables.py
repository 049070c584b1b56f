"""Tables as they are printed: numbers, captions, marks, and text that no program obeys."""

import csv
import io
import shutil
import subprocess

import pytest

from specvi_benchmark.cli.main import main
from specvi_benchmark.errors import UserError
from specvi_benchmark.splits.io import write_split
from specvi_leaderboard.gather import gather
from specvi_leaderboard.reported import reported
from specvi_leaderboard.tables.csv_text import csv_text, harmless
from specvi_leaderboard.tables.grid import Grid, Number, Section
from specvi_leaderboard.tables.latex import PREAMBLE, latex
from specvi_leaderboard.tables.latex import escaped as tex
from specvi_leaderboard.tables.layouts import grids
from specvi_leaderboard.tables.markdown import escaped as md
from specvi_leaderboard.tables.markdown import markdown

HOSTILE = r"\input{/etc/passwd} $x$ & 50 % #1 _a_ ~ ^ {b} <script> | `c` “é” 李 " + "\x07"


@pytest.fixture(scope="module")
def board(make_run_once):
    runs = [
        make_run_once("reader", 9, 4),
        make_run_once("broken", 12, 0, other=["error"]),
        make_run_once("second", 9, 5),
    ]
    return gather(runs).boards[0]


def hostile_grid():
    return Grid(
        label="hostile",
        caption=HOSTILE,
        groups=((HOSTILE, 2),),
        head=("System", "F1"),
        keys=("system", "f1"),
        text_columns=frozenset({0}),
        sections=(Section(HOSTILE, ((HOSTILE, Number(0.5, 0.4, 0.6, mark="‡", strong=True)),)),),
        marks={"‡": HOSTILE},
    )


def compiled(tables, tmp_path):
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("LaTeX is not installed (texlive-latex-recommended has what the tables need)")
    body = "\n".join(tables)
    text = f"\\documentclass[10pt,a4paper]{{article}}\n\\usepackage[margin=15mm]{{geometry}}{PREAMBLE}\n"
    (tmp_path / "t.tex").write_text(f"{text}\\begin{{document}}\n{body}\n\\end{{document}}\n")
    done = subprocess.run(
        [program, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "t.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout


def test_tables_compile_and_fit_the_page(board, tmp_path):
    told = compiled([latex(grid) for layout in ("full", "paper") for grid in grids(board, layout)], tmp_path)
    assert "Overfull" not in told
    assert (tmp_path / "t.pdf").stat().st_size > 1000


def test_no_text_is_obeyed_by_latex(tmp_path):
    compiled([latex(hostile_grid())], tmp_path)
    assert r"\input" not in tex(HOSTILE)
    assert tex("é ü – †") == r"é ü -- \textsuperscript{\dag}"
    assert tex("李") == "?"


def test_no_text_becomes_markup_in_markdown():
    assert md("[a](javascript:x) <b> *c* _d_ a|b `e` https://x") == (
        r"\[a\](javascript:x) \<b\> \*c\* \_d\_ a\|b \`e\` https:\//x"
    )
    assert md("# head") == r"\# head"
    assert md("a\n\nb") == "a b"
    rows = markdown(hostile_grid()).splitlines()
    assert all(row.replace(r"\|", "").count("|") == 3 for row in rows if row.startswith("|"))


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@sum(a)", "\t=1", "  =1", "=HYPERLINK(1)"])
def test_no_cell_of_a_csv_file_is_a_formula(text):
    assert harmless(text).startswith("'")
    assert harmless("always-yes") == "always-yes"


def test_csv_has_every_digit_and_every_interval(board):
    (grid,) = grids(board, "full")
    rows = {row["system"]: row for row in csv.DictReader(io.StringIO(csv_text(grid)))}
    f1 = board.task("main", "cv", "reader").ranked.f1
    assert float(rows["reader"]["cv_f1"]) == f1.value == 18 / 25
    assert (float(rows["reader"]["cv_f1_low"]), float(rows["reader"]["cv_f1_high"])) == (f1.low, f1.high)
    assert rows["broken"]["rank"] == "–"
    assert rows["reader"]["rank"] == "1–2"


def test_a_caption_says_what_a_reader_must_know(board):
    for layout in ("full", "paper"):
        for grid in grids(board, layout):
            for words in (
                "SIMULATED",
                "360 candidates",
                "95\N{NO-BREAK SPACE}% confidence sets",
                "Any non-answer (abstained, unparsed, truncated, refused, error) is wrong",
                "Not ranked: broken (incomplete",
                "interval",
            ):
                assert words in grid.caption, words


def test_the_papers_layout_has_accuracy_and_f1_of_every_task_and_the_mean(board):
    (grid,) = grids(board, "paper")
    assert [text for text, _ in grid.groups] == ["", "CV", "CS", "SS", "MG", "WD", "Mean"]
    rows = {row[0]: row for section in grid.sections for row in section.rows}
    # reader: 9 of 12 found, 4 false alarms among 60: 65 of 72 right, F1 18 / 25.
    assert [cell.text for cell in rows["reader"][1:]] == ["90.3", "72.0"] * 6
    assert rows["reader"][-1].strong
    assert rows["second"][-1].strong  # tied with the first
    assert not rows["always-yes"][-1].strong
    headings = [section.heading for section in grid.sections]
    assert headings == ["Constant answers", "Rules", "Other"]


def test_rows_alone_fit_into_a_table_of_that_layout(board):
    (grid,) = grids(board, "paper")
    rows = latex(grid, rows_only=True)
    assert "tabular" not in rows
    row = next(line for line in rows.splitlines() if line.startswith("reader"))
    assert row == "reader & " + " & ".join(["90.3", "72.0"] * 5) + r" & 90.3 & \textbf{72.0} \\"


def test_published_figures_never_stand_beside_other_candidates(board):
    with pytest.raises(UserError, match="about other candidates"):
        grids(board, "paper", reported())


def test_published_figures_stand_below_and_marked(board):
    """The same board with the numbers of candidates of the published set, and real."""
    sizes = {"cv": 1458, "cs": 1321, "ss": 1442, "mg": 1321, "wd": 1212}
    systems = tuple(
        system.model_copy(
            update={
                "results": system.results.model_copy(
                    update={
                        "tasks": tuple(
                            s.model_copy(update={"n": sizes[s.task]}) for s in system.results.tasks
                        )
                    }
                )
            }
        )
        for system in board.systems
    )
    real = board.model_copy(update={"simulated": False, "systems": systems})
    (grid,) = grids(real, "paper", reported())
    section = grid.sections[-1]
    assert section.heading == "Reported, not re-scored (Spec-o3, arXiv 2601.06498, SpecVI-Bench, Table 1)"
    rows = {row[0]: row for row in section.rows}
    assert [cell.text for cell in rows["Spec-o3-7B †"][1:3]] == ["93.1", "81.0"]
    assert rows["Spec-o3-3B †"][2].mark == "‡"
    assert rows["Spec-o3-7B †"][2].mark == ""
    assert "‡" in grid.marks
    assert "confidence sets" in grid.caption


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return caught.value.code, out, err


def test_the_command_prints_or_writes(make_run, tmp_path, capsys):
    run = make_run("reader", 9, 4)
    code, out, _ = call(capsys, "leaderboard", "tables", run)
    assert code == 0
    assert "| 1 | reader |" in out
    code, out, _ = call(capsys, "leaderboard", "tables", run, "--format", "latex", "--out", tmp_path / "t")
    assert code == 0
    (path,) = (tmp_path / "t").iterdir()
    assert path.name.endswith("ranking-main.tex")
    code, _, err = call(capsys, "leaderboard", "tables", run, "--rows-only")
    assert code == 2
    assert "rows alone are for LaTeX" in err


def test_a_table_is_never_of_two_splits(make_run, make_split, tmp_path, capsys):
    write_split(make_split("Other"), tmp_path / "other")
    runs = [make_run("a", 9, 4), make_run("b", 9, 4, at=tmp_path / "other")]
    code, _, err = call(capsys, "leaderboard", "tables", *runs)
    assert code == 2
    assert "more than one split fingerprint" in err
