"""A tiny Qwen2.5-VL with random weights, built offline: what tests and the training miniature run on."""

from specvi_agents.tiny.build import TinyShape, build_tiny_model

__all__ = ["TinyShape", "build_tiny_model"]
