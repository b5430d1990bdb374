"""Numbers that come round: what `v/n` means once every field is counted in days or years from 1970.

A congruence (r, p) is every whole number x with x mod p == r. Pure arithmetic; knows nothing of time.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd, lcm
from typing import TypeAlias

Congruence: TypeAlias = tuple[int, int]

ALWAYS: Congruence = (0, 1)


def solve(a: int, b: int, *, n: int) -> Congruence | None:
    """Solve a·x ≡ b (mod n) for x; None where no x does."""
    common, period, inverse = _inverse(a, n)
    return None if b % common else (b // common * inverse % period, period)


@lru_cache(maxsize=256)
def _inverse(a: int, n: int) -> tuple[int, int, int]:
    """Divide a and n by what they have in common, and find the inverse of what is left of a."""
    common = gcd(a, n)
    return common, n // common, pow(a // common, -1, n // common)


def both(one: Congruence | None, two: Congruence | None) -> Congruence | None:
    """Find the numbers that fulfil both (the Chinese remainder); None where none does."""
    if one is None or two is None:
        return None
    (r, p), (s, q) = one, two
    if p == 1 or q == 1:
        return two if p == 1 else one
    found = solve(p, s - r, n=q)
    return None if found is None else (r + p * found[0], lcm(p, q))


def narrow(numbers: range | tuple[int, ...], keep: Congruence, *, origin: int) -> range | tuple[int, ...]:
    """Keep those of the ascending `numbers` whose distance from `origin` fulfils `keep`."""
    residue, period = keep
    if not isinstance(numbers, range):
        return tuple(x for x in numbers if (x - origin) % period == residue)
    if not numbers:
        return numbers
    met = both(((numbers.start - origin) % numbers.step, numbers.step), keep)
    if met is None:
        return range(0)
    first = numbers.start + (met[0] + origin - numbers.start) % met[1]
    return range(first, numbers.stop, met[1])
