"""The root command: lists without importing, names missing extras, and turns mistakes into exit code 2."""

import subprocess
import sys
from importlib.metadata import Distribution, entry_points
from pathlib import Path

import pytest
from typer.core import TyperGroup

from specvi_benchmark.cli.lazy import first_docstring_line, missing_packages, root_group
from specvi_benchmark.errors import UserError

NEEDED = {"demo", "tasks", "inspect", "split", "run", "score", "leaderboard"}


def run_python(code: str, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *more], capture_output=True, text=True, check=False)


def test_help_lists_every_command_and_imports_none() -> None:
    code = """
import sys
from specvi_benchmark.cli.main import main
try:
    main(["--help"])
except SystemExit as end:
    assert end.code in (0, None), end.code
loaded = sorted(name for name in sys.modules if name.startswith("specvi_"))
allowed = {"specvi_benchmark", "specvi_benchmark.cli", "specvi_benchmark.cli.main", "specvi_benchmark.cli.lazy",
           "specvi_benchmark.errors"}
assert set(loaded) <= allowed, loaded
heavy = {"numpy", "pandas", "astropy", "matplotlib", "scipy", "pyarrow", "sklearn", "datasets", "torch"} & set(sys.modules)
assert not heavy, heavy
"""
    done = run_python(code)
    assert done.returncode == 0, done.stderr
    for name in NEEDED:
        assert f" {name} " in done.stdout


def test_every_command_has_a_help_line_that_stands_in_its_module() -> None:
    for point in entry_points(group="specvi.commands"):
        line = first_docstring_line(point.module)
        assert line.endswith("."), f"{point.name}: {line!r}"
        import importlib

        module = importlib.import_module(point.module)
        assert (module.__doc__ or "").startswith(line)


@pytest.mark.parametrize("name", sorted(NEEDED))
def test_every_command_answers_help(name: str) -> None:
    done = run_python(f"from specvi_benchmark.cli.main import main; main([{name!r}, '--help'])")
    assert done.returncode == 0, done.stderr
    assert "Usage" in done.stdout


def test_unknown_command_exits_2_and_suggests() -> None:
    done = run_python("from specvi_benchmark.cli.main import main; main(['taks'])")
    assert done.returncode == 2
    assert "tasks" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_users_mistake_is_one_message_and_exit_code_2() -> None:
    done = run_python("from specvi_benchmark.cli.main import main; main(['tasks', 'show', 'nova'])")
    assert done.returncode == 2
    assert done.stderr.startswith("Error: no such task")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--vetter", "always-no", "--out", "{file}"],
        ["run", "--vetter", "always-no", "--out", "{file}/x"],
    ],
)
def test_what_the_system_refuses_is_one_message(tmp_path: Path, arguments: list[str]) -> None:
    file = tmp_path / "a file"
    file.write_text("x")
    done = run_python(
        f"from specvi_benchmark.cli.main import main; main({[a.format(file=file) for a in arguments]!r})"
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.strip().startswith("Error: ")
    assert "a file" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_terminal_without_unicode_is_no_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from specvi_benchmark.cli.main import main; main(['tasks', 'show', 'cv'])"],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONIOENCODING": "ascii", "PATH": ""},
    )
    assert done.returncode == 0, done.stderr


def test_a_closed_pipe_is_no_traceback() -> None:
    code = "from specvi_benchmark.cli.main import main; main(['tasks', 'show', 'cv'])"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert "Traceback" not in process.stderr.read()


def test_another_pipe_that_breaks_is_no_success() -> None:
    done = run_python(
        "import specvi_benchmark.cli.main as cli\n"
        "class Group:\n"
        "    def main(self, *_, **__):\n"
        "        raise BrokenPipeError\n"
        "cli.root_group = Group\n"
        "cli.main(['tasks'])"
    )
    assert done.returncode == 2
    assert done.stderr.startswith("Error: what this program was writing to has gone away")
    assert "Traceback" not in done.stderr


def test_ctrl_c_says_that_the_run_goes_on(tmp_path: Path) -> None:
    code = """
import sys
from specvi_benchmark.runs import runner
def stop(*a, **k):
    raise KeyboardInterrupt
runner.run = stop
from specvi_benchmark.cli.main import main
main(["run", "--vetter", "always-no", "--out", sys.argv[1]])
"""
    done = run_python(code, str(tmp_path / "r"))
    assert done.returncode == 130
    assert "The same command goes on where it stopped" in done.stderr


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Write an installed-looking distribution with a command that needs an extra nobody has."""
    info = tmp_path / "specvi_plug-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: specvi-plug\nVersion: 1.0\nProvides-Extra: far\n"
        'Requires-Dist: surely-not-installed>=1; extra == "far"\nRequires-Dist: numpy\n'
    )
    (info / "entry_points.txt").write_text(
        "[specvi.commands]\nfar = specvi_plug.far:app [far]\nnear.one = specvi_plug.near:app\ntasks.extra = specvi_plug.near:app\n"
    )
    package = tmp_path / "specvi_plug"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "far.py").write_text('"""Reach far."""\nraise RuntimeError("must not be imported")\n')
    (package / "near.py").write_text(
        '"""Say near."""\nimport typer\napp = typer.Typer()\n@app.command()\ndef near() -> None:\n    typer.echo("near!")\n'
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    points = list(Distribution.at(info).entry_points.select(group="specvi.commands"))
    return [*points, *(p for p in entry_points(group="specvi.commands") if p.name == "tasks")]


def test_a_missing_extra_is_named_with_the_pip_command(
    plugin: list, capsys: pytest.CaptureFixture[str]
) -> None:
    group = root_group(plugin)
    listing = printed(group, ["--help"], capsys)
    assert "Reach far." in listing
    assert "needs [far]" in listing
    (far,) = [p for p in plugin if p.name == "far"]
    assert missing_packages(far) == ["surely-not-installed"]
    with pytest.raises(UserError, match="surely-not-installed") as caught:
        group.main(["far"], standalone_mode=False)
    assert "pip install 'specvi-plug[far]'" in str(caught.value)
    assert "specvi_plug.far" not in sys.modules


def test_dotted_names_extend_a_group_or_make_one(plugin: list, capsys: pytest.CaptureFixture[str]) -> None:
    group = root_group(plugin)
    assert printed(group, ["near", "one"], capsys).strip() == "near!"
    assert printed(group, ["tasks", "extra"], capsys).strip() == "near!"
    assert "Say near." in printed(group, ["tasks", "--help"], capsys)


def printed(group: TyperGroup, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    group.main(arguments, standalone_mode=False)
    return capsys.readouterr().out
