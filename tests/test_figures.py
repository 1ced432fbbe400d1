"""The pages and the models' cards state what was measured, and nothing else: docs/figures.toml."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tool_files import load_tool

from dynaroute.model import Policy
from dynaroute.weights import find_model, shipped_models

figures = load_tool("figures")
ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """A copy of all pages and cards, to be changed."""
    for file in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "notebooks").glob("*.md")]:
        _copy(file, tmp_path)
    for file in [ROOT / "docs" / "figures.toml", *(ROOT / "src" / "dynaroute" / "weights").glob("*/config.json")]:
        _copy(file, tmp_path)
    return tmp_path


def _copy(file: Path, root: Path) -> None:
    to = root / file.relative_to(ROOT)
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, to)


def replace(page: Path, old: str, new: str) -> None:
    text = page.read_text(encoding="utf-8")
    assert old in text
    page.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_all_pages_agree_with_what_was_measured() -> None:
    assert figures.find_faults(ROOT) == []


@pytest.mark.parametrize("name", sorted(shipped_models()))
def test_a_card_is_what_its_model_says(name: str) -> None:
    policy = Policy.from_pretrained(name)
    page = (find_model(name) / "README.md").read_text(encoding="utf-8")
    weights = page.partition("SHA-256 ")[2].split()[0]
    assert page == policy.card.to_markdown(policy.config, weights)


@pytest.mark.parametrize("measurement", figures.list_measurements(ROOT), ids=lambda each: each["what"][:40])
def test_every_measurement_tells_where_it_is_from(measurement: dict[str, object]) -> None:
    assert set(measurement) == {"what", "command", "hardware", "count", "date", "figures"}
    assert all(value for name, value in measurement.items() if name != "figures")


@pytest.mark.parametrize(
    ("page", "old", "new"),
    [
        ("README.md", "policy only | 15.", "policy only | 14."),
        ("README.md", "| **0.07 %** |", "| **0.06 %** |"),
        ("README.md", "trained for 49 minutes", "trained for 48 minutes"),
        ("CHANGELOG.md", "its greedy solutions are 3.3 %", "its greedy solutions are 3.8 %"),
        ("docs/commands.md", "4.1 % with `--fast`", "4.2 % with `--fast`"),
        ("docs/results.md", "| **AM (greedy)** | 6.", "| **AM (greedy)** | 7."),
        ("docs/training-log.md", "| 3.0 | 24.3 M |", "| 3.0 | 24.4 M |"),
    ],
)
def test_a_page_that_states_another_figure_is_named(pages: Path, page: str, old: str, new: str) -> None:
    replace(pages / page, old, new)
    assert any(fault.startswith(f"{page} states") for fault in figures.find_faults(pages))


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("README.md", "Greedy routes of 10,000 instances take 54.8 ms."),
        ("CHANGELOG.md", "- `amd` is 3.8 % above the best known solutions."),
        ("docs/researchers.md", "`amd-50` reaches 10.7123 on the published instances."),
        ("docs/engine.md", "`amd-50` reaches 10.614 on the published instances."),
    ],
)
def test_a_figure_that_was_not_measured_is_found(pages: Path, page: str, text: str) -> None:
    heading = "## Not released yet\n" if page == "CHANGELOG.md" else "\n"
    replace(pages / page, heading, f"{heading}\n{text}\n")
    assert len(figures.find_faults(pages)) == 1


def test_a_statement_that_is_gone_is_named(pages: Path) -> None:
    replace(pages / "docs" / "researchers.md", "against 6.28, with 20 customers", "with 20 customers")
    assert figures.find_faults(pages)[0].startswith("docs/researchers.md does not state")


def test_what_is_released_is_not_compared(pages: Path) -> None:
    replace(pages / "CHANGELOG.md", "## 0.1.0\n", "## 0.1.0\n\n- `amd` was 3.8 % above.\n")
    assert figures.find_faults(pages) == []


def test_new_figures_are_written_into_the_pages(pages: Path) -> None:
    replace(pages / "docs" / "figures.toml", "greedy_seconds_at_100 = 0.0", "greedy_seconds_at_100 = 0.5")
    assert figures.find_faults(pages)
    figures.write_figures(pages)
    assert figures.find_faults(pages) == []
    assert "s, H200 |" in (pages / "README.md").read_text(encoding="utf-8")


def test_line_breaks_are_kept_when_figures_are_written(pages: Path) -> None:
    before = {page: page.read_text(encoding="utf-8") for page in pages.rglob("*.md")}
    figures.write_figures(pages)
    assert {page: page.read_text(encoding="utf-8") for page in before} == before


def test_a_figure_has_one_value(pages: Path) -> None:
    replace(
        pages / "docs" / "figures.toml", "[measurements.figures]\n", "[measurements.figures]\namd_100_at_100 = 1.0\n"
    )
    with pytest.raises(ValueError, match="amd_100_at_100 twice"):
        figures.find_faults(pages)
