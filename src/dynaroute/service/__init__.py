"""Dynaroute over HTTP: an API, and the web page that uses it. Needs the extra ``dynaroute[serve]``.

Begin with `work/service`, which answers every request; `settings` lists what an operator can set. It may import every
room above it.
"""
