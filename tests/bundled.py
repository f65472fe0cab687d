"""The files in schedules/ and how they are made: ``python -m tests.bundled`` writes all of them anew."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "schedules"
ROW = re.compile(r"\| `(?P<stem>[^`]+)` \((?P<forms>[^)]+)\) \| `(?P<command>syccl synth [^`]+)` \|")


def listed() -> dict[str, str]:
    """Command of every file that README.md lists, by file name."""
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    return {
        row["stem"] + form: row["command"] for row in ROW.finditer(text) for form in re.findall(r"\.\w+", row["forms"])
    }


def main() -> None:
    commands = listed()
    for command in dict.fromkeys(commands.values()):
        files = [arg for name, made_by in commands.items() if made_by == command for arg in ("-o", name)]
        args = [sys.executable, "-m", "syccl", *shlex.split(command)[1:], *files, "--force", "--quiet"]
        subprocess.run(args, check=True, cwd=FOLDER)


if __name__ == "__main__":
    main()
