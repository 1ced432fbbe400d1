"""Changes to a plan: customers that are added, and routes or parts of routes that are kept.

Begin with `insertion`, which finds the cheapest places for new customers. It may import `base`, `problem`, `formats`,
`plans` and `plans/files`.
"""
