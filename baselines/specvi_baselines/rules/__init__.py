"""The vetter `rules`: what an astronomer looks for in each task, measured and compared with a threshold."""

from specvi_baselines.rules.vetter import RULES_VERSION, Rules, create, explain

__all__ = ["RULES_VERSION", "Rules", "create", "explain"]
