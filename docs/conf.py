"""How Sphinx builds the site: `make docs`."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import dynaroute

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "Dynaroute"
author = "the Dynaroute developers"
version = release = dynaroute.__version__

# the last one brings MathJax along: formulas, too, need no network
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_nb",
    "sphinx_copybutton",
    "sphinx-mathjax-offline",
]
exclude_patterns = ["_build", "jupyter_execute"]
html_theme = "furo"
html_title = f"Dynaroute {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_copyright = False

myst_enable_extensions = ["dollarmath", "colon_fence", "attrs_inline"]
myst_heading_anchors = 4
nb_execution_mode = "off" if os.environ.get("NOTEBOOKS") == "off" else "auto"
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_merge_streams = True
copybutton_prompt_text = r"\$ |>>> "
copybutton_prompt_is_regexp = True

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
# Docstrings that are missing, or that name other parameters than the signature, are warnings: so the build fails.
numpydoc_validation_checks = {"GL08", "PR02"}
numpydoc_validation_exclude = {r"\.__\w+__$"}

# References to our own names have to lead somewhere. What other libraries document is on their sites, and the build
# asks no site for anything.
nitpicky = True
nitpick_ignore_regex = [(r"py:.*", r"(?!dynaroute\.).*"), (r"py:class", r"dynaroute\.fleet_options\.VehicleList")]

ROOT = Path(__file__).resolve().parents[1]
# Pages that GitHub shows at the root of the repository, and what they are called here.
AT_THE_ROOT = {"CHANGELOG.md": "changelog", "CONTRIBUTING.md": "contributing", "SECURITY.md": "security"}


def show_pages_of_the_root(app: Sphinx, page: str, text: list[str]) -> None:
    """Fill the pages that stand for those at the root, and let links to them lead here."""
    for name, here in AT_THE_ROOT.items():
        if page == here:
            app.env.note_dependency(str(ROOT / name))
            text[0] = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
    for name, here in AT_THE_ROOT.items():
        text[0] = re.sub(rf"\]\((\.\./)?{name}", f"]({here}.md", text[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect what is above."""
    app.connect("source-read", show_pages_of_the_root)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
