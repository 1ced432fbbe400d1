"""Simulated annealing by ruin and recreate."""
