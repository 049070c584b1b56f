"""Recipes that train the vetting agent."""
