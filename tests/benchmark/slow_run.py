"""A run that takes its time, for tests that kill it: ``slow_run.py RUN_FOLDER LOG SECONDS_PER_QUESTION``.

Each question that the vetter is asked is noted in LOG, so that a test sees what was asked twice.
"""

import runpy
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from specvi_benchmark.runs.record import SplitReference
from specvi_benchmark.runs.runner import run
from specvi_benchmark.traces import said
from specvi_benchmark.vetting import Question, Verdict, answered


class Slow:
    config = {"answer": "by parity of the id"}  # noqa: RUF012

    def __init__(self, log: Path, seconds: float) -> None:
        self.log, self.seconds = log, seconds

    def vet(self, questions: Sequence[Question]) -> Iterator[Verdict]:
        for question in questions:
            with self.log.open("a") as stream:
                stream.write(question.id + "\n")
            time.sleep(self.seconds)
            yield answered(question, "YES" if int(question.id[-1]) % 2 else "NO", traces=(said("parity"),))


if __name__ == "__main__":
    folder, log, seconds = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
    conftest = runpy.run_path(str(Path(__file__).parents[1] / "conftest.py"))
    split = conftest["small_split"](40)
    reference = SplitReference(
        name="small", version="1", path="small", part="test", task=None, fingerprint=split.fingerprint
    )
    print("started", flush=True)  # noqa: T201  # the test waits for this line
    run(Slow(log, seconds), "slow", split, reference, folder)
