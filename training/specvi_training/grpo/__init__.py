"""Outcome-only GRPO: rollouts in the inspection environment, a reward for the answer alone."""
