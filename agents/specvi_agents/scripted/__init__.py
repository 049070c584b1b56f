"""The vetter `scripted`: an inspector without a model, which decides from what its own zooms show."""

from specvi_agents.scripted.vetter import SCRIPTED_VERSION, Scripted, create, inspect

__all__ = ["SCRIPTED_VERSION", "Scripted", "create", "inspect"]
