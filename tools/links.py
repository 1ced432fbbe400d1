"""Find dead links in the built site, and anything that it would load from other sites: make docs.

    python tools/links.py docs/_build/html

Links within the site must lead to a file and, after a #, to a place in it. Links to other sites are listed but not
fetched, so that a build needs no network. Scripts, styles and pictures from other sites are errors, so that readers
need no network either.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LEADING = {"a": "href"}
_LOADED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src"}
_NOT_LOADED = {"search", "index", "genindex", "next", "prev", "canonical"}  # kinds of <link> that are not fetched


@dataclass
class Page(HTMLParser):
    """The links of a page, the files it loads, and the places that can be linked to.

    Attributes
    ----------
    links, loads
        Addresses as written in the page.
    places
        Names that may follow a #.
    """

    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    places: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record one element."""
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        if (name := _LEADING.get(tag)) in given:
            self.links.append(given[name or ""])
        if (name := _LOADED.get(tag)) in given and given.get("rel") not in _NOT_LOADED:
            self.loads.append(given[name or ""])


def read_pages(site: Path) -> dict[Path, Page]:
    """Read all pages of a site.

    Parameters
    ----------
    site
        Its folder.
    """
    pages = {}
    for path in sorted(site.rglob("*.html")):
        page = Page()
        page.feed(path.read_text(encoding="utf-8"))
        pages[path.resolve()] = page
    return pages


def find_faults(site: Path) -> list[str]:
    """Find dead links, and files that are loaded from other sites.

    Parameters
    ----------
    site
        Its folder.
    """
    pages, faults = read_pages(site), []
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        faults += [f"{name} loads {address}" for address in page.loads if _is_elsewhere(address)]
        for address in {*page.links, *page.loads}:
            if not _is_elsewhere(address) and not _is_there(address, path, pages):
                faults.append(f"{name} links to {address}, which is not there")
    return sorted(faults)


def list_other_sites(site: Path) -> list[str]:
    """List the addresses of other sites that the pages link to.

    Parameters
    ----------
    site
        Its folder.
    """
    return sorted({link for page in read_pages(site).values() for link in page.links if _is_elsewhere(link)})


def _is_elsewhere(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme in ("http", "https", "mailto")


def _is_there(address: str, page: Path, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(address)
    if parts.scheme:  # a picture in the page itself
        return parts.scheme == "data"
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not target.is_file():
        return False
    place = unquote(parts.fragment)
    return not place or target not in pages or place in pages[target].places


def main() -> None:
    """Check the site that the command line names."""
    site = Path(sys.argv[1])
    for address in list_other_sites(site):
        print(f"not fetched: {address}")
    if faults := find_faults(site):
        sys.exit("\n".join(faults))
    print(f"{len(read_pages(site))} pages, no dead link")


if __name__ == "__main__":
    main()
