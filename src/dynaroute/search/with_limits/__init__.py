"""What windows, limits of routes, several types of vehicles and further rules add to the search.

Begin with `search`. `times` checks time windows after every change. It may import `base`, `problem`, `search`,
`search/core` and `search/annealing`.
"""
