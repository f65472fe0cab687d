"""Execution plans of MSCCL++ in JSON: read with the place of every fault, written with one operation a line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from syccl.program.ir import Buffer
from syccl.program.mscclpp.ir import KINDS, Op, Plan, PlanBlock, PlanRank, Ref, RemoteBuffer
from syccl.schedule.json_fields import Field, parse_document

_UINT64 = 2**64 - 1
_INT32 = 2**31 - 1
_BYTE = 255
_READ = {
    "name", "collective", "protocol", "inplace", "reuse_resources", "use_double_scratch_buffer", "buffer_alignment",
    "min_message_size", "max_message_size", "num_threads_per_block", "gpus",
}  # fmt: skip
_BUFFERS = {buffer.value: buffer for buffer in Buffer}


def is_plan(text: str) -> bool:
    """Return whether a text looks like an execution plan: an object with ``gpus`` but without a schema of syccl."""
    return text.lstrip("\ufeff \t\r\n")[:1] == "{" and '"gpus"' in text and '"schema"' not in text[:200]


def read_plan_json(text: str, *, source: str) -> Plan:
    """Return the plan that a text states.

    Raises
    ------
    InputError
        When it is not JSON, or a member that the loader reads is missing or of the wrong kind.
    """
    document = parse_document(text, source)
    names = _Members(document)
    return Plan(
        names.get("name").text(),
        names.get("collective").text(),
        names.get("protocol").text(),
        names.flag("inplace", default=None),
        tuple(map(_rank, names.get("gpus").items())),
        min_bytes=names.number("min_message_size", 0, _INT32),
        max_bytes=names.number("max_message_size", _UINT64, _UINT64),
        alignment=names.number("buffer_alignment", 16, _INT32),
        threads=names.number("num_threads_per_block", 1024, _INT32),
        reuse=names.flag("reuse_resources", default=False),
        double_scratch=names.flag("use_double_scratch_buffer", default=False),
        extra=tuple(sorted(names.all.keys() - _READ)),
    )


class _Members:
    """The members of an object of which some may be missing and others are not looked at."""

    def __init__(self, place: Field) -> None:
        if not isinstance(place.value, dict):
            place.fail("must be an object")
        self.place, self.all = place, place.value

    def __contains__(self, name: str) -> bool:
        return name in self.all

    def get(self, name: str) -> Field:
        if name not in self.all:
            self.place.fail(f"field {name!r} is missing")
        prefix = f"{self.place.path}." if self.place.path else ""
        return Field(self.place.source, prefix + name, self.all[name])

    def items(self, name: str) -> list[Field]:
        return self.get(name).items() if name in self.all else []

    def numbers(self, name: str, high: int = _INT32) -> tuple[int, ...]:
        return tuple(item.integer(0, high) for item in self.items(name))

    def number(self, name: str, default: int, high: int) -> int:
        return self.get(name).integer(0, high) if name in self.all else default

    def flag(self, name: str, *, default: bool | None) -> bool:
        if name not in self.all and default is not None:
            return default
        value = self.get(name)
        if not isinstance(value.value, bool):
            value.fail(f"{value.value!r} is neither true nor false")
        return value.value


def _word(place: Field, allowed: Sequence[str]) -> str:
    text = place.text()
    if text not in allowed:
        place.fail(f"{text!r} is none of {', '.join(allowed)}")
    return text


def _rank(place: Field) -> PlanRank:
    names = _Members(place)
    channels: dict[str, tuple[int, ...]] = {}
    switches = 0
    for item in names.get("channels").items():
        channel = _Members(item)
        kind = _word(channel.get("channel_type"), (*KINDS, "switch"))
        if kind == "switch":
            switches += len(channel.get("rank_groups").items())
        else:
            channels[kind] = channels.get(kind, ()) + channel.numbers("connected_to")
    return PlanRank(
        names.get("id").integer(0, _INT32),
        names.get("input_chunks").integer(0, _INT32),
        names.get("output_chunks").integer(0, _INT32),
        names.get("scratch_chunks").integer(0, _INT32),
        channels=channels,
        remote_buffers=tuple(map(_remote_buffer, names.get("remote_buffers").items())),
        blocks=tuple(map(_block, names.get("threadblocks").items())),
        switches=switches,
        semaphores=len(names.items("semaphores")),
    )


def _remote_buffer(place: Field) -> RemoteBuffer:
    names = _Members(place)
    kinds = tuple(_word(item, KINDS) for item in names.get("access_channel_types").items())
    return RemoteBuffer(names.get("rank").integer(0, _INT32), _buffer(names.get("type")), kinds)


def _buffer(place: Field) -> Buffer:
    return _BUFFERS[_word(place, tuple(_BUFFERS))]


def _block(place: Field) -> PlanBlock:
    names = _Members(place)
    channels: dict[str, tuple[int, ...]] = {}
    for item in names.get("channels").items():
        entry = _Members(item)
        kind = _word(entry.get("channel_type"), (*KINDS, "switch"))
        channels[kind] = channels.get(kind, ()) + entry.numbers("channel_ids")
    buffers: dict[str, tuple[int, ...]] = {}
    for item in names.items("remote_buffer_refs"):
        entry = _Members(item)
        kind = _word(entry.get("access_channel_type"), (*KINDS, "switch"))
        buffers[kind] = buffers.get(kind, ()) + entry.numbers("remote_buffer_ids")
    return PlanBlock(names.get("id").integer(0, _INT32), channels, buffers, tuple(map(_op, names.get("ops").items())))


def _op(place: Field) -> Op:
    names = _Members(place)
    share = _Members(names.get("tbg_info")) if "tbg_info" in names else None
    return Op(
        names.get("name").text(),
        _word(names.get("channel_type"), (*KINDS, "switch", "none")) if "channel_type" in names else "",
        names.numbers("channel_ids", _BYTE),
        tuple(map(_ref, names.items("src_buff"))),
        tuple(map(_ref, names.items("dst_buff"))),
        barrier=names.number("barrier_id", -1, _INT32),
        blocks=names.number("num_threadblocks", 0, _INT32),
        semaphores=names.numbers("semaphore_ids"),
        part=share.get("tb_id").integer(0, _INT32) if share else 0,
        parts=share.get("tbg_size").integer(1, _INT32) if share else 1,
        inner=tuple(map(_op, names.items("ops"))),
    )


def _ref(place: Field) -> Ref:
    names = _Members(place)
    buffer = _buffer(names.get("type")) if "type" in names else None
    remote = names.get("buffer_id").integer(0, _BYTE) if "buffer_id" in names else -1
    return Ref(buffer, remote, *(names.get(name).integer(0, _INT32) for name in ("index", "size")))


def plan_lines(plan: Plan) -> Iterator[str]:
    """Yield the lines of a plan's file, the same bytes for the same plan."""
    head = {
        "name": plan.name,
        "collective": plan.collective,
        "protocol": plan.protocol,
        "inplace": plan.in_place,
        "reuse_resources": plan.reuse,
        "use_double_scratch_buffer": plan.double_scratch,
        "buffer_alignment": plan.alignment,
        "min_message_size": plan.min_bytes,
        "max_message_size": plan.max_bytes,
        "num_threads_per_block": plan.threads,
    }
    yield "{\n"
    yield from (f" {json.dumps(name)}: {json.dumps(value)},\n" for name, value in head.items())
    yield ' "gpus": [\n'
    for rank in plan.ranks:
        yield from _rank_lines(rank, last=rank is plan.ranks[-1])
    yield " ]\n}\n"


