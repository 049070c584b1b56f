"""The zoom tool: its schema, and what a call gives back, as every environment and trainer offers it.

One pure function, `call_tool`: no budget, no record, no model. `specvi_agents` counts calls and keeps traces.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.views.arguments import LABEL_KEY, RANGE_KEY, Asked, read_arguments
from specvi_benchmark.views.drawing import cut_window, stretch_of
from specvi_benchmark.views.style import ViewOptions
from specvi_benchmark.views.view import View, render

TOOL_NAME = "spectral_visualization_tool"

TOOL_SCHEMA: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": TOOL_NAME,
        "description": "Draw a window of the spectrum under inspection, to look at it in detail.",
        "parameters": {
            "type": "object",
            "properties": {
                RANGE_KEY: {
                    "type": "array",
                    "items": {"type": "number"},
                    "description": "First and last wavelength of the window, [min, max] in ångström.",
                },
                LABEL_KEY: {
                    "type": "string",
                    "description": "What is looked at, for example the line's name.",
                },
            },
            "required": [RANGE_KEY],
        },
    },
}
"""Names, types and what is required as in the official data; an OpenAI function tool."""


@dataclass(frozen=True, slots=True, eq=False)
class ToolReply:
    """What a call gives back: always a text; a view if there is one to show.

    ``mended`` are the corrections made to the arguments, each of which the text says.
    """

    text: str
    view: View | None = None
    mended: tuple[str, ...] = ()


def call_tool(
    spectrum: Spectrum,
    raw_arguments: object,
    options: ViewOptions | None = None,
    *,
    redshift: float | None = None,
    marker_redshift: float | None = None,
) -> ToolReply:
    """Draw the window that a model asks for, or tell it how to ask.

    Parameters
    ----------
    spectrum, options, redshift, marker_redshift
        As for `render`; they belong to the inspection, not to the model.
    raw_arguments
        As the model wrote them: JSON text, or already parsed. Anything at all.

    Returns
    -------
    Text and view. What the model got wrong never raises; a fault of ``options`` or ``redshift`` does.
    """
    asked = read_arguments(raw_arguments)
    stretch = stretch_of(redshift)
    low, high = (edge / stretch for edge in spectrum.range_AA)
    covers = f"The spectrum covers {low:.1f} to {high:.1f} Å."
    if asked.window_AA is None:
        example = f'{{"{RANGE_KEY}": [{(low + high) / 2 - 60:.0f}, {(low + high) / 2 + 60:.0f}]}}'
        return ToolReply(f"No picture: {asked.problem}. {covers} Call again like this: {example}")
    first, last = asked.window_AA
    if last < low or first > high:
        nanometres = (
            " Wavelengths are in ångström, not nanometres." if low <= 10 * first and 10 * last <= high else ""
        )
        return ToolReply(
            f"No picture: the window [{first:g}, {last:g}] Å lies outside the data. {covers}{nanometres}"
        )
    if not spectrum.good[cut_window(spectrum, stretch, asked.window_AA)[1]].any():
        return ToolReply(
            f"No picture: no good pixel between {first:g} and {last:g} Å; the window is narrower than a pixel "
            f"or lies in a gap. {covers} Ask for a wider or another window."
        )
    view = render(spectrum, asked.window_AA, options, redshift=redshift, marker_redshift=marker_redshift)
    mended = asked.mended + _clipped(asked.window_AA, (low, high))
    return ToolReply(_sentence(view, asked, mended), view, mended)


def _clipped(window_AA: tuple[float, float], data_AA: tuple[float, float]) -> tuple[str, ...]:
    parts = []
    if window_AA[0] < data_AA[0]:
        parts.append(f"begin at {data_AA[0]:.1f}")
    if window_AA[1] > data_AA[1]:
        parts.append(f"end at {data_AA[1]:.1f}")
    return (f"clipped to the data, which {' and '.join(parts)} Å",) if parts else ()


def _sentence(view: View, asked: Asked, mended: tuple[str, ...]) -> str:
    """Say what the picture shows, and what was mended."""
    low, high = view.flux_range
    name = f"{asked.label}: " if asked.label else ""
    facts = [
        f"{name}{view.window_AA[0]:.1f} to {view.window_AA[1]:.1f} Å, {view.frame} frame",
        f"{view.n_points} point{'' if view.n_points == 1 else 's'}",
        f"flux {low:.4g} to {high:.4g}" if low < high else f"constant flux {low:.4g}",
    ]
    if view.n_masked:
        facts.append(f"{view.n_masked} bad pixels left out")
    if view.n_beyond:
        facts.append(f"{view.n_beyond} of the points beyond the flux axis")
    if view.options.smooth_px > 1:
        facts.append(f"mean of {view.options.smooth_px} pixels")
    if view.markers:
        facts.append(f"marked: {', '.join(view.markers)}")
    note = f" (Mended: {'; '.join(mended)}.)" if mended else ""
    return f"{', '.join(facts)}.{note}"
