from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from dynaroute.base.errors import OptionError
from dynaroute.service.settings import ServiceSettings


def test_empty_environment_gives_the_defaults() -> None:
    assert ServiceSettings.from_environment({"DYNAROUTE_CUSTOMERS": " "}) == ServiceSettings()


def test_environment_sets_every_kind_of_setting() -> None:
    settings = ServiceSettings.from_environment(
        {
            "DYNAROUTE_TOKEN": "secret",
            "DYNAROUTE_CUSTOMERS": "50",
            "DYNAROUTE_BODY_SECONDS": "2.5",
            "DYNAROUTE_CORS_ORIGINS": "https://a.example, https://b.example",
        }
    )

    assert settings == ServiceSettings(
        token="secret", customers=50, body_seconds=2.5, cors_origins=("https://a.example", "https://b.example")
    )


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("DYNAROUTE_CUSTOMERS", "many"),
        ("DYNAROUTE_CUSTOMERS", "0"),
        ("DYNAROUTE_CUSTOMERS", "2.5"),
        ("DYNAROUTE_BODY_SECONDS", "nan"),
        ("DYNAROUTE_BODY_SECONDS", "inf"),
        ("DYNAROUTE_BODY_SECONDS", "-1"),
        ("DYNAROUTE_WORK", "999"),
        ("DYNAROUTE_TOKEN", "naïve"),
        ("DYNAROUTE_REPLICA", "one-two"),
        ("DYNAROUTE_REPLICA", "a" * 17),
        ("DYNAROUTE_HOSTS", "https://routes.example.org"),
        ("DYNAROUTE_TILES", "https://tiles.example.org/{z}/{x}.png"),
        ("DYNAROUTE_TILES", "https://tiles.example.org; script-src */{z}/{x}/{y}"),
        ("DYNAROUTE_TILES", "javascript:{z}{x}{y}"),
        ("DYNAROUTE_OSRM", "localhost:5000"),
        ("DYNAROUTE_VALHALLA", "file:///etc/passwd"),
    ],
)
def test_faulty_variable_is_named(variable: str, text: str) -> None:
    with pytest.raises(OptionError) as caught:
        ServiceSettings.from_environment({variable: text})

    assert caught.value.where.field == variable
    assert caught.value.remedy


ROOT = Path(__file__).parents[2]
NO_LIMITS = {
    "token",
    "replica",
    "cors_origins",
    "hosts",
    "tiles",
    "tiles_attribution",
    "osrm",
    "valhalla",
    "device",
    "batch_seconds",
    "batch_size",
    "batch_work",
    "jobs_folder",
}


def read_defaults(page: Path) -> dict[str, str]:
    """The defaults that a page states in its table."""
    rows = re.findall(r"^\| `DYNAROUTE_(\w+)` \| ([^|]*) \|", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {name.lower(): default.strip("`") for name, default in rows}


def describe_defaults() -> dict[str, str]:
    unset = (
        "token",
        "replica",
        "cors_origins",
        "hosts",
        "tiles",
        "tiles_attribution",
        "osrm",
        "valhalla",
        "jobs_folder",
    )
    words = {"search_workers": "cores", **dict.fromkeys(unset, "none")}
    defaults = {entry.name: getattr(ServiceSettings(), entry.name) for entry in fields(ServiceSettings)}
    return {name: words.get(name) or str(value).removesuffix(".0") for name, value in defaults.items()}


def test_every_setting_is_documented_with_its_default() -> None:
    assert read_defaults(ROOT / "docs" / "service.md") == describe_defaults()


def test_15_security_page_states_every_limit_with_its_default() -> None:
    limits = {name: default for name, default in describe_defaults().items() if name not in NO_LIMITS}

    assert read_defaults(ROOT / "SECURITY.md") == limits


def test_token_is_not_shown() -> None:
    assert "secret" not in repr(ServiceSettings(token="secret"))


def test_street_map_needs_the_name_of_who_made_it() -> None:
    tiles = "https://tiles.example.org/{z}/{x}/{y}.png"
    with pytest.raises(OptionError) as caught:
        ServiceSettings(tiles=tiles)
    assert caught.value.where.field == "DYNAROUTE_TILES_ATTRIBUTION"
    assert ServiceSettings(tiles=tiles, tiles_attribution="somebody").tiles == tiles
