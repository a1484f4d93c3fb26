"""Bytes that were harmed: a few of them are others, or gone, or the end is."""

from hypothesis import strategies as st


def harmed(draw: st.DataObject, content: bytes) -> bytes:
    """The content after one to three harms."""
    changed = bytearray(content)
    for _ in range(draw.draw(st.integers(1, 3))):
        place = draw.draw(st.integers(0, max(0, len(changed) - 1)))
        match draw.draw(st.sampled_from(["flip", "other", "cut", "out"])):
            case "flip":
                changed[place] ^= 1 << draw.draw(st.integers(0, 7))
            case "other":
                changed[place] = draw.draw(st.sampled_from(b'0179-."{}[],:tnx\t\r\n\0\xff'))
            case "cut":
                del changed[place:]
            case _:
                del changed[place : place + draw.draw(st.integers(1, 20))]
        if not changed:
            break
    return bytes(changed)