def write_plan_json(plan: Plan) -> str:
    """Return the text of a plan's file."""
    return "".join(plan_lines(plan))


def _rank_lines(rank: PlanRank, *, last: bool) -> Iterator[str]:
    members = {
        "id": rank.rank,
        "input_chunks": rank.input_chunks,
        "output_chunks": rank.output_chunks,
        "scratch_chunks": rank.scratch_chunks,
        "channels": [{"channel_type": kind, "connected_to": list(peers)} for kind, peers in rank.channels.items()],
        "remote_buffers": [
            {"rank": remote.rank, "type": remote.buffer.value, "access_channel_types": list(remote.kinds)}
            for remote in rank.remote_buffers
        ],
        "semaphores": [],
    }
    yield "  {\n"
    yield from (f"   {json.dumps(name)}: {json.dumps(value)},\n" for name, value in members.items())
    yield '   "threadblocks": [\n'
    for block in rank.blocks:
        yield f'    {{"id": {block.id},\n'
        yield f'     "channels": {json.dumps(_by_kind(block.channels, "channel_type", "channel_ids"))},\n'
        refs = _by_kind(block.buffers, "access_channel_type", "remote_buffer_ids")
        yield f'     "remote_buffer_refs": {json.dumps(refs)},\n'
        yield '     "ops": [\n'
        yield ",\n".join(f"      {json.dumps(_op_record(op))}" for op in block.ops)
        yield "]}" + ("\n" if block is rank.blocks[-1] else ",\n")
    yield "   ]}" + ("\n" if last else ",\n")


def _by_kind(numbers: Mapping[str, Sequence[int]], kind: str, ids: str) -> list[dict[str, object]]:
    return [{kind: name, ids: list(values)} for name, values in numbers.items()]


def _op_record(op: Op) -> dict[str, object]:
    record: dict[str, object] = {"name": op.name}
    if op.src:
        record["src_buff"] = [_ref_record(ref) for ref in op.src]
    if op.dst:
        record["dst_buff"] = [_ref_record(ref) for ref in op.dst]
    if op.channels:
        record["channel_ids"] = list(op.channels)
    if op.kind:
        record["channel_type"] = op.kind
    if op.parts > 1:
        record["tbg_info"] = {"tb_id": op.part, "tbg_size": op.parts}
    if op.barrier >= 0:
        record |= {"barrier_id": op.barrier, "num_threadblocks": op.blocks}
    return record


def _ref_record(ref: Ref) -> dict[str, object]:
    place = {"buffer_id": ref.remote} if ref.buffer is None else {"type": ref.buffer.value}
    return {**place, "index": ref.start, "size": ref.size}
