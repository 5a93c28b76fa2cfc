"""Reading of lists and ranges on the command line: "0.5,0.7", "1:10", "0:1.2:0.1"."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation

import numpy as np
from numpy.typing import NDArray

from tuner.errors import InputError
from tuner.optimize.grid import MAX_POINTS

FloatArray = NDArray[np.float64]

#: an end that floating point missed by this share of a step still belongs to the range
_SLACK = Decimal("1e-9")
#: three numbers of a range with all digits that a float has, and much to spare
MAX_ITEM_LENGTH = 200


def read_reals(option: str, text: str) -> FloatArray:
    """Return the numbers of a list whose items are numbers or ranges FROM:TO:STEP, in order."""
    return np.concatenate([_reals(option, item) for item in _items(option, text)])


def read_wholes(option: str, text: str) -> FloatArray:
    """Return whole numbers of a list whose items are numbers or ranges FROM:TO or FROM:TO:STEP."""
    values = np.concatenate([_reals(option, item, step="1") for item in _items(option, text)])
    odd = values != np.floor(values)
    if odd.any():
        raise InputError(f"{option}: {values[odd][0]:g} is not a whole number.")
    return values


def read_doubling(option: str, text: str) -> FloatArray:
    """Return whole numbers; a range without a step doubles from its start and keeps its end."""
    parts = [_doubled(option, item) for item in _items(option, text)]
    values = np.concatenate(parts)
    odd = values != np.floor(values)
    if odd.any():
        raise InputError(f"{option}: {values[odd][0]:g} is not a whole number.")
    return values


def _items(option: str, text: str) -> list[str]:
    items = [item.strip() for item in text.split(",")]
    if not text.strip() or not all(items):
        raise InputError(
            f"{option}: {text!r} has an empty place; give numbers such as 1,2,4 or a range 1:10."
        )
    return items


def _reals(option: str, item: str, step: str | None = None) -> FloatArray:
    start, stop, given = _bounds(option, item)
    if stop is None:
        return np.array([float(start)])
    stride = given if given is not None else step and Decimal(step)
    if not stride:
        raise InputError(f"{option}: the range {item!r} needs a step, such as {item}:0.05.")
    return _arithmetic(option, item, start, stop, Decimal(stride))


def _doubled(option: str, item: str) -> FloatArray:
    start, stop, given = _bounds(option, item)
    if stop is None or given is not None:
        return _reals(option, item)
    if start <= 0:
        raise InputError(f"{option}: the range {item!r} must start above 0.")
    count = math.floor(math.log2(float(stop / start))) + 1
    values = float(start) * 2.0 ** np.arange(count)
    return np.unique(np.append(values, float(stop)))


def _bounds(option: str, item: str) -> tuple[Decimal, Decimal | None, Decimal | None]:
    parts = item.split(":")
    if len(parts) > 3:
        raise InputError(f"{option}: {item!r} is not a range; write FROM:TO or FROM:TO:STEP.")
    numbers = [_number(option, part, item) for part in parts]
    start = numbers[0]
    stop = numbers[1] if len(numbers) > 1 else None
    step = numbers[2] if len(numbers) > 2 else None
    if step is not None and step <= 0:
        raise InputError(f"{option}: the step of {item!r} must be above 0.")
    if stop is not None and stop < start:
        raise InputError(f"{option}: the range {item!r} ends before it starts.")
    return start, stop, step


def _number(option: str, text: str, item: str) -> Decimal:
    if len(item) > MAX_ITEM_LENGTH:
        raise InputError(f"{option}: '{item[:37]}…' is too long for a number or a range.")
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        raise InputError(
            f"{option}: {item!r} is not a number, a list such as 0.5,0.7 or a range FROM:TO:STEP."
        ) from None
    if not value.is_finite():
        raise InputError(f"{option}: {item!r} is not a finite number.")
    if abs(value) > Decimal("1e15"):
        raise InputError(f"{option}: {item!r} is too large.")
    return value


def _arithmetic(option: str, item: str, start: Decimal, stop: Decimal, step: Decimal) -> FloatArray:
    steps = (stop - start) / step + _SLACK
    if steps >= MAX_POINTS:
        raise InputError(
            f"{option}: the range {item!r} has more than {MAX_POINTS:,} values; "
            "take a larger step or a shorter range."
        )
    # Rounding to the decimals that were typed gives 0.7, where 0.5 + 4 × 0.05 is not quite that.
    decimals = max(_decimals(start), _decimals(step))
    return np.round(float(start) + float(step) * np.arange(int(steps) + 1), decimals)


def _decimals(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0
