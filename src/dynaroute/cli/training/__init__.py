"""Parts of `dynaroute train`."""
