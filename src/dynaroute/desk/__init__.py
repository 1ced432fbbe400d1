"""The dispatcher's desk: what a plan is like, why, what else is possible, and whether it holds.

Begin with `visits`, which lists who serves whom and when. `comparing` compares two plans, `explaining` says why,
`trying` searches the `variants` of a day, and `simulating` drives a plan on many days. It may import every room above
it.
"""
