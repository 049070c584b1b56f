"""Pictures of a window of a spectrum."""

from specvi_benchmark.views.style import STYLES, ViewOptions
from specvi_benchmark.views.view import RENDERER_VERSION, View, render

__all__ = ["RENDERER_VERSION", "STYLES", "View", "ViewOptions", "render"]
