"""Reading new customers for a plan, and adding them to its instance."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from dynaroute.base.errors import FormatError, UnsupportedError, Where, in_file, placed
from dynaroute.base.files import read_bytes, refuse_unreadable
from dynaroute.formats.ignored import Ignored
from dynaroute.formats.json.document import load_json, require, require_list
from dynaroute.formats.json.ignored import leave_out_of_customers
from dynaroute.formats.json.instance import instance_from_json, instance_to_json
from dynaroute.formats.numbers import format_load
from dynaroute.formats.registry import FORMATS, require_suffix
from dynaroute.formats.tables.stops import ReadingOptions
from dynaroute.formats.text import decode_text
from dynaroute.problem.checks.fields import find_largest_capacities
from dynaroute.problem.instance import Instance

CUSTOMER_SUFFIXES = (*(suffix for suffix, known in FORMATS.items() if known.is_table), ".json")

Customers = Sequence[object]

_PATH = re.compile(r"customers\[(\d+)\]")


def read_customers(path: str | os.PathLike[str], instance: Instance, ignore: str | Sequence[str] = ()) -> Customers:
    """Read new customers, in the form of JSON instances.

    Parameters
    ----------
    path
        A table (.csv, .tsv, .xlsx) with the columns of an instance, but without a depot and a capacity; or a .json file
        with a list of customers, or with an object that holds them as "customers".
    instance
        The instance they are added to.
    ignore
        Columns or keys to plan without.

    Raises
    ------
    DynarouteError
        If the file cannot be read.
    """
    file, source, ignored = Path(path), os.fspath(path), Ignored.of(ignore)
    with in_file(source):
        refuse_unreadable(file)
        suffix = require_suffix(file, CUSTOMER_SUFFIXES, "customers")
        if suffix == ".json":
            document = load_json(decode_text(read_bytes(file), ",[{"))
            return leave_out_of_customers(list_customers(document), ignored)
        parse = FORMATS[suffix].parse
        assert parse is not None  # or the suffix would have been refused
        held = dict(zip(instance.dimensions or (), find_largest_capacities(instance.fleet), strict=False))
        reading = ReadingOptions(
            capacity=None if held else format_load(instance, instance.capacity),
            has_depot=False,
            ignored=ignored,
            capacities={name: Decimal(format_load(instance, amount)) for name, amount in held.items()},
        )
        (table,) = parse(read_bytes(file), source, reading)
        customers: Any = instance_to_json(table)["customers"]
        return list(customers)


def list_customers(document: object) -> Customers:
    """Return the customers of decoded JSON: a list, or an object with "customers"."""
    if isinstance(document, dict):
        document = require(document, "customers", "")
    return require_list(document, "customers")


def extend_instance(instance: Instance, customers: Customers) -> Instance:
    """Add customers to an instance; their numbers follow the existing ones.

    Parameters
    ----------
    instance
        The problem.
    customers
        As in JSON: {"id"?, "x", "y", "demand", ...}.

    Raises
    ------
    UnsupportedError
        If lengths come from a matrix, which has no rows for new customers.
    DynarouteError
        If they are not valid customers, or an id is already in use.
    """
    for field, matrix in (("distances", instance.distances), ("durations", instance.durations)):
        if matrix is not None:
            raise UnsupportedError.about(
                field,
                f"the {field} of this plan come from a matrix, which has no row for a new customer.",
                "Add the customers and their rows to the instance, and search again: solve INSTANCE --start PLAN.",
            )
    if not customers:
        raise FormatError.about("customers", "there is no new customer.", "Give at least one.")
    document = instance_to_json(instance)
    known: Any = document["customers"]
    customers = [_match_details(customer, instance) for customer in customers]
    with placed(partial(_renumber, len(known))):
        return instance_from_json({**document, "customers": [*known, *customers]})


def _match_details(customer: object, instance: Instance) -> object:
    """Rename a customer's details to match the plan's, ignoring case."""
    if instance.details is None or not isinstance(customer, dict) or not isinstance(customer.get("details"), dict):
        return customer
    names = {column.casefold(): column for column in instance.details.columns}
    details = {names.get(str(column).casefold(), column): text for column, text in customer["details"].items()}
    return {**customer, "details": details}


def _renumber(known: int, where: Where) -> Where:
    """Translate places of errors to the new customers' own numbering."""
    if where.field is None:
        return where
    field = _PATH.sub(lambda found: f"customers[{int(found[1]) - known}]", where.field)
    customer = None if where.customer is None or where.customer <= known else where.customer - known
    return replace(where, field=field, customer=customer)
