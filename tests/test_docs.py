"""Links in the documentation lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from syccl.report.synthesis import Outcome, table
from tests.report.made import Options, synthesis
from tests.session import COMMANDS, README, split

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md")])
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    targets = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_page_is_reached_from_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    linked = {(ROOT / "docs" / target).resolve() for target in LINK.findall(index) if "://" not in target}
    assert [
        page.name for page in sorted(ROOT.glob("docs/*.md")) if page.name != "index.md" and page not in linked
    ] == []


def test_readme_holds_the_two_commands_that_the_checks_run() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("python3 -m venv")] == [
        "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/syccl synth --topo a100x32.yaml --op allreduce",
        "python3 -m venv .venv && .venv/bin/pip install '.[test]' && .venv/bin/pytest",
    ]


def test_the_session_in_readme_shows_what_the_program_prints() -> None:
    inside = split(README.read_text(encoding="utf-8"))[1]
    assert [line.removeprefix("$ ") for line in inside.splitlines() if line.startswith("$ ")] == list(COMMANDS)
    outcome = Outcome(synthesis(tree_bound_s=2e-5), Options(2**20), (Path("a.xml"),))
    labels = [row[0] for row in table(outcome).rows]
    assert [label for label in labels if f"\n{label}" not in inside] == []
