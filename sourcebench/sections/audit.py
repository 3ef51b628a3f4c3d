"""Section 11: what the published tables imply about themselves."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from sourcebench.audit.findings import Finding, findings_frame
from sourcebench.audit.formulas import search_formulas
from sourcebench.audit.grim import printed_cells
from sourcebench.audit.leverage import carrying_system
from sourcebench.audit.recompute import recompute
from sourcebench.published import printed_table, published_table
from sourcebench.render import interval, rounded
from sourcebench.rubric import CODES, WEIGHTS
from sourcebench.statistics.correlate import exact_orders, system_correlation
from sourcebench.tables import PaperTable

STANDING = (
    "Follows from the printed numbers: no more than arithmetic is needed. Likely: the printed "
    "numbers point to it, and something else could explain them. Needs release: a question that "
    "only unpublished data can answer."
)
# Where the two correlations over systems stand: table, and the columns that are correlated.
CORRELATIONS = {
    "Table 6": ("Answer Score", "Weighted Source"),
    "Table 8": ("% in Google", "W. Source"),
}


def findings_table(findings: Sequence[Finding], name: str, title: str) -> PaperTable:
    """Return findings as a table, gravest first: what is printed, what was expected, and why."""
    data = findings_frame(findings)
    names = {
        "check": "Finding",
        "cells": "Where",
        "printed": "Printed",
        "expected": "Expected",
        "by hand": "By hand",
        "standing": "Standing",
        "to settle it": "What would settle it",
    }
    return PaperTable(name, title, data, data.rename(columns=names)[list(names.values())], STANDING)


def recomputed_table(table: str, column: str, name: str) -> PaperTable:
    """Return a published weighted column beside what its rows imply.

    If one other formula gives the column in every row, its values stand beside them.
    """
    printed = printed_table(table)
    formulas, _, _ = search_formulas(printed, column, WEIGHTS)
    rows = []
    for system, cells in printed_cells(printed, [*CODES, column]).items():
        expected = recompute(cells, WEIGHTS)
        row = {
            "system": system,
            "printed": float(cells[column].value),
            "recomputed": float(expected.value),
            "difference": float(cells[column].value - expected.value),
            "rounding explains": float(cells[column].half + expected.half),
        }
        if formulas:
            row["other formula"] = formulas[0].value(cells)
        rows.append(row)
    data = pd.DataFrame(rows)
    shown = data.copy()
    digits = {"printed": 3, "recomputed": 3, "difference": 3, "rounding explains": 4}
    for place in data.columns[1:]:
        shown[place] = [rounded(value, digits.get(place, 3)) for value in data[place]]
    note = f"Recomputed from the printed means of {table} with the stated weights."
    if formulas:
        note += f" Other formula: {formulas[0]}."
    return PaperTable(
        name, f"The paper's {table}, {column}: printed and recomputed", data, shown, note
    )


def system_correlations_table(name: str = "audit-correlations") -> PaperTable:
    """Return the two published correlations over systems, with and without the one they rest on."""
    rows = []
    for table, (x, y) in CORRELATIONS.items():
        frame = published_table(table)
        frame = frame if x in frame else frame.T
        carrier = carrying_system(frame[x], frame[y])
        for systems, part in (("all", frame), (f"without {carrier}", frame.drop(carrier))):
            rows.append(
                {"table": table, "x": x, "y": y, "systems": systems, **_fit(part[x], part[y])}
            )
    data = pd.DataFrame(rows)
    shown = pd.DataFrame(
        {
            "Table": data["table"],
            "Correlated": data["x"] + " and " + data["y"],
            "Systems": data["systems"],
            "n": data["n"].astype(str),
            "r": [rounded(r, 3) for r in data["r"]],
            "Interval": [interval(*ends) for ends in zip(data["low"], data["high"], strict=True)],
            "Exact p": [
                f"{hits:,} of {total:,} = {rounded(p, 3)}"
                for hits, total, p in zip(data["orders"], data["of"], data["p"], strict=True)
            ],
            "Rank correlation (p)": [
                f"{rounded(r, 3)} ({rounded(p, 3)})"
                for r, p in zip(data["spearman"], data["spearman_p"], strict=True)
            ],
            "|r| needed": [rounded(r, 3) for r in data["critical"]],
        }
    )
    note = (
        "Exact p: share of all orders of the systems that correlate at least as strongly, both "
        "signs. Interval: jackknife on Fisher's z. |r| needed: for p below .05 with n systems."
    )
    return PaperTable(name, "Correlations over systems, recomputed", data, shown, note)


def _fit(x: pd.Series, y: pd.Series) -> dict[str, float]:
    """Return the correlation of two columns with its exact p-value as a fraction."""
    fit = system_correlation(x, y)
    orders = exact_orders(x.to_numpy(float), y.to_numpy(float))
    kept = ("n", "r", "low", "high", "p", "spearman", "spearman_p", "critical")
    return {
        **{field: getattr(fit, field) for field in kept},
        "orders": orders.two_sided,
        "of": orders.total,
    }
