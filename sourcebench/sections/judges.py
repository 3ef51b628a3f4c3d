"""Section 3, continued: several judges side by side, each against itself, and what became of verdicts."""

from __future__ import annotations

from itertools import combinations

import pandas as pd

from sourcebench.judge.outcomes import verdict_outcomes
from sourcebench.records import SCORED
from sourcebench.render import DASH, rounded
from sourcebench.rubric import CODES
from sourcebench.sections.alignment import (
    NO_LABELS,
    agreement_row,
    judged_and_labelled,
    matched,
    reader,
    who_labelled,
    with_interval,
)
from sourcebench.statistics.agreement import agreement
from sourcebench.study import Study
from sourcebench.tables import PaperTable, judge_name, labels_of, not_measured


def judges(study: Study) -> list[str]:
    """Return the judges with verdicts, the one that the study reports first; no repetitions."""
    names = {name for name in study.load("judgments")["judge"].unique() if "/" not in name}
    return sorted(names, key=lambda name: (name != study.settings.judge, name))


def judges_table(study: Study) -> PaperTable:
    """Return error and skill of every judge of the study against the same reader, side by side."""
    name, title = "table-03-judges", f"Judges against {reader(study)}: {study.label}"
    names = judges(study)
    if reader(study) == "nobody":
        return not_measured(name, title, ("Metric", "MAE", "Skill"), NO_LABELS)
    if len(names) < 2:
        reason = f"only one judge gave verdicts ({', '.join(names) or 'none'})"
        return not_measured(name, title, ("Metric", "MAE", "Skill"), reason)
    rows, columns = [], {"Metric": list(CODES)}
    for judge in names:
        pairs = judged_and_labelled(study, judge=judge)
        mine = [pairs[pairs["metric"] == code] for code in CODES]
        own = [agreement_row(code, agreement(p), p) for code, p in zip(CODES, mine, strict=True)]
        rows += [{"judge": judge, **row} for row in own]
        columns[f"{judge}: MAE"] = [
            f"{with_interval(row, 'mae')}\n{row['items']} of {row['labels']}" for row in own
        ]
        columns[f"{judge}: skill"] = [rounded(row["skill"]) for row in own]
    note = (
        "Each judge's verdicts are kept apart and never mixed. MAE with 95% interval clustered by query; "
        f"n of N: labels with a verdict of that judge. {who_labelled(study)}"
    )
    return PaperTable(name, title, pd.DataFrame(rows), pd.DataFrame(columns), note)


def between_table(study: Study) -> PaperTable:
    """Return how far the judges of a study are from each other on the same pages, pair by pair."""
    name, title = "table-03-between-judges", f"Judges against each other: {study.label}"
    names = [judge for judge in judges(study) if study.settings.members(judge) == [judge]]
    if len(names) < 2:
        reason = f"only one judge gave verdicts ({', '.join(names) or 'none'})"
        return not_measured(name, title, ("Judges", "Metric", "Difference"), reason)
    parts = [_distance(study, one, other) for one, other in combinations(names, 2)]
    note = (
        "Difference: mean absolute difference of two judges' scores of the same pages; shift: mean of the "
        "second minus the first. 95% intervals clustered by query (by page for page-level metrics). "
        f"{_SHARED} QWK: quadratic weighted kappa. Judges of one family share errors: agreement "
        "between judges is no evidence that they are right."
    )
    return _distances(name, title, parts, note)


def noise_table(study: Study) -> PaperTable:
    """Return how far the reported judge is from itself when it judges the same pages again."""
    name, title = "table-03-noise", f"The judge ({judge_name(study)}) against itself: {study.label}"
    first, given = study.settings.judge, study.load("judgments")["judge"]
    again = sorted(given[given.str.startswith(f"{first}/")].unique())
    if not again:
        fixed = first == "rules"
        reason = "fixed rules give the same verdict every time" if fixed else "it judged once"
        return not_measured(name, title, ("Judges", "Metric", "Difference"), reason)
    note = (
        f"Difference: mean absolute difference from {first} on the same pages; shift: mean of the "
        f"repetition minus {first}. 95% intervals clustered by query. {_SHARED} A smaller difference between "
        "judge and reader is noise of the judge; a shift of a later repetition is its drift."
    )
    return _distances(name, title, [_distance(study, first, other) for other in again], note)


