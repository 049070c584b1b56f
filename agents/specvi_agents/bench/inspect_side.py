"""The side of inspect_ai, run as a script by the Python that has it; imports nothing of this suite.

``inspect_side.py URL CONVERSATIONS IN_FLIGHT PICTURES LOGS`` holds the conversations of the echo server: the full view,
a tool that shows a picture, an answer. PICTURES holds PNG files drawn beforehand: nothing is rendered here.
"""

# ruff: noqa: PLC0415  # every module of the suite can be imported where inspect_ai is not installed

import base64
import itertools
import json
import resource
import sys
import time
from pathlib import Path

WARM_UP = 8
GUIDELINE = "word " * 600  # about as long as a task's guideline


def main(url: str, conversations: int, in_flight: int, pictures: Path, logs: Path) -> dict[str, float]:
    """Hold the conversations; return what was measured."""
    from inspect_ai import Task, eval  # noqa: A004
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import (
        ChatMessageSystem,
        ChatMessageUser,
        ContentImage,
        ContentText,
        get_model,
    )
    from inspect_ai.solver import generate, use_tools
    from inspect_ai.tool import tool

    uris = [
        "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()
        for path in sorted(pictures.glob("*.png"))
    ]
    turn = itertools.cycle(uris)

    @tool(name="spectral_visualization_tool")
    def zoom():  # type: ignore[no-untyped-def]  # noqa: ANN202
        async def execute(wavelength_range: list[float]) -> list[ContentText | ContentImage]:
            """Draw a window of the spectrum.

            Args:
                wavelength_range: First and last wavelength.
            """
            return [ContentText(text=f"{wavelength_range} Å"), ContentImage(image=next(turn))]

        return execute

    def hold(count: int, where: Path) -> None:
        samples = [
            Sample(
                input=[
                    ChatMessageSystem(content=GUIDELINE),
                    ChatMessageUser(content=[ContentImage(image=next(turn)), ContentText(text="Is it one?")]),
                ],
                id=number,
            )
            for number in range(count)
        ]
        task = Task(dataset=MemoryDataset(samples), solver=[use_tools(zoom()), generate()])
        model = get_model("openai/echo", base_url=url, api_key="none", responses_api=False)
        limits = {"max_connections": in_flight, "max_samples": in_flight}
        (log,) = eval(task, model=model, log_dir=str(where), display="none", **limits)
        assert log.status == "success", log.error
        assert log.results is None or log.results.completed_samples == count

    hold(WARM_UP, logs / "warm-up")
    kept = logs / "kept"
    clock, cpu = time.perf_counter(), time.process_time()
    hold(conversations, kept)
    seconds, cpu_seconds = time.perf_counter() - clock, time.process_time() - cpu
    return {
        "conversations": conversations,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "peak_MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "bytes_written": sum(path.stat().st_size for path in kept.rglob("*") if path.is_file()),
    }


if __name__ == "__main__":
    found = main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]), Path(sys.argv[5]))
    print(json.dumps(found))  # noqa: T201
