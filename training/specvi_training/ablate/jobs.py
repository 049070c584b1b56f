"""The commands of an ablation and what each waits for; run a few at once, and never again once done."""

import json
import os
import shlex
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import write_json

Tell = Callable[[str], None]

LAST_LINES = 5


@dataclass(frozen=True, slots=True)
class Job:
    """A command.

    Attributes
    ----------
    name
        Names its log and the mark that it is done; may hold ``/``.
    command
        Its words. Typed again after a kill it goes on.
    needs
        Names of those that come first.
    """

    name: str
    command: tuple[str, ...]
    needs: tuple[str, ...] = ()


def run_all(jobs: Sequence[Job], out: Path, *, workers: int, threads: int | None, tell: Tell) -> None:
    """Run every job that is not done yet.

    Raises
    ------
    UserError
        One failed. Those at work are let come to their end; its log says why.
    """
    done = {job.name for job in jobs if _mark(out, job).is_file()}
    if done:
        tell(f"{len(done)} of {len(jobs)} are done already")
    waiting = [job for job in jobs if job.name not in done]
    at_work: dict[Future[int], Job] = {}
    failed: list[Job] = []
    environment = dict(os.environ)
    if threads is not None:
        environment |= {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    with ThreadPoolExecutor(workers) as pool:
        while at_work or (waiting and not failed):
            ready = [] if failed else [job for job in waiting if set(job.needs) <= done]
            for job in ready[: workers - len(at_work)]:
                waiting.remove(job)
                tell(f"{job.name} begins")
                at_work[pool.submit(_run, job, out, environment)] = job
            finished, _ = wait(at_work, return_when=FIRST_COMPLETED)
            for future in finished:
                job = at_work.pop(future)
                if future.result():
                    failed.append(job)
                else:
                    done.add(job.name)
                    tell(f"{job.name} is done ({len(done)} of {len(jobs)})")
    if failed:
        log = _log(out, failed[0])
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise UserError(
            "a command of the ablation failed",
            where=shlex.join(failed[0].command),
            got="\n".join(lines[-LAST_LINES:]),
            fix=f"read {log}, then type the same command again: it goes on",
        )


def seconds(jobs: Iterable[Job], out: Path) -> dict[str, float]:
    """Return how long each job took that is done, the last try of it."""
    return {
        job.name: json.loads(_mark(out, job).read_text())["seconds"]
        for job in jobs
        if _mark(out, job).is_file()
    }


def _run(job: Job, out: Path, environment: Mapping[str, str]) -> int:
    log = _log(out, job)
    log.parent.mkdir(parents=True, exist_ok=True)
    clock = time.monotonic()
    with log.open("ab") as stream:
        code = subprocess.run(  # noqa: S603  # our own commands
            job.command, stdout=stream, stderr=subprocess.STDOUT, env=environment, check=False
        ).returncode
    if code == 0:
        mark = _mark(out, job)
        mark.parent.mkdir(parents=True, exist_ok=True)
        write_json(mark, {"command": list(job.command), "seconds": time.monotonic() - clock})
    return code


def _log(out: Path, job: Job) -> Path:
    return out / "logs" / f"{job.name}.log"


def _mark(out: Path, job: Job) -> Path:
    return out / "done" / f"{job.name}.json"
