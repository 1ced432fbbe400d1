"""Our own JSON: instances, fleets, requests and solutions.

Begin with `instance`. Both files and the service read requests through this room. It may import `base`, `problem` and
`formats`.
"""
