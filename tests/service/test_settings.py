from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from dynaroute.errors import OptionError
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
    ],
)
def test_faulty_variable_is_named(variable: str, text: str) -> None:
    with pytest.raises(OptionError) as caught:
        ServiceSettings.from_environment({variable: text})

    assert caught.value.where.field == variable
    assert caught.value.remedy


def test_every_setting_is_documented_with_its_default() -> None:
    page = Path(__file__).parents[2] / "docs" / "service.md"
    rows = re.findall(r"^\| `DYNAROUTE_(\w+)` \| ([^|]*) \|", page.read_text(encoding="utf-8"), re.MULTILINE)
    documented = {name.lower(): default.strip("`") for name, default in rows}
    words = {"search_workers": "cores", "token": "none", "cors_origins": "none"}
    defaults = {entry.name: getattr(ServiceSettings(), entry.name) for entry in fields(ServiceSettings)}

    assert documented == {name: words.get(name) or str(value).removesuffix(".0") for name, value in defaults.items()}


def test_token_is_not_shown() -> None:
    assert "secret" not in repr(ServiceSettings(token="secret"))
