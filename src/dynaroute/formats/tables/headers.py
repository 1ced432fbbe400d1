"""Find the header of a table and the meaning of its columns."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from dynaroute.base.display import show_list
from dynaroute.base.errors import DynarouteError, FormatError, OptionError, UnsupportedError, Where
from dynaroute.base.vocabulary import Language
from dynaroute.formats.ignored import NOTHING_IGNORED, Ignored, find_columns
from dynaroute.formats.tables.cells.cells import Grid, Row, name_column
from dynaroute.formats.tables.cells.units import Unit, find_unit, unit_of_heading
from dynaroute.formats.tables.words import STOPS, VEHICLES, Meaning, Vocabulary, simplify
from dynaroute.formats.text import one_line, shorten

Renames = tuple[tuple[str, str], ...]

ROWS_LOOKED_AT = 60  # to find a header, or what a column holds
_SIDE_ROLES = frozenset(("depot", "kind", "capacity"))  # titles contain these words too
_PAIRS = (("lat", "lon"), ("x", "y"), ("earliest", "latest"))
_NAMES_OF_DIMENSIONS = ("demand", "capacity")  # two such columns mean that loads have dimensions
_NUMBER = re.compile(r"[+-]?[0-9][0-9.,' ]*")


@dataclass(frozen=True)
class Column:
    """A column with a heading.

    Attributes
    ----------
    index
        Counted from 0.
    heading
        The heading in the file.
    role
        The meaning of the column, such as "demand", or "demand kg" in one of several dimensions; "" if it is only
        passed on to the output.
    tier
        How certain the role is: -1 if the user gave it, otherwise 0 to 2 as in `Meaning`.
    language
        The language of the heading.
    is_ignored
        Whether the user wants to plan without it.
    """

    index: int
    heading: str
    role: str = ""
    tier: int = 0
    language: Language = "en"
    is_ignored: bool = False

    @property
    def label(self) -> str:
        """Its name in errors: the role if the heading says exactly that, otherwise the heading."""
        return self.role if self.role and self.tier == 0 and self.language == "en" else self.heading

    @property
    def unit(self) -> Unit | None:
        """The unit in the heading."""
        return unit_of_heading(self.heading)


@dataclass(frozen=True)
class Header:
    """The header of a table.

    Attributes
    ----------
    first, last
        Indices of its rows in the grid.
    line
        Line number of its last row.
    headings
        The headings in the file; "" for a column without one.
    columns
        The columns with a known meaning, by role. An amount in several dimensions is that of the first one.
    others
        All other columns with a heading.
    dimensions
        Names of the dimensions of loads, if columns name several.
    amounts
        For each role that names dimensions, the column of each of them, or None.
    """

    first: int
    last: int
    line: int
    headings: tuple[str, ...]
    columns: Mapping[str, Column]
    others: tuple[Column, ...]
    dimensions: tuple[str, ...] = ()
    amounts: Mapping[str, tuple[Column | None, ...]] = field(default_factory=dict)

    def list_amounts(self, role: str) -> list[Column]:
        """The columns of an amount: one, or one for each dimension that has one."""
        found = self.amounts.get(role, (self.columns.get(role),))
        return [column for column in found if column is not None]


def read_renames(columns: str | Mapping[str, str] | None) -> Renames:
    """Read the meanings of columns that the user gave.

    Parameters
    ----------
    columns
        "Menge=demand, x=lon", or the same as a mapping.

    Raises
    ------
    OptionError
        If a part has no equals sign.
    """
    if not columns:
        return ()
    if not isinstance(columns, str):
        return tuple((str(left), str(right)) for left, right in columns.items())
    pairs = []
    for part in columns.split(","):
        left, sign, right = (piece.strip() for piece in part.partition("="))
        if not (left and sign and right):
            raise OptionError.about(
                "columns",
                f"expected COLUMN=MEANING, found {shorten(part.strip())}.",
                "Write, for example, Menge=demand,x=lon,y=lat.",
            )
        pairs.append((left, right))
    return tuple(pairs)


def advise_columns(new: Mapping[str, Column], known: Iterable[Column] = ()) -> str:
    """Write the option ``--columns`` that gives columns a role, and keeps the roles that the user gave.

    Parameters
    ----------
    new
        The columns, by role.
    known
        Columns that have a role already.
    """
    given = {column.role: column for column in known if column.tier < 0}
    pairs = ",".join(f"{_name_for_option(column)}={role}" for role, column in {**given, **new}.items())
    return f"--columns {shlex.quote(pairs)}" if "'" in pairs else f"--columns '{pairs}'"


def _name_for_option(column: Column) -> str:
    """The heading, or the letter of a column whose heading would be cut by the option."""
    return name_column(column.index) if not column.heading or set(column.heading) & set(",=") else column.heading


def score_header(cells: Sequence[str], vocabulary: Vocabulary, renames: Renames) -> int:
    """How many columns would have a known meaning if this row were the header."""
    named = {simplify(word) for pair in renames for word in pair}
    roles = set()
    for cell in cells:
        meaning = vocabulary.look_up(cell) if cell else None
        if meaning is not None and meaning.role not in _SIDE_ROLES:
            roles.add(meaning.role)
        elif cell and simplify(cell) in named:
            roles.add(simplify(cell))
    return len(roles)


def find_header(
    grid: Grid,
    vocabulary: Vocabulary,
    renames: Renames,
    wanted: Sequence[frozenset[str]],
    ignored: Ignored = NOTHING_IGNORED,
) -> Header:
    """Find the header, one or two rows, below any titles.

    Parameters
    ----------
    grid
        All rows; at least one.
    vocabulary
        The meanings of headings.
    renames
        The meanings that the user gave.
    wanted
        Sets of roles; a header is complete if it has all roles of one set.
    ignored
        Columns that get no role.

    Raises
    ------
    DynarouteError
        If two columns have the same role, or a column that the user named does not exist.
    """
    rows = grid.rows[:ROWS_LOOKED_AT]
    scores = [score_header(row.cells, vocabulary, renames) for row in rows]
    best = max(range(len(rows)), key=lambda index: (scores[index], -index))
    if scores[best] < 2:
        best = next((index for index, row in enumerate(rows) if len(row.filled) > 1), 0)
    single: Header | DynarouteError
    try:
        single = _make_header(best, best, rows[best].line, rows[best].cells, vocabulary, renames, ignored)
    except DynarouteError as error:
        single = error  # unless two rows together have the columns that the user named
    is_complete = not isinstance(single, DynarouteError) and _is_complete(single, wanted)
    pairs = [(best, best + 1)] if is_complete else list(pairwise(range(len(rows))))
    for upper, lower in pairs:
        # a row without numbers below a header is not a stop: it gives units, or continues the headings
        if lower < len(rows) and (scores[upper] or scores[lower]) and _goes_on(rows[upper], rows[lower]):
            headings = _join_headings(rows[upper], rows[lower], vocabulary)
            double = _make_header(upper, lower, rows[lower].line, headings, vocabulary, renames, ignored)
            if _is_complete(double, wanted):
                return double
    if isinstance(single, DynarouteError):
        raise single
    return single


def _is_complete(header: Header, wanted: Sequence[frozenset[str]]) -> bool:
    return any(roles <= header.columns.keys() for roles in wanted)


def _goes_on(upper: Row, lower: Row) -> bool:
    """Whether a row may belong to the header above it."""
    if lower.follows_blank or len(lower.filled) < 2 or lower.cells == upper.cells:
        return False
    return not any(character.isdigit() for index in lower.filled for character in lower.text(index))


def _join_headings(upper: Row, lower: Row, vocabulary: Vocabulary) -> tuple[str, ...]:
    """Join the headings of two rows; an upper heading also covers the columns to its right that have a lower one."""
    headings = []
    above = ""
    for index in range(max(len(upper.cells), len(lower.cells))):
        above = upper.text(index) or above
        below = lower.text(index)
        if not below:
            headings.append(upper.text(index))
        elif vocabulary.look_up(below) is not None and not (
            find_unit(below) and vocabulary.split_dimension(f"{above} {below}")
        ):
            headings.append(below)
        else:
            headings.append(f"{above} {below}".strip())
    return tuple(headings)


def _make_header(
    first: int,
    last: int,
    line: int,
    headings: Sequence[str],
    vocabulary: Vocabulary,
    renames: Renames,
    ignored: Ignored,
) -> Header:
    headings = _without_labels([one_line(heading) for heading in headings], vocabulary)
    named = _name_columns(headings, vocabulary, renames)
    left_out = ignored.find(headings)
    titles = [named.get(index, heading) for index, heading in enumerate(headings)]
    dimensions, amounts = _find_dimensions(titles, headings, named, left_out, line, vocabulary)
    named = {index: _without_dimension(role, vocabulary) for index, role in named.items() if index not in amounts}
    if len(set(named.values())) < len(named):
        raise OptionError.about("columns", "two columns have the same meaning.", "Give it once.")
    meanings = {
        index: meaning
        for index, heading in enumerate(headings)
        if heading
        and index not in named
        and index not in amounts
        and index not in left_out
        and (meaning := vocabulary.look_up(heading)) is not None
    }
    columns = {role: Column(index, headings[index] or name_column(index), role, -1) for index, role in named.items()}
    by_role = _arrange(dimensions, amounts)
    for role, found in by_role.items():
        leading, *further = filter(None, found)
        columns |= {role: leading, **{column.role: column for column in further}}
    for role in vocabulary.roles:
        if role not in columns and not _is_displaced(role, columns):
            chosen = _choose(role, meanings, headings, line, vocabulary, columns)
            if chosen is not None:
                columns[role] = chosen
    _drop_lonely(columns, headings)
    used = {column.index for column in columns.values()}
    others = tuple(
        Column(index, heading, is_ignored=index in left_out)
        for index, heading in enumerate(headings)
        if heading and index not in used
    )
    return Header(first, last, line, tuple(headings), columns, others, dimensions, by_role)


def _find_dimensions(
    titles: Sequence[str],
    headings: Sequence[str],
    named: Mapping[int, str],
    left_out: frozenset[int],
    line: int,
    vocabulary: Vocabulary,
) -> tuple[tuple[str, ...], dict[int, tuple[str, Column]]]:
    """Find the dimensions of loads, and the role and the column of each amount in one of them.

    One column alone, such as "demand kg", is a plain amount with a unit.
    """
    splits = {
        index: split
        for index, title in enumerate(titles)
        if index not in left_out and (split := vocabulary.split_dimension(title)) is not None
    }
    dimensions: dict[str, str] = {}
    for role in _NAMES_OF_DIMENSIONS:
        for meaning, name in splits.values():
            if meaning.role == role:
                dimensions.setdefault(name.casefold(), name)
    if len(dimensions) < 2:
        return (), {}
    amounts: dict[int, tuple[str, Column]] = {}
    for index, (meaning, name) in splits.items():
        if (known := dimensions.get(name.casefold())) is None:
            continue
        role = f"{meaning.role} {known}"
        if any(role == column.role for _, column in amounts.values()):
            message = f"there are two columns named {role}."
            raise FormatError(message, where=Where(line=line, field=role), remedy="Keep one of the two.")
        tier = -1 if index in named else 0
        heading = headings[index] or name_column(index)
        amounts[index] = meaning.role, Column(index, heading, role, tier, meaning.language)
    for index, title in enumerate(titles):
        plain = vocabulary.look_up(title) if index not in amounts and index not in left_out else None
        same = [column for role, column in amounts.values() if plain is not None and role == plain.role]
        if same and plain is not None and (plain.tier == 0 or index in named):
            message = f"the column {headings[index]} names no dimension, but {same[0].heading} does."
            where = Where(line=line, field=headings[index] or name_column(index))
            remedy = f"Name one, as in '{plain.role} {next(iter(dimensions.values()))}', or keep only one of the two."
            raise FormatError(message, where=where, remedy=remedy)
    return tuple(dimensions.values()), amounts


def _arrange(
    dimensions: Sequence[str], amounts: Mapping[int, tuple[str, Column]]
) -> dict[str, tuple[Column | None, ...]]:
    """The column of each dimension, or None, for every role that has one."""
    known = {column.role: column for _, column in amounts.values()}
    roles = dict.fromkeys(role for role, _ in amounts.values())
    return {role: tuple(known.get(f"{role} {name}") for name in dimensions) for role in roles}


def _without_dimension(role: str, vocabulary: Vocabulary) -> str:
    split = None if role in vocabulary.roles else vocabulary.split_dimension(role)
    return role if split is None else split[0].role


def _without_labels(headings: Sequence[str], vocabulary: Vocabulary) -> list[str]:
    """Drop labels with their value in the next cell from the headings: "Capacity" and 80 to the right of the table."""
    kept = list(headings)
    for index, (heading, beside) in enumerate(pairwise(headings)):
        meaning = vocabulary.look_up(heading) if heading else None
        if meaning is not None and meaning.role == "capacity" and _NUMBER.match(beside):
            kept[index] = kept[index + 1] = ""
    return kept


def _is_displaced(role: str, named: Mapping[str, Column]) -> bool:
    """Whether the user named another kind of position, so that this role is not needed."""
    ways = (("lat", "lon"), ("x", "y"), ("position",))
    own = next((way for way in ways if role in way), None)
    return own is not None and any(
        column.tier == -1 and column.role not in own for way in ways for column in map(named.get, way) if column
    )


def _choose(
    role: str,
    meanings: Mapping[int, Meaning],
    headings: Sequence[str],
    line: int,
    vocabulary: Vocabulary,
    chosen: Mapping[str, Column],
) -> Column | None:
    """The column of a role: the one with the clearest heading."""
    candidates = [(meaning.tier, index) for index, meaning in meanings.items() if meaning.role == role]
    if not candidates:
        return None
    tier = min(candidates)[0]
    equals = [index for found, index in candidates if found == tier]
    index = equals[0]
    column = Column(index, headings[index], role, tier, meanings[index].language)
    if len(equals) > 1 and role not in ("id", "kind"):
        raise _refuse_choice(column, [headings[index] for index in equals], line, vocabulary, chosen)
    return column


def _refuse_choice(
    first: Column, names: Sequence[str], line: int, vocabulary: Vocabulary, chosen: Mapping[str, Column]
) -> FormatError | UnsupportedError:
    """The error for several columns with the same meaning."""
    same = len({name.casefold() for name in names}) == 1
    where = Where(line=line, field=first.role)
    if same:
        called = first.role if first.tier == 0 else names[0]
        return FormatError(f"there are two columns named {called}.", where=where, remedy="Keep one of the two.")
    message = f"the columns {' and '.join(names[:3])} could all be the {first.role}."
    if vocabulary is VEHICLES:
        return UnsupportedError(message, where=where, names=names[1:])
    if vocabulary is STOPS:
        advice = advise_columns({first.role: first}, chosen.values())
        return FormatError(message, where=where, remedy=f"Choose one: {advice}.")
    return FormatError(message, where=where, remedy="Keep one of them.")


def _drop_lonely(columns: dict[str, Column], headings: Sequence[str]) -> None:
    """Drop vague roles that only make sense in pairs: "from" without "to", "Länge" without "Breite"."""
    for pair in _PAIRS:
        found = [columns[role] for role in pair if role in columns]
        is_vague = all(column.tier == 2 for column in found)
        if found and is_vague and (len(found) == 1 or (pair[0] == "lat" and _names_height(headings))):
            for column in found:
                del columns[column.role]
    if {"x", "y"} <= columns.keys() and all(columns[axis].tier == 2 for axis in ("lat", "lon") if axis in columns):
        for axis in ("lat", "lon"):
            columns.pop(axis, None)
    others = {"lat", "lon", "x", "y"} & columns.keys()
    if "position" in columns and others and columns["position"].tier >= 0:
        del columns["position"]


def _names_height(headings: Sequence[str]) -> bool:
    """Whether there is a height: then Länge and Breite are the length and width of a parcel."""
    return any(simplify(heading) in ("hohe", "hoehe", "height") for heading in headings)


def _name_columns(headings: Sequence[str], vocabulary: Vocabulary, renames: Renames) -> dict[int, str]:
    """The roles that the user gave, by the index of the column."""
    named: dict[int, str] = {}
    for left, right in renames:
        found = _match(left, _find_role(right, vocabulary), headings)
        if found is None and left.casefold() in vocabulary.roles:
            found = _match(right, left.casefold(), headings)  # the other way round
        if found is None:
            known = next((word for word in (right, left) if _find_role(word, vocabulary)), None)
            if known is None:
                message = f"neither {shorten(left)} nor {shorten(right)} is a known meaning of a column."
                remedy = f"Use one of {', '.join(vocabulary.roles)}."
            else:
                other = left if known == right else right
                message = f"there is no column {shorten(other)}."
                remedy = f"The columns are {show_list([heading for heading in headings if heading], 30)}."
            raise OptionError.about("columns", message, remedy)
        index, role = found
        if index in named or role in named.values():
            raise OptionError.about("columns", f"{shorten(left)} or {shorten(right)} is given twice.", "Give it once.")
        named[index] = role
    return named


def _match(name: str, role: str | None, headings: Sequence[str]) -> tuple[int, str] | None:
    """Find a column by its heading or letter; returns its index and role."""
    if role is None:
        return None
    letters = [name_column(index) for index in range(len(headings))]
    found = find_columns(name, headings) or [index for index, letter in enumerate(letters) if letter == name.upper()]
    return (found[0], role) if found else None


def _find_role(word: str, vocabulary: Vocabulary) -> str | None:
    if word.casefold() in vocabulary.roles:
        return word.casefold()
    if (split := vocabulary.split_dimension(word)) is not None:
        return f"{split[0].role} {split[1]}"
    meaning = vocabulary.look_up(word)
    return None if meaning is None else meaning.role
