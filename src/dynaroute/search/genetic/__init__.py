"""A population of solutions, and the breeding of better ones."""
