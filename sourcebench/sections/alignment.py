"""Section 3: does the judge score as a careful reader does, and what follows for the systems?"""

from __future__ import annotations

import pandas as pd

from sourcebench.render import DASH, interval, rounded
from sourcebench.rubric import CODES, QUERY_LEVEL
from sourcebench.statistics.agreement import (
    Agreement,
    agreement,
    intraclass_correlations,
    match_labels,
    ordinal_alpha,
    panel_ceiling,
)
from sourcebench.statistics.correction import Heterogeneity, label_corrected_means
from sourcebench.statistics.intervals import cluster_mean, weighted_score
from sourcebench.study import Study
from sourcebench.tables import LIMITS, PaperTable, judge_name, labels_of, not_measured, p_text

_COLUMNS = ("Metric", "Labels", "MAE", "Best constant", "Skill", "Bias", "Within one", "QWK", "AC2")
NO_LABELS = "the study has no labels"
AUTHORS = "page-author"  # labels that say what the writers of made-up pages intended


def judged_and_labelled(
    study: Study, annotator: str | None = None, judge: str | None = None
) -> pd.DataFrame:
    """Return one row a label with a judge's score beside it.

    Parameters
    ----------
    study
        A study with judgments and, for any rows, labels.
    annotator
        Keep the labels of this reader; by default the first by name, and never a mixture.
    judge
        Name of the judge; by default the one that `study.toml` reports.

    Returns
    -------
    DataFrame
        annotator, metric, query_id, page_id, cluster, human, judge and `label` (the reader's score).
    """
    labels = study.load("labels")
    labels = labels[labels["annotator"] == (annotator or reader(study))]
    return matched(study, labels, judge or study.settings.judge)


def matched(study: Study, labels: pd.DataFrame, judge: str) -> pd.DataFrame:
    """Return the labels with the scores of one judge beside them."""
    judgments = study.load("judgments")
    mine = judgments[judgments["judge"] == judge]
    pairs = match_labels(mine.astype({"score": "Float64"}), labels)
    pairs[["human", "judge"]] = pairs[["human", "judge"]].astype("float64")
    return pairs.assign(label=pairs["human"])


def readers(study: Study) -> list[str]:
    """Return the names of those who gave labels, those who wrote the pages last."""
    return sorted(study.load("labels")["annotator"].unique(), key=lambda n: (n == AUTHORS, n))


def reader(study: Study) -> str:
    """Return the name of the reader whose labels are compared."""
    return next(iter(readers(study)), "nobody")


def who_labelled(study: Study) -> str:
    """Say whose labels are used, and what they are where it is known."""
    name = reader(study)
    if name == AUTHORS:
        return f"Labels by {name}: what those who wrote the pages intended, not what readers found."
    return f"Labels by {name}."


def alignment_title(study: Study) -> str:
    """Return the heading of this section's table and figure."""
    return f"Judge ({judge_name(study)}) against {reader(study)}: {study.label}"


def alignment_table(study: Study, pairs: pd.DataFrame) -> PaperTable:
    """Table 3: error, bias, agreement and skill of the judge against a reader, metric by metric."""
    title = f"Table 3. {alignment_title(study)}"
    if pairs.empty:
        return not_measured("table-03-alignment", title, _COLUMNS, NO_LABELS)
    results = {code: pairs[pairs["metric"] == code] for code in CODES}
    rows = [agreement_row(code, agreement(mine), mine) for code, mine in results.items()]
    data = pd.DataFrame(rows)
    shown = pd.DataFrame([_cells(row) for row in rows])
    skill = data["skill"].mean()
    note = (
        "MAE: mean absolute error, with 95% interval clustered by query (by page for page-level "
        "metrics). Best constant: the error of always giving the reader's median. Skill: 1 - MAE / "
        f"best constant; mean over metrics {rounded(skill)}. Bias: judge minus reader. QWK: quadratic "
        "weighted kappa. AC2: Gwet, quadratic weights. Alpha: Krippendorff, ordinal. ICC: two-way, "
        f"single rater, absolute agreement. {who_labelled(study)}"
    )
    return PaperTable("table-03-alignment", title, data, shown, note)


def agreement_row(code: str, a: Agreement, pairs: pd.DataFrame) -> dict[str, float | int | str]:
    """Return one metric's agreement in full precision."""
    row: dict[str, float | int | str] = {"metric": code, "items": a.items, "labels": len(pairs)}
    for name in ("mae", "bias", "exact", "within_one"):
        e = getattr(a, name)
        row |= {name: e.value, f"{name}_low": e.low, f"{name}_high": e.high}
    for name in ("best_constant", "skill", "qwk", "kappa_linear", "ac2", "alpha"):
        row[name] = getattr(a, name)
    icc = intraclass_correlations(pairs[["human", "judge"]].to_numpy(float))["ICC(2,1)"]
    return row | {"icc": float(icc), "note": a.note}


