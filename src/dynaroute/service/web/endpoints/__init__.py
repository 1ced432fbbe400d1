"""The endpoints, one module per subject.

Begin with `solving`. It may import `weights`, `service/web`, `service/jobs`, `service/messages` and `service/work`.
"""
