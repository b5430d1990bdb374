"""The significant digits of a written number. Each wire writes its floats of them in its own notation."""

from __future__ import annotations


def significant_digits(text: str) -> tuple[str, int]:
    """Give the digits of a number as `repr` writes a float, and the place of the point: ``0.d1d2... times 10^point``.

    The sign is left out, and so are zeros at either end: ``-1500.0`` is ``("15", 4)``. Zero is ``"0"`` at any place.
    """
    mantissa, _, exponent = text.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    leading = len(whole + fraction) - len(digits)
    return digits.rstrip("0") or "0", len(whole) - leading + int(exponent or 0)
