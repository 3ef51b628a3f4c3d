"""Section 2: what the scores mean."""

from __future__ import annotations

import pandas as pd

from sourcebench.rubric import EXAMPLES, METRICS
from sourcebench.tables import PaperTable


def rubric_table() -> PaperTable:
    """Table 2: what each metric asks, with its best and worst level."""
    data = pd.DataFrame(
        {
            "metric": m.code,
            "name": m.name,
            "weight": m.weight / 2,
            "judged": f"once a {'query and page' if m.scope == 'query' else 'page'}",
            "focus": m.focus,
            "best": m.levels[0].criterion,
            "worst": m.levels[-1].criterion,
        }
        for m in METRICS
    )
    shown = data.set_axis(
        ["Metric", "Name", "Weight", "Judged", "Asks", "Best (5)", "Worst (1)"], axis=1
    )
    return PaperTable("table-02-rubric", "Table 2. The eight metrics", data, shown)


def level_table() -> PaperTable:
    """Table 10: every level of every metric, and the guidance for the judge."""
    data = pd.DataFrame(
        {
            "metric": m.code,
            "score": level.score,
            "label": level.label,
            "criterion": level.criterion,
            "guidance": m.guidance if level.score == 5 else "",
        }
        for m in METRICS
        for level in m.levels
    )
    shown = data.set_axis(["Metric", "Score", "Level", "Criterion", "Guidance"], axis=1)
    return PaperTable("table-10-levels", "Table 10. Levels of the rubric", data, shown)


def example_table() -> PaperTable:
    """Return the calibration examples that a language-model judge is shown."""
    data = pd.DataFrame(
        {
            "group": e.group,
            "page": e.page,
            "query": e.query,
            "scores": ", ".join(f"{code} {score}" for code, score in e.scores),
            "why": e.why,
        }
        for e in EXAMPLES
    )
    shown = data.set_axis(["Group", "Page", "Query", "Scores", "Why"], axis=1)
    return PaperTable("table-10-examples", "Calibration examples for the judge", data, shown)
