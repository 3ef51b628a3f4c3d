"""Which whole-number counts a printed mean or percentage allows.

The mean of n whole numbers is a multiple of 1/n, so a printed mean rules out most n (GRIM: Brown &
Heathers 2017, doi 10.1177/1948550616673876). All arithmetic is exact; a tie may have been rounded
either way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


# How tables print that there is no number.
BLANK = ("", "-", "–", "—")


@dataclass(frozen=True)
class Printed:
    """A printed number: its text, its exact value, and half a unit of its last digit."""

    text: str
    value: Fraction
    half: Fraction

    @cached_property
    def low(self) -> Fraction:
        """Return the smallest value that rounds to the printed one."""
        return self.value - self.half

    @cached_property
    def high(self) -> Fraction:
        """Return the largest value that rounds to the printed one."""
        return self.value + self.half

    def allows(self, low: Fraction, high: Fraction | None = None) -> bool:
        """Say whether a value, or some value from `low` to `high`, prints as this number."""
        return low <= self.high and (low if high is None else high) >= self.low


def read_printed(cell: str | float | Printed, decimals: int | None = None) -> Printed:
    """Read one printed number exactly.

    Parameters
    ----------
    cell : str or float
        Text such as ``"4.490"`` or ``"18.33%"`` (a percentage becomes a share of 1), or a number.
    decimals : int, optional
        Digits after the point that were printed; as found in the text when left out. A float has
        lost its trailing zeros, so give this for floats.

    Raises
    ------
    ValueError
        If the cell is not a finite number.
    """
    if isinstance(cell, Printed):
        return cell
    text = str(cell).strip()
    scale = Fraction(1, 100) if text.endswith("%") else Fraction(1)
    try:
        number = Decimal(text.rstrip("% "))
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a printed number such as 4.490 or 18.33%") from None
    if not number.is_finite() or abs(number.adjusted()) > 15 or len(text) > 40:
        raise ValueError(f"{text[:40]!r} is not a finite number of ordinary size")
    digits = max(0, -number.as_tuple().exponent) if decimals is None else decimals
    return Printed(text, Fraction(number) * scale, Fraction(1, 2 * 10**digits) * scale)


def possible_sums(cell: str | float | Printed, n: int, decimals: int | None = None) -> list[int]:
    """Return the whole-number sums over n items whose mean prints as `cell`; empty if none does.

    For a percentage these are the counts k with k/n as printed: ``possible_sums("18.33%", 60)`` is
    ``[11]``, ``possible_sums("18.33%", 20)`` is ``[]``.
    """
    mean = read_printed(cell, decimals)
    first = -(-mean.low.numerator * n // mean.low.denominator)
    return list(range(first, mean.high.numerator * n // mean.high.denominator + 1))


def possible_ns(cell: str | float | Printed, n_max: int, decimals: int | None = None) -> list[int]:
    """Return every n from 1 to `n_max` over which a whole-number sum prints as `cell`."""
    mean = read_printed(cell, decimals)
    return [n for n in range(1, n_max + 1) if possible_sums(mean, n)]


def common_ns(cells: Sequence[str | float | Printed], n_max: int) -> list[int]:
    """Return every n from 1 to `n_max` that all cells allow at once (joint GRIM)."""
    means = [read_printed(cell) for cell in cells]
    return [n for n in range(1, n_max + 1) if all(possible_sums(mean, n) for mean in means)]


@dataclass(frozen=True)
class NearFit:
    """A number of sources that fits every mean, up to a few scores missing from some metrics.

    `chance` is the expected number of fits as simple as this one among means printed at random.
    """

    n: int
    short: tuple[str, ...]  # metrics whose mean rests on n - missing scores
    missing: int  # scores missing from each of them
    chance: float


def near_ns(
    cells: Mapping[str, str | float | Printed], n_max: int, missing: int = 1
) -> list[NearFit]:
    """Return the n that fit all metrics when some of them lack `missing` scores, surest first.

    Parameters
    ----------
    cells : mapping of metric to printed mean
    n_max : int
        Largest number of sources to try.
    missing : int
        Scores that a metric may lack: all or none, as when whole judgments of one prompt failed.

    Returns
    -------
    list of NearFit
        Sorted by `chance`. Fits at which every metric lacks scores are left out: they are fits at
        a smaller n.
    """
    means = {name: read_printed(cell) for name, cell in cells.items()}
    unit = 2 * math.prod(float(mean.half) for mean in means.values()) ** (1 / len(means))
    fits, tried = [], 0.0
    for n in range(1, n_max + 1):
        tried += min(1.0, n * unit) ** len(means)
        short = tuple(name for name, mean in means.items() if not possible_sums(mean, n))
        fewer = n - missing if short else n
        if len(short) < len(means) and all(possible_sums(means[m], fewer) for m in short):
            chance = math.comb(len(means), len(short)) * tried
            fits.append(NearFit(n, short, n - fewer, chance))
    return sorted(fits, key=lambda fit: (fit.chance, fit.n))


def chance_of_fit(n_max: int, cells: int, decimals: int = 3) -> float:
    """Return how many n up to `n_max` are expected to fit means that are printed at random.

    A random last digit fits a given n with probability about n / 10**decimals, so `cells` means
    fit by accident at about ``sum((n / 10**decimals) ** cells)`` of the n tried. Below 1 this
    bounds the probability of any false fit.
    """
    return sum(min(1.0, n * 10.0**-decimals) ** cells for n in range(1, n_max + 1))


def printed_cells(frame: pd.DataFrame, columns: Sequence[str]) -> dict[str, dict[str, Printed]]:
    """Read the cells of a frame as printed numbers: row to column to number, blanks left out.

    Text cells keep their own precision. In a column of floats the digits are those of its most
    precise cell, at most six.

    Raises
    ------
    ValueError
        If a cell is not a number; the message names the row and the column.
    """
    read: dict[str, dict[str, Printed]] = {str(row): {} for row in frame.index}
    for column in columns:
        digits = _digits(frame[column])
        for row, cell in frame[column].items():
            if str(cell).strip() in BLANK or cell is None or cell != cell:
                continue
            try:
                read[str(row)][column] = read_printed(cell, digits)
            except ValueError as error:
                raise ValueError(f"row {row!r}, column {column!r}: {error}") from None
    return read


_FLOAT_DIGITS = 6


def _digits(column: pd.Series) -> int | None:
    """Return the printed digits of a numeric column, or None for text, which shows its own."""
    if column.dtype.kind not in "fiu":
        return None
    shown = (repr(float(cell)) for cell in column.dropna())
    digits = (len(text.split(".")[1]) for text in shown if "." in text and not text.endswith(".0"))
    return min(_FLOAT_DIGITS, max(digits, default=0))
