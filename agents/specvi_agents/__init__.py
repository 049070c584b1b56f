"""Agents that inspect a spectrum through the zoom tool."""
