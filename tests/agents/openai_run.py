"""A run of many questions to a local server, for a test that kills it: ``openai_run.py RUN_FOLDER BASE_URL COUNT``."""

import runpy
import sys
from pathlib import Path

from specvi_agents.models.openai import create
from specvi_benchmark.runs.record import SplitReference
from specvi_benchmark.runs.runner import run

if __name__ == "__main__":
    folder, url, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    conftest = runpy.run_path(str(Path(__file__).parents[1] / "conftest.py"))
    split = conftest["small_split"](count)
    reference = SplitReference(
        name="small", version="1", path="small", part="test", task=None, fingerprint=split.fingerprint
    )
    options = {"base_url": url, "backoff_s": "0.02", "in_flight": "48", "tries": "12"}
    print("started", flush=True)  # noqa: T201  # the test waits for this line
    run(create("echo", options), "openai:echo", split, reference, folder)
