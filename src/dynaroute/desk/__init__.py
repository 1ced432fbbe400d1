"""The dispatcher's desk: what a plan is like, why, what else is possible, and what to do when the day changes.

Begin with `visits`, which lists who serves whom and when. `comparing` compares two plans, `explaining` says why,
`relaxing` what would make a day possible, `trying` searches the `variants` of a day, `simulating` drives a plan on many
days, and `replanning` changes it during the day. It may import every room above it.
"""