def _cells(row: dict[str, float | int | str]) -> dict[str, str]:
    """Return one metric's agreement as cells."""
    within = row["within_one"]
    return {
        "Metric": row["metric"],
        "Labels": f"{row['items']} of {row['labels']}",
        "MAE": with_interval(row, "mae"),
        "Best constant": rounded(row["best_constant"]),
        "Skill": rounded(row["skill"]),
        "Bias": with_interval(row, "bias"),
        "Within one": rounded(100 * within, 0) + "%" if within == within else DASH,
        "QWK": rounded(row["qwk"]),
        "AC2": rounded(row["ac2"]),
        "Alpha": rounded(row["alpha"]),
        "ICC": rounded(row["icc"]),
    }


def with_interval(row: dict, name: str, digits: int = 2) -> str:
    """Return a value with its interval below it."""
    ends = interval(row[f"{name}_low"], row[f"{name}_high"], digits)
    return f"{rounded(row[name], digits)}\n{ends}"


def ceiling_table(study: Study) -> PaperTable:
    """Return how far readers are from each other, beside the judge measured by the same panel."""
    name = "table-03-ceiling"
    title = f"What readers agree on, and judge ({judge_name(study)}): {study.label}"
    columns = ("Metric", "Items", "Reader error", "Judge error", "Judge minus reader")
    names = readers(study)
    if len(names) < 2:
        there = "only one labelled" if names else NO_LABELS
        reason = f"a ceiling needs two readers of the same items; {there}"
        return not_measured(name, title, columns, reason)
    pairs = matched(study, study.load("labels"), study.settings.judge)
    rows = [_ceiling(code, pairs[pairs["metric"] == code]) for code in CODES]
    data = pd.concat(rows, ignore_index=True)
    everyone = data[data["annotator"] == "all"]
    shown = pd.DataFrame(
        {
            "Metric": everyone["metric"],
            "Items": everyone["items"].astype(int),
            "Reader error": [rounded(v) for v in everyone["human_mae"]],
            "Judge error": [rounded(v) for v in everyone["judge_mae"]],
            "Judge minus reader": [
                with_interval(row, "excess") for row in everyone.to_dict(orient="records")
            ],
            "Reader skill": [rounded(v) for v in everyone["human_skill"]],
            "Judge skill": [rounded(v) for v in everyone["judge_skill"]],
            "Alpha of readers": [rounded(v) for v in everyone["alpha"]],
            "ICC of readers": [rounded(v) for v in everyone["icc"]],
        }
    )
    note = (
        "Every reader is left out in turn; reader and judge are compared with the mean of the other "
        "readers on the same items. Items: pairs of an item and the reader left out. ICC: two-way, "
        f"single rater, of the items that all read. Readers: {', '.join(names)}."
    )
    return PaperTable(name, title, data, shown, note)