_SHARED = "n of N: verdicts scored by both, of those that the second gave."


def _distance(study: Study, first: str, other: str) -> pd.DataFrame:
    """Return how far one judge's scores are from another's, metric by metric."""
    judgments = study.load("judgments")
    theirs = judgments[judgments["judge"] == other].rename(columns={"judge": "annotator"})
    pairs = matched(study, theirs.astype({"score": "Float64"}), first)
    rows = []
    for code in CODES:
        mine = pairs[pairs["metric"] == code]
        # The reader of `agreement` is the second judge here, so the bias points the other way.
        a = agreement(mine)
        shift = {"shift": -a.bias.value, "shift_low": -a.bias.high, "shift_high": -a.bias.low}
        ends = {"mae": a.mae.value, "mae_low": a.mae.low, "mae_high": a.mae.high}
        counts = {"metric": code, "items": a.items, "verdicts": len(mine)}
        rows.append(counts | ends | shift | {"equal": a.exact.value, "qwk": a.qwk})
    return pd.DataFrame(rows).assign(first=first, second=other)


def _distances(name: str, title: str, parts: list[pd.DataFrame], note: str) -> PaperTable:
    """Return the table of distances between pairs of judges."""
    data = pd.concat(parts, ignore_index=True)
    shown = pd.DataFrame(
        {
            "Judges": f"{row['first']}, {row['second']}",
            "Metric": row["metric"],
            "Scored by both": f"{row['items']} of {row['verdicts']}",
            "Difference": with_interval(row, "mae"),
            "Shift": with_interval(row, "shift"),
            "Equal": rounded(100 * row["equal"], 0) + "%" if row["items"] else DASH,
            "QWK": rounded(row["qwk"]),
        }
        for row in data.to_dict(orient="records")
    )
    return PaperTable(name, title, data, shown, note)


def verdicts_table(study: Study) -> PaperTable:
    """Return what became of the verdicts that each system's sources call for, intent by intent."""
    name, title = (
        "table-03-verdicts",
        f"What became of the verdicts ({judge_name(study)}): {study.label}",
    )
    data = verdict_outcomes(study)
    if data.empty:
        return not_measured(name, title, ("System", "Verdicts"), "no source is selected")
    labels = labels_of(study)
    data = data[data["system"].isin(labels)].reset_index(drop=True)
    counted = data.columns.drop(["system", "category", "verdicts"])
    good = [outcome for outcome in counted if outcome in SCORED]
    sums = data.groupby("system").sum(numeric_only=True).reindex(list(labels)).dropna()
    scored = data.assign(scored=data[good].sum(axis=1) / data["verdicts"])
    shares = scored.pivot(index="system", columns="category", values="scored").reindex(sums.index)
    shown = pd.DataFrame({"System": [labels[system] for system in sums.index]})
    shown["Verdicts"] = sums["verdicts"].astype(int).to_numpy()
    for outcome in counted:
        shown[outcome.replace("_", " ")] = sums[outcome].astype(int).to_numpy()
    for category in shares:
        shown[f"{category}: scored"] = [
            DASH if share != share else rounded(100 * share, 0) + "%" for share in shares[category]
        ]
    note = (
        "Verdicts: eight for each selected source. Not judged: the page could not be had or read. Scored: share "
        "of the verdicts of that intent that carry a score. A refusal or a filter that strikes one intent "
        "more than another would bias a comparison of systems."
    )
    return PaperTable(name, title, data, shown, note)
