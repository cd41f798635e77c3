"""Modules and values as XLA's protocol buffers: `HloProto`, as XLA dumps modules, and snapshots with values.

`schema` is the table of messages, `wire` writes any of them; the other files say what a message holds of a module.
What a message has no field for is refused by name.
"""

from compiler.proto.module import hlo_proto
from compiler.proto.snapshot import hlo_snapshot, unoptimized_snapshot

__all__ = ["hlo_proto", "hlo_snapshot", "unoptimized_snapshot"]
