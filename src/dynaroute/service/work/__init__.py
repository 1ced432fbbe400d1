"""Solving what was asked, together where possible."""
