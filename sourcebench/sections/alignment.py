"""Section 3: does the judge score as a careful reader does?"""

from __future__ import annotations

import pandas as pd

from sourcebench.agreement import agreement, match_labels
from sourcebench.render import interval, rounded
from sourcebench.rubric import CODES
from sourcebench.study import Study
from sourcebench.tables import PaperTable, judge_name, not_measured

_COLUMNS = ("Metric", "Labels", "MAE", "Best constant", "Skill", "Bias", "Within one", "QWK", "AC2")


def judged_and_labelled(study: Study, annotator: str | None = None) -> pd.DataFrame:
    """Return one row a label with the score of the study's judge beside it.

    Parameters
    ----------
    study
        A study with judgments and, for any rows, labels.
    annotator
        Keep the labels of this reader; by default the first by name, and never a mixture.

    Returns
    -------
    DataFrame
        annotator, metric, query_id, page_id, cluster, human, judge and `label` (the reader's score).
    """
    labels, judgments = study.load("labels"), study.load("judgments")
    labels = labels[labels["annotator"] == (annotator or reader(study))]
    mine = judgments[judgments["judge"] == study.settings.judge]
    pairs = match_labels(mine.astype({"score": "Float64"}), labels)
    pairs[["human", "judge"]] = pairs[["human", "judge"]].astype("float64")
    return pairs.assign(label=pairs["human"])


def reader(study: Study) -> str:
    """Return the name of the reader whose labels are compared."""
    names = sorted(study.load("labels")["annotator"].unique())
    return names[0] if names else "nobody"


def alignment_title(study: Study) -> str:
    """Return the heading of this section's table and figure."""
    return f"judge ({judge_name(study)}) against {reader(study)}: {study.label}"


def alignment_table(study: Study, pairs: pd.DataFrame) -> PaperTable:
    """Table 3: error, bias and skill of the judge against a reader, metric by metric."""
    title = f"Table 3. {alignment_title(study)}"
    if pairs.empty:
        return not_measured("table-03-alignment", title, _COLUMNS, "the study has no labels")
    rows, cells = [], []
    for code in CODES:
        mine = pairs[pairs["metric"] == code]
        a = agreement(mine)
        rows.append(_row(code, a, len(mine)))
        cells.append(
            {
                "Metric": code,
                "Labels": f"{a.items} of {len(mine)}",
                "MAE": f"{rounded(a.mae.value)}\n{interval(a.mae.low, a.mae.high)}",
                "Best constant": rounded(a.best_constant),
                "Skill": rounded(a.skill),
                "Bias": f"{rounded(a.bias.value)}\n{interval(a.bias.low, a.bias.high)}",
                "Within one": rounded(100 * a.within_one.value, 0) + "%",
                "QWK": rounded(a.qwk),
                "AC2": rounded(a.ac2),
            }
        )
    skill = pd.Series([row["skill"] for row in rows]).mean()
    note = (
        "MAE: mean absolute error, with 95% interval clustered by query (by page for page-level "
        "metrics). Best constant: the error of always giving the reader's median. Skill: 1 - MAE / "
        f"best constant; mean over metrics {rounded(skill)}. Bias: judge minus reader. QWK: quadratic "
        f"weighted kappa. Labels by {reader(study)}."
    )
    return PaperTable("table-03-alignment", title, pd.DataFrame(rows), pd.DataFrame(cells), note)


def _row(code: str, a, labels: int) -> dict[str, float | int | str]:
    """Return one metric's agreement in full precision."""
    row: dict[str, float | int | str] = {"metric": code, "items": a.items, "labels": labels}
    for name in ("mae", "bias", "exact", "within_one"):
        e = getattr(a, name)
        row |= {name: e.value, f"{name}_low": e.low, f"{name}_high": e.high}
    for name in ("best_constant", "skill", "qwk", "kappa_linear", "ac2", "alpha"):
        row[name] = getattr(a, name)
    return row | {"note": a.note}
