"""Parts of `dynaroute evaluate`."""
