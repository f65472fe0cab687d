"""Write the session in README.md from real runs: ``python -m tests.session``."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- session -->\n", "<!-- /session -->\n"

COMMANDS = (
    "syccl synth --topo a100x32 --op allreduce",
    "syccl verify allreduce.a100x32.64MiB.xml",
    "syccl simulate allreduce.a100x32.64MiB.xml --topo a100x32 --size 1GiB",
    "syccl tune --topo a100x8 --op allreduce -b 16K -e 16M",
    "syccl bound --topo a100x32 --op reducescatter --size 1GiB",
)


def session() -> str:
    """What a terminal shows for the commands, in a folder of their own."""
    shown = []
    with tempfile.TemporaryDirectory() as folder:
        for command in COMMANDS:
            args = [sys.executable, "-m", "syccl", *shlex.split(command)[1:]]
            done = subprocess.run(args, capture_output=True, text=True, check=True, cwd=folder)
            shown.append(f"$ {command}\n{done.stdout}")
    return "```\n" + "\n".join(shown) + "```\n"


def split(text: str) -> tuple[str, str, str]:
    """README before, in and after the session."""
    before, rest = text.split(BEGIN)
    inside, after = rest.split(END)
    return before, inside, after


if __name__ == "__main__":
    start, _, end = split(README.read_text(encoding="utf-8"))
    README.write_text(f"{start}{BEGIN}{session()}{END}{end}", encoding="utf-8")
