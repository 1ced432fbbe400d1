"""Which rules the search keeps; an instance with another one is refused by name."""

from __future__ import annotations

from dynaroute.problem.instance import Instance
from dynaroute.problem.rules import refuse_other_rules

__all__ = ["SEARCHED_RULES", "refuse_unsearched_rules"]

SEARCHED_RULES: frozenset[str] = frozenset()


def refuse_unsearched_rules(instance: Instance) -> None:
    """Raise if an instance has a rule that the search does not keep yet."""
    refuse_other_rules(instance.rules, SEARCHED_RULES, "the search")
