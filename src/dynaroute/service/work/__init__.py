"""Solving what was asked, small requests together where that is quicker.

Begin with `service`; `engine` solves. It may import every room above it, `service`, `service/messages` and
`service/jobs`.
"""
