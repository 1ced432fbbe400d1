"""Improving solutions: 2-opt, local search, and a search with a time limit."""
