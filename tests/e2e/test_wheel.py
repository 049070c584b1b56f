"""The wheel: installed into an empty environment it runs the demo, with everything it needs inside it."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    source = (
        out / "source"
    )  # a copy: building leaves a folder behind, whose old files would go into the next wheel
    unwanted = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")
    shutil.copytree(REPOSITORY, source, ignore=unwanted)
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(out), str(source)],
        check=True,
        capture_output=True,
    )
    (built,) = out.glob("*.whl")
    return built


@pytest.mark.slow
def test_the_wheel_holds_five_packages_and_their_data(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    packages = {name.split("/")[0] for name in names if not name.split("/")[0].endswith(".dist-info")}
    assert packages == {
        f"specvi_{name}" for name in ("benchmark", "baselines", "agents", "training", "leaderboard")
    }
    for needed in ("tasks/cv.yaml", "tasks/qso.yaml", "lines/lines.yaml", "lines/bands.yaml", "py.typed"):
        assert f"specvi_benchmark/{needed}" in names
    assert any(name.startswith("specvi_leaderboard/") and name.endswith(".jinja") for name in names)
    sources = {
        str(path.relative_to(root.parent))
        for root in REPOSITORY.glob("*/specvi_*")
        for path in root.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert sources <= set(names), f"left out of the wheel: {sorted(sources - set(names))}"


@pytest.mark.slow
def test_the_demo_runs_from_the_wheel_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    """The environment holds the wheel alone; its dependencies come from the one the tests run in."""
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    python = environment / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(install, check=True)
    (site,) = environment.glob("lib/python*/site-packages")
    ours = [path for path in sys.path if path.endswith("site-packages")]
    (site / "zz-dependencies.pth").write_text("\n".join(ours))  # paths only: editable hooks there are not run
    settings = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    settings["SPECVI_HOME"] = str(tmp_path / "home")
    where = subprocess.run(
        [str(python), "-c", "import specvi_leaderboard as m; print(m.__file__)"],
        check=True,
        capture_output=True,
        text=True,
        env=settings,
        cwd=tmp_path,
    )
    assert where.stdout.startswith(str(environment))
    done = subprocess.run(
        [str(environment / "bin" / "specvi"), "demo", "--out", "demo"],
        check=False,
        capture_output=True,
        text=True,
        env=settings,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "always-no" in done.stdout
    assert "rules" in done.stdout
    assert (tmp_path / "demo").is_dir()
    assert list((tmp_path / "demo").rglob("index.html"))
