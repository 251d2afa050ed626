"""What happens to files: single bits flip, the end is lost, a sector is zeros, nothing is left. Seeded."""

import random


def damages(content, number, seed=0):
    """So many damaged versions of some content, and what was done to each: mostly a flipped bit, at any place."""
    rng = random.Random(seed)
    for i in range(number):
        at = rng.randrange(len(content))
        if i % 5 == 3:
            yield f"cut off at byte {at}", content[:at]
        elif i % 5 == 4:
            zeros = content[:at] + bytes(len(content[at : at + 512])) + content[at + 512 :]
            if zeros != content:
                yield f"zeros from byte {at} on", zeros
        else:
            bit = rng.randrange(8)
            yield f"bit {bit} of byte {at}", content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :]


def outcome(read):
    """What is read, and no sentence; or nothing, and the sentence with which it is refused."""
    try:
        return read(), None
    except ValueError as error:
        return None, str(error)
