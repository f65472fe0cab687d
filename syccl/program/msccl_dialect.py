"""What the runtimes' hand-written parser cannot read, or reads otherwise than an XML parser does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from syccl.findings import Finding

MAX_ATTRIBUTES: Final = 16
"""Attributes the runtimes keep per element; every blank between attributes takes one of these places."""
MAX_VALUE: Final = 255
"""Bytes of an attribute value; longer ones overrun the parser's memory."""
MAX_NAME: Final = 254

_TOKEN = re.compile(
    r"""<!--(?P<comment>.*?)-->
    | <(?P<close>/?)(?P<name>[^\s<>/="'?!]++)(?P<rest>(?:"[^"]*"|'[^']*'|[^"'<>])*+)>
    | (?P<declaration><[?!][^>]*+>?)""",
    re.DOTALL | re.VERBOSE,
)
_STRICT = re.compile(r"""(?:[ ][^\s"'=<>/]++="[^"]*+")*+[ ]?/?\Z""")
_VALUE = re.compile(r""""[^"]*"|'[^']*'""")
_STEP_NUMBER = re.compile(r"""\ss\s*=\s*["'](\d+)["']""")
_KNOWN = frozenset({"algo", "gpu", "tb", "step"})
_WANTED = ("outofplace", "minBytes", "maxBytes")


class _Fault(NamedTuple):
    """A finding before its line is known; the position is an index into the text."""

    severity: str
    rule: str
    position: int
    message: str


def dialect_findings(text: str) -> tuple[Finding, ...]:
    """Return what the runtimes cannot read or understand otherwise in a well-formed file.

    Their parser is no XML parser: a declaration, a tab, blanks around ``=`` or single quotes end it, entities stay
    as they are, ``s`` numbers and unknown elements are skipped. Errors are what keeps every runtime from loading
    the file as meant, warnings what some of them refuse or silently leave out. One finding stands for all
    occurrences of a fault, at the line of the first.

    Parameters
    ----------
    text
        The whole file, well-formed (as ``read_xml`` accepts it).
    """
    firsts: dict[tuple[str, str], _Fault] = {}
    for fault in sorted(_faults(text), key=lambda fault: fault.position):
        firsts.setdefault((fault.rule, fault.message), fault)
    return tuple(
        Finding(fault.severity, fault.rule, f"line {text.count(chr(10), 0, fault.position) + 1}", fault.message)
        for fault in firsts.values()
    )


def _faults(text: str) -> Iterator[_Fault]:
    if text.startswith("\ufeff"):
        yield _Fault("error", "dialect", 0, "a byte order mark; runtimes expect '<' first")
    if "\t" in text:
        yield _Fault("error", "dialect", text.index("\t"), "a TAB; runtimes stop there, indent with blanks")
    end = 0
    number = 0
    for token in _TOKEN.finditer(text):
        between = text[end : token.start()].lstrip("\ufeff \t\r\n")
        if between:
            yield _Fault("error", "dialect", token.start() - len(between), "text between elements; runtimes stop there")
        end = token.end()
        name = token["name"]
        if name is None:
            yield from _no_element(token)
            continue
        if not token["close"] and name in _KNOWN:
            number = number + 1 if name == "step" else 0
            if name == "step":
                yield from _step_number(token, number - 1)
            elif name == "algo":
                yield from _header(token)
        elif name not in _KNOWN:
            yield _Fault("warning", "ignored", token.start(), f"element <{name}>; runtimes skip it")
        yield from _tag(token)


def _no_element(token: re.Match[str]) -> Iterator[_Fault]:
    comment = token["comment"]
    if comment is None:
        kind = "an XML declaration or processing instruction" if token[0].startswith("<?") else "a <! declaration"
        yield _Fault("error", "dialect", token.start(), f"{kind}; runtimes cannot read it, remove it")
    elif "=" in (comment.split() or [""])[0]:
        yield _Fault("error", "dialect", token.start(), "a comment whose first word holds '='; runtimes stop there")


def _tag(token: re.Match[str]) -> Iterator[_Fault]:
    rest = token["rest"]
    if token["close"]:
        if rest:
            yield _Fault("error", "dialect", token.start(), "a blank inside a closing tag; runtimes stop there")
        return
    if not _STRICT.match(rest):
        bare = _VALUE.sub('""', rest)
        if re.search(r"\s=|=\s", bare):
            yield _Fault("error", "dialect", token.start(), "blanks around '='; runtimes expect a double quote there")
        if "\n" in bare or "\r" in bare:
            yield _Fault(
                "error", "dialect", token.start(), "a line break between attributes; write one line per element"
            )
        if any(value.startswith("'") for value in _VALUE.findall(rest)):
            yield _Fault("error", "dialect", token.start(), "a value in single quotes; only double quotes end it")
        if bare.rstrip("/ ").count(" ") > MAX_ATTRIBUTES:
            message = f"more than {MAX_ATTRIBUTES} blanks between attributes; runtimes drop the attributes after them"
            yield _Fault("error", "dialect", token.start(), message)
    elif rest.count("=") > MAX_ATTRIBUTES or len(rest) > MAX_VALUE or len(token["name"]) > MAX_NAME:
        yield from _lengths(token)
    if "&" in rest:
        yield _Fault("warning", "dialect", token.start(), "an entity (&...;); runtimes do not decode it")


def _lengths(token: re.Match[str]) -> Iterator[_Fault]:
    values = _VALUE.findall(token["rest"])
    if len(values) > MAX_ATTRIBUTES:
        message = f"more than {MAX_ATTRIBUTES} attributes on <{token['name']}>; runtimes drop the rest"
        yield _Fault("error", "dialect", token.start(), message)
    if any(len(value.encode()) - 2 > MAX_VALUE for value in values):
        message = f"a value longer than {MAX_VALUE} bytes; runtimes overrun their memory"
        yield _Fault("error", "dialect", token.start(), message)
    if any(len(name) > MAX_NAME for name in [token["name"], *re.findall(r"([^\s=]+)=", token["rest"])]):
        yield _Fault("error", "dialect", token.start(), f"a name longer than {MAX_NAME} characters")


def _step_number(token: re.Match[str], expected: int) -> Iterator[_Fault]:
    stated = _STEP_NUMBER.search(token["rest"])
    if stated is None or int(stated[1][:9]) == expected:
        return
    message = (
        "s does not count the steps of the thread block from 0 in the order of the file; runtimes ignore s, so that "
        "dependences mean other steps than they seem to"
    )
    yield _Fault("error", "step-number", token.start(), message)


def _header(token: re.Match[str]) -> Iterator[_Fault]:
    rest = token["rest"]
    missing = [name for name in _WANTED if not re.search(rf"\s{name}\s*=", rest)]
    if missing:
        message = f"algo has no {', '.join(missing)}; msccl-executor-nccl and RCCL refuse the file"
        yield _Fault("warning", "attributes", token.start(), message)
    if re.search(r"""coll\s*=\s*["']reduce_scatter""", rest):
        message = "coll is spelled reduce_scatter; msccl-executor-nccl and RCCL want reducescatter"
        yield _Fault("warning", "attributes", token.start(), message)
