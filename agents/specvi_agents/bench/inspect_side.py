"""The side of inspect_ai, run as a script by the Python that has it, and the suite for its renderer.

``inspect_side.py URL CONVERSATIONS IN_FLIGHT DRAWING LOGS`` holds the conversations of the echo server: the full view,
a tool that draws the window asked for, an answer. DRAWING is that of `specvi_agents.bench.questions`.
"""

# ruff: noqa: PLC0415  # every module of the suite can be imported where inspect_ai is not installed

import base64
import itertools
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

GUIDELINE = "word " * 600  # about as long as a task's guideline


def main(url: str, conversations: int, in_flight: int, drawing: Any, logs: Path) -> dict[str, float]:
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

    from specvi_agents.bench.questions import WARM_UP, Questions, renderer
    from specvi_benchmark.vetting import Question
    from specvi_benchmark.views import render

    questions, turn = Questions(max(conversations, WARM_UP)), itertools.count()
    asked: list[Question] = []
    draw = render

    def picture(number: int, window: tuple[float, float] | None = None) -> ContentImage:
        view = draw(asked[number % len(asked)].spectrum, window)
        return ContentImage(image="data:image/png;base64," + base64.b64encode(view.png).decode())

    @tool(name="spectral_visualization_tool")
    def zoom():  # type: ignore[no-untyped-def]  # noqa: ANN202
        async def execute(wavelength_range: list[float]) -> list[ContentText | ContentImage]:
            """Draw a window of the spectrum.

            Args:
                wavelength_range: First and last wavelength.
            """
            return [
                ContentText(text=f"{wavelength_range} Å"),
                picture(next(turn), (wavelength_range[0], wavelength_range[1])),
            ]

        return execute

    def hold(count: int, where: Path) -> None:
        asked[:] = [questions[number] for number in range(count)]
        samples = [
            Sample(
                input=[
                    ChatMessageSystem(content=GUIDELINE),
                    ChatMessageUser(content=[picture(number), ContentText(text="Is it one?")]),
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
    draw = renderer(drawing, questions)
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
    found = main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], Path(sys.argv[5]))
    print(json.dumps(found))  # noqa: T201
