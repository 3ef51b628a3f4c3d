"""Section 6: how the eight metrics hang together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from sourcebench.figures import heatmap, metric_square
from sourcebench.render import interval, rounded
from sourcebench.study import Study
from sourcebench.tables import PaperTable, judge_name, p_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KINDS = {
    "within": "within systems",
    "pooled": "pooled, as in the paper",
    "between": "between systems",
    "polychoric": "within systems, freed from the ceiling (polychoric)",
}


def correlation_figure(study: Study, correlations: pd.DataFrame) -> Figure:
    """Figure 1: correlations of the metrics within, pooled over and between systems, and polychoric."""
    long = correlations.rename(columns={"metric_a": "first", "metric_b": "second"})
    squares = {heading: metric_square(long, name) for name, heading in _KINDS.items()}
    title = f"Figure 1. Correlation of the metrics: {study.label}; judge: {judge_name(study)}"
    return heatmap(squares, title)


def correlation_table(study: Study, correlations: pd.DataFrame) -> PaperTable:
    """Return every pair of metrics with its correlation within systems and its interval."""
    rows = correlations.sort_values("within", ascending=False, na_position="last")
    shown = pd.DataFrame(
        {
            "Metrics": rows["metric_a"] + " and " + rows["metric_b"],
            "Within systems": [rounded(v) for v in rows["within"]],
            "95% interval": [
                interval(a, b) for a, b in zip(rows["low"], rows["high"], strict=True)
            ],
            "p (Holm)": [p_text(p) for p in rows["p_holm"]],
            "Pooled": [rounded(v) for v in rows["pooled"]],
            "Between systems": [rounded(v) for v in rows["between"]],
            "Polychoric": [rounded(v) for v in rows["polychoric"]],
            "Sources": rows["n"].astype(int),
            "Queries": rows["clusters"].astype(int),
        }
    )
    systems, tests = int(rows["systems"].max()), int(rows["p"].notna().sum())
    over = f"over {systems} system means, one point each" if systems > 1 else "needs two systems"
    note = (
        "Within systems: every metric centred by system first; interval clustered by query. "
        f"Between: {over}; no claim rests on it. Polychoric: within systems, freed from the ceiling of "
        f"the scale. Holm over {tests} tests."
    )
    reasons = rows.loc[rows["note"] != "", "note"].value_counts()
    note += "".join(f" {count} pairs: {reason}." for reason, count in reasons.items())
    title = f"Correlation of the metrics, pair by pair: {study.label}; judge: {judge_name(study)}"
    if (rows["polychoric"].abs() > 0.999).any():
        note += " A polychoric correlation of 1.00 reached the end of its scale: some scores never meet."
    return PaperTable("table-06-correlations", title, rows.reset_index(drop=True), shown, note)
