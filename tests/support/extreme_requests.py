"""What schemathesis sends beside bodies that follow the schema: fleets, plans and checks with one value replaced.

Schemathesis loads this file by itself. Bodies made from the schema alone hardly ever hold a fleet that can be solved.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import strategies as st

sys.path.append(str(Path(__file__).parent))

from extreme_documents import FLEET, GLOBE, JUDGED, MATRIX, PLAN, extreme_bodies

_DOCUMENTS = {
    "/v1/solve": [FLEET, MATRIX, GLOBE],
    "/v1/jobs": [FLEET, MATRIX, GLOBE],
    "/v1/convert": [FLEET, MATRIX, GLOBE],
    "/v1/check": [JUDGED],
    "/v1/insert": [PLAN],
}


@schemathesis.hook
def before_generate_body(context: Any, strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Add documents with one value replaced."""
    documents = _DOCUMENTS.get(context.operation.path, [])
    return st.one_of(strategy, *map(extreme_bodies, documents))
