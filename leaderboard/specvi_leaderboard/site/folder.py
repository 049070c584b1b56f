"""The folder of a site: built aside, then put in place. What an earlier build wrote and this one did not goes, nothing else."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import locked, write_text

WRITTEN_FILE = ".specvi-site"
"""Names of the files that the last build wrote, one a line: only these are ever replaced or removed."""

BUILDING = ".specvi-building"
"""Where a build collects its files; of a killed one the next removes it."""


@contextmanager
def renewed(folder: Path, last: str) -> Iterator[Path]:
    """Yield an empty folder to write a site into; its files take the place of the earlier site's when the block ends.

    An exception or a kill in the block leaves the earlier site as it is. Each file is replaced in one step, ``last``
    (the first page) after all others; a file that is the same already is left alone. One build at a time.

    Raises
    ------
    UserError
        Another process builds there, or a file that no build wrote would be lost.
    """
    if folder.exists() and not folder.is_dir():
        raise UserError("a file lies where the site should go", where=folder, fix="name another with --out")
    place = folder / BUILDING
    with locked(folder / "specvi-site", waiting=lambda: _refuse_second(folder)):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        try:
            yield place
            made = sorted(path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file())
            before = _written(folder)
            _refuse_loss(folder, made, before)
            _list(folder, {*before, *made})  # a kill from here on loses track of nothing
            for name in sorted(made, key=lambda name: name == last):
                _put(place / name, folder / name)
            for name in before - set(made):
                _remove(folder, name)
            _list(folder, set(made))
        finally:
            shutil.rmtree(place, ignore_errors=True)


def _refuse_second(folder: Path) -> None:
    raise UserError(
        "another process is building a site there",
        where=folder,
        fix="wait until it has ended, or name another folder with --out",
    )


def _written(folder: Path) -> set[str]:
    """Return what the last build wrote; a name that leads out of the folder is no name."""
    try:
        lines = (folder / WRITTEN_FILE).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return set()
    paths = {line: PurePosixPath(line) for line in lines if line}
    return {line for line, path in paths.items() if not path.is_absolute() and ".." not in path.parts}


def _list(folder: Path, names: set[str]) -> None:
    write_text(folder / WRITTEN_FILE, "".join(f"{name}\n" for name in sorted(names)))


def _refuse_loss(folder: Path, made: Sequence[str], before: set[str]) -> None:
    for name in made:
        path = folder / name
        # A folder that is a file, or a link out of here, would take what is written under its name elsewhere.
        above = [folder / parent for parent in PurePosixPath(name).parents if parent.name]
        strange = [one for one in above if one.is_symlink() or (one.exists() and not one.is_dir())]
        if path.is_symlink() or path.is_dir() or (path.exists() and name not in before):
            strange.append(path)
        if strange:
            raise UserError(
                "the folder holds something that no build of a leaderboard wrote, and that would be lost",
                where=folder,
                got=strange[0].relative_to(folder),
                fix="name an empty folder with --out, or move it away",
            )


def _put(new: Path, path: Path) -> None:
    if path.is_file() and path.read_bytes() == new.read_bytes():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    new.replace(path)


def _remove(folder: Path, name: str) -> None:
    """Remove a file, and the folders that are empty without it."""
    path = folder / name
    if any((folder / parent).is_symlink() for parent in PurePosixPath(name).parents if parent.name):
        return
    path.unlink(missing_ok=True)
    for parent in path.relative_to(folder).parents[:-1]:
        try:
            (folder / parent).rmdir()
        except OSError:
            return
