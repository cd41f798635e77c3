"""What a NaN can be in each floating-point type, as far as text has to tell one from another."""

PAYLOAD_BITS = {"f8e3m4": 4, "f8e4m3": 3, "f8e5m2": 2, "bf16": 7, "f16": 10, "f32": 23, "f64": 52}
"""The width of the payload; the other types have no payload to write."""

SIGNED = frozenset({*PAYLOAD_BITS, "f8e4m3fn"})
"""Types in which NaN has a sign."""

ABSENT = frozenset({"f4e2m1fn", "f6e2m3fn", "f6e3m2fn"})
"""Types without NaN."""


def quiet_payload(name: str) -> int:
    """The payload of a NaN that is written without one."""
    return 1 << (PAYLOAD_BITS[name] - 1)
