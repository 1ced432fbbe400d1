"""Local search: moves, and the descent that makes them."""
