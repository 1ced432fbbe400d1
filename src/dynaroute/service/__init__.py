"""Dynaroute over HTTP: an API, and the web page that uses it. Needs the extra ``dynaroute[serve]``."""
