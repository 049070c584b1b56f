"""Trajectories: inspections of train candidates, screened and reviewed, for training an agent."""

from specvi_agents.trajectories.conversation import Messages, Said, Shown, conversation, to_messages
from specvi_agents.trajectories.records import Change, Record, State, Trajectory
from specvi_agents.trajectories.store import Store, read

__all__ = [
    "Change",
    "Messages",
    "Record",
    "Said",
    "Shown",
    "State",
    "Store",
    "Trajectory",
    "conversation",
    "read",
    "to_messages",
]
