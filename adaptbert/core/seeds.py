"""Seeds as functions of a key: no random stream is shared, so nothing depends on the order of the calls."""

from hashlib import blake2b


def seed_of(*key: int | str) -> int:
    """A seed of 63 bits for a key such as (seed, "step", k); equal keys give equal seeds on every machine."""
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in key)
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") >> 1