def _ceiling(code: str, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the ceiling of one metric with the agreement of the readers among themselves."""
    scores = pairs.pivot_table(
        index=["query_id", "page_id"], columns="annotator", values="human"
    ).to_numpy(float)
    icc = intraclass_correlations(scores)["ICC(2,1)"] if scores.size else float("nan")
    alpha = ordinal_alpha(scores.T) if scores.size else float("nan")
    table = panel_ceiling(pairs).reset_index()
    table.insert(0, "metric", code)
    return table.assign(alpha=alpha, icc=float(icc))


# What the labels say about the systems


def labelled_sources(study: Study, sources: pd.DataFrame) -> pd.DataFrame:
    """Return the sources with `label`: the weighted score that one reader's labels give.

    Missing where the reader did not label all eight metrics of the source. Where sources were drawn for
    labelling, a system's labels are those of its own draw: a source that it shares with others stood a
    better chance to be labelled, which would bias its correction.
    """
    labels = study.load("labels")
    labels = labels[labels["annotator"] == reader(study)]
    given = pd.DataFrame(index=sources.index)
    for code in CODES:
        on = ["query_id", "page_id"] if code in QUERY_LEVEL else ["page_id"]
        mine = labels.loc[labels["metric"] == code, [*on, "score"]]
        score = sources[on].merge(mine, on=on, how="left")["score"]
        given[code] = score.astype("float64").to_numpy()
    label = weighted_score(given)
    if len(study.load("drawn")):
        label = label.where(_is_drawn(study, sources))
    return sources.assign(label=label)


def _is_drawn(study: Study, sources: pd.DataFrame) -> pd.Series:
    """Whether chance picked each source for labelling, from its own system's sources."""
    keys = ["system", "query_id", "page_id"]
    drawn = study.load("drawn")
    labelled = study.load("labels").query("annotator == @who", local_dict={"who": reader(study)})
    begun = drawn["page_id"].isin(labelled["page_id"])  # a sheet that nobody filled in is no draw
    used = drawn["sheet"].isin(set(drawn.loc[begun, "sheet"]))
    drawn = pd.MultiIndex.from_frame(drawn.loc[used, keys])
    return pd.Series(pd.MultiIndex.from_frame(sources[keys]).isin(drawn), index=sources.index)


def anchored_table(study: Study, sources: pd.DataFrame) -> PaperTable:
    """Return every system's weighted mean as judged, and corrected by the labels of its sources."""
    name = "table-03-anchored-leaderboard"
    title = f"Weighted score, corrected by labels: {study.label}; judge: {judge_name(study)}"
    columns = ("System", "Judge alone", "Corrected", "Correction", "Labelled")
    frame = labelled_sources(study, sources)
    if not frame["label"].notna().any():
        reason = NO_LABELS if reader(study) == "nobody" else "no source has labels on every metric"
        return not_measured(name, title, columns, reason)
    table, q = label_corrected_means(frame, judge="weighted")
    labels, queries = labels_of(study), study.load("queries")
    table = table.reindex(list(labels)).rename_axis("system").reset_index()
    rows = []
    for row in table.to_dict(orient="records"):
        mine = frame[frame["system"] == row["system"]]
        alone = cluster_mean(mine, "weighted", queries=queries, limits=LIMITS["weighted"])
        ends = {"judge_low": alone.low, "judge_high": alone.high, "judge_n": alone.n}
        rows.append(row | {"judge": alone.value, **ends, "expected": len(mine)})
    data = pd.DataFrame(rows).drop(columns="judge_mean")
    data[["n", "clusters"]] = data[["n", "clusters"]].fillna(0).astype(int)
    data = data.sort_values(["value", "system"], ascending=[False, True], ignore_index=True)
    data[["low", "high"]] = data[["low", "high"]].clip(*LIMITS["weighted"])
    shown = pd.DataFrame(
        {
            "System": data["system"].map(labels),
            "Judge alone": [with_interval(r, "judge", 1) for r in data.to_dict(orient="records")],
            "Corrected": [
                f"{rounded(r.value, 1)}\n{interval(r.low, r.high, 1)}" for r in data.itertuples()
            ],
            "Correction": [_correction(r.rectifier, r.rectifier_se) for r in data.itertuples()],
            "Labelled": [f"{r.n} of {r.judge_n}" for r in data.itertuples()],
        }
    )
    return PaperTable(name, title, data, shown, _anchored_note(study, frame, q))


def _drawn_note(study: Study, judged: pd.DataFrame) -> str:
    """Say that chance picked the labelled sources, and how many of those are not labelled."""
    drawn = judged[_is_drawn(study, judged)]
    open_ = int(drawn["label"].isna().sum())
    said = f"Labelled sources were drawn at random from each system's own ({len(drawn)} drawn)."
    if not open_:
        return said
    return f"{said} Warning: {open_} of them lack a label on some metric; they may differ from the rest."


def _correction(value: float, se: float) -> str:
    """Return a correction with its standard error."""
    return f"{rounded(value, 1)} ± {rounded(se, 1)}" if se == se else DASH


def _anchored_note(study: Study, frame: pd.DataFrame, q: Heterogeneity) -> str:
    """Return what the corrected means rest on, and when they hold."""
    judged = frame[frame["weighted"].notna()]
    both = int(judged["label"].notna().sum())
    share = both / len(judged)
    parts = [
        "Corrected: judge mean plus the mean of label minus judge (prediction-powered, lambda = 1), "
        "95% t interval clustered by query, cut at the ends of the scale. Correction: with its standard error.",
        who_labelled(study),
        f"{both} of {len(judged)} judged sources ({share:.0%}) are labelled on all eight metrics.",
    ]
    if len(study.load("drawn")):
        parts.append(_drawn_note(study, judged))
    elif both < len(judged):
        parts.append(
            "Warning: this holds only if the labelled sources are a random sample of each system's "
            "sources; nothing in the study says that they are."
        )
    else:
        parts.append(
            "With every judged source labelled, the corrected mean is the mean of the labels."
        )
    if q.p == q.p:
        verdict = "differs between systems" if q.p < 0.05 else "is not shown to differ"
        equals = "" if p_text(q.p).startswith("<") else "= "
        parts.append(
            f"Cochran's Q of the corrections: {rounded(q.q, 1)} with {q.df} degrees of freedom, p "
            f"{equals}{p_text(q.p)}: the judge's bias {verdict}. Systems share pages, so Q is a guide."
        )
    return " ".join(parts)
