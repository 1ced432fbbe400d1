"""Searching many instances at once on a GPU."""
