"""The layers of the design: imports only downward, no circles, and torch only where it is declared."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
ALLOWED = {
    "specvi_benchmark": set(),
    "specvi_baselines": {"specvi_benchmark"},
    "specvi_agents": {"specvi_benchmark"},
    "specvi_training": {"specvi_benchmark", "specvi_agents"},
    "specvi_leaderboard": {"specvi_benchmark"},
}
ROOTS = {name: REPOSITORY / name.removeprefix("specvi_") / name for name in ALLOWED}
MODULES = {
    ".".join((root.name, *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__"): path
    for root in ROOTS.values()
    for path in root.rglob("*.py")
}
WITH_TORCH = (
    "specvi_training.",
    "specvi_agents.models.local.",
    "specvi_agents.models.transformers",
    "specvi_agents.tiny",
    "specvi_baselines.networks.",
    "specvi_benchmark.archive.screen.engines",  # Ray, when asked for
)
WITH_INSPECT = ("specvi_agents.inspect_", "specvi_agents.bench.inspect_side")
TORCH = {"torch", "transformers", "trl", "accelerate", "peft", "vllm", "ray", "torchvision", "captum"}


def imported(path: Path, *, top_level_only: bool = False) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level_only else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_go_only_downward(module: str) -> None:
    package = module.split(".", 1)[0]
    ours = {name.split(".", 1)[0] for name in imported(MODULES[module])} & set(ALLOWED)
    assert ours - {package} <= ALLOWED[package]


def test_no_import_circles() -> None:
    # Names imported at the top of a module; a package's own __init__ re-exports, so it counts as its parts do.
    graph = {
        module: {name for name in imported(path, top_level_only=True) if name in MODULES and name != module}
        for module, path in MODULES.items()
    }
    # `from package import Name` also runs package/__init__, which re-exports its parts: no circle of ideas.
    graph = {
        module: {name for name in names if not module.startswith(f"{name}.")}
        for module, names in graph.items()
    }
    order = list(TopologicalSorter(graph).static_order())  # CycleError names the circle
    assert set(order) == set(MODULES)


@pytest.mark.parametrize("module", sorted(MODULES))
def test_only_training_backends_and_networks_may_name_torch(module: str) -> None:
    at_import = {name.split(".", 1)[0] for name in imported(MODULES[module])}
    if at_import & TORCH:
        assert module.startswith(WITH_TORCH)


@pytest.mark.parametrize("module", sorted(MODULES))
def test_only_its_own_modules_import_inspect_ai(module: str) -> None:
    at_import = {name.split(".", 1)[0] for name in imported(MODULES[module], top_level_only=True)}
    if "inspect_ai" in at_import:
        assert module.startswith(WITH_INSPECT)


def test_no_outer_folder_is_a_package() -> None:
    assert [root.parent.name for root in ROOTS.values() if (root.parent / "__init__.py").exists()] == []


def test_the_whole_program_runs_without_torch() -> None:
    """Load every core module in a process where importing torch is an error."""
    core = sorted(module for module in MODULES if not module.startswith(WITH_TORCH + WITH_INSPECT))
    script = f"""
import importlib, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".", 1)[0] in {TORCH!r}:
            raise ImportError(f"core code imports {{name}}")

sys.meta_path.insert(0, Refuse())
for name in {core!r}:
    importlib.import_module(name)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_project_speaks_of_itself_alone() -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    ).stdout.split("\0")
    if tracked == [""]:
        pytest.skip("not a git checkout")
    for name in filter(None, tracked):
        path = REPOSITORY / name
        if path == Path(__file__) or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="ignore")
        for word in ("/work/", "/root/", "/home/", ".library"):
            assert word not in text, f"{name} names {word}"
