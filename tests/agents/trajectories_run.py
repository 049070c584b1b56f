"""Drafts into a folder, to be killed: ``python trajectories_run.py FOLDER COUNT``. Prints a line when it begins."""

import sys
from pathlib import Path

from trajectory_kit import stars

from specvi_agents.scripted import Scripted
from specvi_agents.trajectories.drafting import choose, draft
from specvi_agents.trajectories.screening import screen_all
from specvi_agents.trajectories.store import Store
from specvi_benchmark.runs.record import SplitReference

if __name__ == "__main__":
    folder, count = Path(sys.argv[1]), int(sys.argv[2])
    split = stars(count)
    reference = SplitReference(
        name="stars", version="1", path="stars", part="train", task=None, fingerprint="0"
    )
    sys.stdout.write("begun\n")
    sys.stdout.flush()
    draft(Scripted(), "scripted", choose(split, None), reference, folder)
    screen_all(Store(folder), {candidate.id: candidate.question for candidate in split.candidates})
