"""What printed percentages and their intervals say about the items behind them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from sourcebench.audit.findings import FOLLOWS, LIKELY, Finding, cell_name
from sourcebench.audit.grim import Printed, common_ns, possible_ns, possible_sums, read_printed


def check_percentages(
    cells: Mapping[str, str | Printed],
    n: Mapping[str, int] | int,
    column: str,
    table: str = "",
    runs: int = 1,
) -> list[Finding]:
    """Find percentages that no count out of n gives.

    Parameters
    ----------
    cells : mapping of system to printed percentage
        With or without the percent sign.
    n : int or mapping of system to int
        Items asked; systems without a number are not judged.
    column, table : str
        Names for the report.
    runs : int
        Also say what fits if every item, or all but a few, was asked this many times.

    Returns
    -------
    list of Finding
        At most one; it covers every such cell.
    """
    sizes = dict(n) if isinstance(n, Mapping) else dict.fromkeys(cells, n)
    shares = {row: _share(cell) for row, cell in cells.items() if sizes.get(row)}
    bad = [row for row, share in shares.items() if not possible_sums(share, sizes[row])]
    if not bad:
        return []
    shown = [f"{row}: {_neighbours(shares[row], sizes[row], runs)}" for row in bad]
    return [
        Finding(
            check="percentages are impossible with the stated count",
            cells=tuple(cell_name(table, row, column) for row in bad),
            printed="; ".join(f"{shares[row].text} of {sizes[row]}" for row in bad),
            expected="a whole number of items",
            arithmetic=" ".join([*shown, _shared_n(shares, sizes)]).strip(),
            tolerance=float(100 * max(shares[row].half for row in bad)),
            chance=None,
            severity="major",
            kind=FOLLOWS,
            what_would_settle="the count of hits and of items for each system",
        )
    ]


def _neighbours(share: Printed, size: int, runs: int) -> str:
    """Show the counts next to an impossible percentage, and which fractions do fit."""
    k = math.floor(share.value * size)
    return (
        f"{k}/{size} = {100 * k / size:.2f}%, {k + 1}/{size} = {100 * (k + 1) / size:.2f}%. "
        + _fractions(share, size, runs)
    )


def _shared_n(shares: Mapping[str, Printed], sizes: Mapping[str, int]) -> str:
    """Say which single number of items would fit all percentages that claim the same one."""
    telling = [share for share in shares.values() if 0 < share.value < 1]
    if len(telling) < 2 or len({sizes[row] for row in shares}) > 1:
        return ""
    size = max(sizes.values())
    if fits := common_ns(telling, size):
        return f"All {len(telling)} percentages fit n = {', '.join(map(str, fits))}."
    return (
        f"No single number of items up to {20 * size - 1} fits all {len(telling)} percentages."
        * (not common_ns(telling, 20 * size - 1))
    )


def counts_over_runs(
    cells: Mapping[str, str | Printed], items: int, runs: int
) -> dict[str, tuple[int, int]]:
    """Return hits and trials behind percentages, if each of at most `items` was asked `runs` times.

    The largest number of items that fits is taken; a percentage that none fits is left out.
    """
    counts = {}
    for row, cell in cells.items():
        share = _share(cell)
        for trials in range(runs * items, 0, -runs):
            if sums := possible_sums(share, trials):
                counts[row] = (sums[0], trials)
                break
    return counts


def _fractions(share: Printed, size: int, runs: int) -> str:
    """Say which counts do fit a percentage."""
    fit = counts_over_runs({"": share}, size, runs).get("")
    if runs > 1 and fit:
        return f"{fit[0]}/{fit[1]} fits: {fit[1] // runs} of {size} items, {runs} runs each."
    least = possible_ns(share, 20 * size)[:3]
    shown = ", ".join(f"{possible_sums(share, m)[0]}/{m}" for m in least) or "none"
    return f"Smallest fractions that fit: {shown}."


def _share(cell: str | Printed) -> Printed:
    """Read a percentage, with or without its sign, as a share of 1."""
    if isinstance(cell, Printed):
        return cell
    text = str(cell).strip()
    return read_printed(text if text.endswith("%") else f"{text}%")


@dataclass(frozen=True)
class IntervalStrength:
    """What the width of an interval for a rate says about the independent items behind it."""

    se: float
    n_effective: float
    n_effective_rounding: float
    design_effect: float
    half_width: float
    widest: float  # largest half-width that n independent values in [0, 1] can have


def interval_strength(
    rate: str, low: str, high: str, n: int, level: float = 0.95
) -> IntervalStrength:
    """Return how many independent items an interval for a rate is worth.

    A mean of n independent values in [0, 1] with mean p has a standard error of at most
    sqrt(p (1 - p) / n), reached by yes-or-no values.

    Parameters
    ----------
    rate, low, high : str
        Printed percentages.
    n : int
        Items that the paper says the rate rests on.
    level : float
        Of the interval.
    """
    from scipy.stats import norm

    share, bottom, top = _share(rate), _share(low), _share(high)
    z = float(norm.ppf(0.5 + level / 2))
    p = float(share.value)
    half_width = float(top.value - bottom.value) / 2
    effective = p * (1 - p) * (z / half_width) ** 2
    slack = float(top.half + bottom.half) / 2
    nearer_half = p + math.copysign(float(share.half), 0.5 - p)
    most = nearer_half * (1 - nearer_half) * (z / (half_width - slack)) ** 2
    return IntervalStrength(
        se=half_width / z,
        n_effective=effective,
        n_effective_rounding=most - effective,
        design_effect=n / effective,
        half_width=half_width,
        widest=z * math.sqrt(p * (1 - p) / n),
    )


def check_interval(
    rate: str, low: str, high: str, n: int, cell: str, level: float = 0.95, excess: float = 1.2
) -> list[Finding]:
    """Find an interval for a rate that is wider than n independent items can make it.

    Parameters
    ----------
    rate, low, high, n, level
        As for `interval_strength`.
    cell : str
        Name of the number, for the report.
    excess : float
        How much wider it must be, since methods for intervals differ.
    """
    strength = interval_strength(rate, low, high, n, level)
    if strength.half_width <= excess * strength.widest:
        return []
    p = float(_share(rate).value)
    return [
        Finding(
            check="an interval is wider than its number of items allows",
            cells=(cell,),
            printed=f"{rate} ({low} to {high}), n = {n}",
            expected=f"at most +-{100 * strength.widest:.2f} points, if the {n} items are "
            "independent",
            arithmetic=f"Half-width ({high} - {low}) / 2 = {100 * strength.half_width:.2f} points. "
            f"Widest: 1.96 x sqrt({p:.3f} x {1 - p:.3f} / {n}) = {100 * strength.widest:.2f}. "
            f"Printed width is worth {strength.n_effective:.1f} independent items "
            f"(+-{strength.n_effective_rounding:.1f} for rounding), {n} / "
            f"{strength.n_effective:.1f} = {strength.design_effect:.2f} times fewer."
            + _ends(rate, low, high, n, level),
            tolerance=100 * float(_share(high).half + _share(low).half) / 2,
            chance=None,
            severity="major",
            kind=FOLLOWS,
            what_would_settle="how the interval was formed, and from how many items",
        )
    ]


def _ends(rate: str, low: str, high: str, n: int, level: float) -> str:
    """Say of which smaller number of items both ends of an interval are counts."""
    from scipy.stats import binom

    fits = common_ns([_share(low), _share(high)], n)
    if not fits:
        return ""
    m = fits[0]
    bottom, top = (possible_sums(_share(end), m)[0] for end in (low, high))
    text = f" The ends are {bottom}/{m} and {top}/{m}; no smaller number of items gives both."
    tail = (1 - level) / 2
    points = binom.ppf([tail, 1 - tail], m, float(_share(rate).value)).astype(int)
    if list(points) == [bottom, top]:
        text += f" They are the {100 * level:g}% range of counts of {m} items at this rate."
    return text


def check_rates_alike(
    counts: Mapping[str, tuple[int, int]], column: str, table: str = ""
) -> list[Finding]:
    """Report rates that do not differ by more than chance, so that nothing can go with them.

    Parameters
    ----------
    counts : mapping of system to (hits, items)
        Items are taken as independent.
    column, table : str
        Names for the report.

    Returns
    -------
    list of Finding
        One if a chi-squared test of equal rates has p > 0.05.
    """
    from scipy.stats import chi2_contingency, fisher_exact

    table_of = [[hits for hits, _ in counts.values()], [n - hits for hits, n in counts.values()]]
    test = chi2_contingency(table_of, correction=False)
    if test.pvalue <= 0.05:
        return []
    rates = {row: 100 * hits / n for row, (hits, n) in counts.items()}
    mean = sum(rates.values()) / len(rates)
    between = sum((rate - mean) ** 2 for rate in rates.values()) / (len(rates) - 1)
    within = sum(rate * (100 - rate) / counts[row][1] for row, rate in rates.items()) / len(rates)
    best, worst = max(rates, key=rates.get), min(rates, key=rates.get)
    pair = [[counts[s][0], counts[s][1] - counts[s][0]] for s in (best, worst)]
    return [
        Finding(
            check="answer rates do not differ by more than chance",
            cells=tuple(cell_name(table, row, column) for row in counts),
            printed="; ".join(f"{row} {hits}/{n}" for row, (hits, n) in counts.items()),
            expected="rates that differ, if something is to be correlated with them",
            arithmetic=f"Chi-squared = {test.statistic:.2f} with {test.dof} degrees of freedom, "
            f"p = {test.pvalue:.3f}. Variance between systems {between:.1f}, mean binomial "
            f"variance {within:.1f}. {best} against {worst}: Fisher exact p = "
            f"{fisher_exact(pair).pvalue:.3f}.",
            tolerance=None,
            chance=float(test.pvalue),
            severity="major",
            kind=LIKELY,
            what_would_settle="the answer of every system to every question, for a paired test",
        )
    ]
