"""SI units inside, human units at the edge. The only place where factors of a thousand live."""

from __future__ import annotations

KILO = 1e3
MEGA = 1e6
GIGA = 1e9
TERA = 1e12
GIBI = 2**30
MILLI = 1e-3
MICRO = 1e-6
SECONDS_PER_HOUR = 3600.0

BITS_PER_BYTE = 8


def gigabytes(value: float) -> float:
    """Return bytes for a decimal number of GB (10^9), as data sheets state memory."""
    return value * GIGA


def terabytes_per_s(value: float) -> float:
    """Return bytes per second for TB/s (10^12)."""
    return value * TERA


def teraflops(value: float) -> float:
    """Return floating point operations per second for TFLOPS (10^12, never 2^40)."""
    return value * TERA


def milliseconds(value_s: float) -> float:
    """Return milliseconds for a time in seconds."""
    return value_s / MILLI
