"""How far a verifier can be trusted: against labels, against a second verifier, and corrected by labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from sourcebench.records import SUPPORT_VERDICTS
from sourcebench.statistics.correction import judge_rates, label_corrected_means, rogan_gladen
from sourcebench.statistics.intervals import NAN, Estimate, cluster_mean, t_quantile
from sourcebench.support.measures import KEY, SHARE, UNKNOWN, Support, statement_values
from sourcebench.support.statements import claim_id


class Agreement(NamedTuple):
    """Agreement of two sides on supported or not.

    Attributes
    ----------
    n, expected, clusters : int
        Pairs with a verdict on both sides, pairs that should have one, and their queries.
    agreement : Estimate
        Share of equal verdicts, clustered by query.
    balanced : Estimate
        Mean of sensitivity and specificity, with a delete-one-query jackknife interval.
    sensitivity, specificity, kappa : float
        Of the first side against the second; kappa is Cohen's.
    always : float
        Share of equal verdicts of a constant that always says what the second side says most.
    """

    n: int
    expected: int
    clusters: int
    agreement: Estimate
    balanced: Estimate
    sensitivity: float
    specificity: float
    kappa: float
    always: float


def labelled(support: Support, labels: pd.DataFrame, annotator: str | None = None) -> pd.DataFrame:
    """Return one row a label with the verifier's verdict on the same statement and pages beside it.

    Parameters
    ----------
    support
        The verdicts of one verifier.
    labels
        The table `support_labels`. A label without a page is for all pages cited at the statement
        together, and meets the verifier's verdict under the rule `cited`.
    annotator
        Keep the labels of this annotator; by default all of them.

    Returns
    -------
    DataFrame
        The key, annotator, claim_id, page_id, human (the label), verdict (the verifier's status),
        label and judge (1 supported, 0 not, missing where that side has no verdict).
    """
    if annotator is not None:
        labels = labels[labels["annotator"] == annotator]
    labels = labels.assign(claim_id=labels["statement"].map(claim_id))
    labels = labels.rename(columns={"verdict": "human"})
    paged = labels["page_id"].notna()
    pairs = support.pairs[[*KEY, "claim_id", "page_id", "status"]]
    pairs = pairs.drop_duplicates([*KEY, "claim_id", "page_id"])
    joint = support.statements[[*KEY, "claim_id", "cited"]].rename(columns={"cited": "status"})
    joint = joint.drop_duplicates([*KEY, "claim_id"])
    one = labels[paged].merge(pairs, on=[*KEY, "claim_id", "page_id"], how="left")
    other = labels[~paged].merge(joint, on=[*KEY, "claim_id"], how="left")
    rows = pd.concat([one, other], ignore_index=True).rename(columns={"status": "verdict"})
    told = ["annotator", *KEY, "claim_id", "page_id", "human", "verdict"]
    return rows[told].assign(label=binary(rows["human"]), judge=binary(rows["verdict"]))


def binary(verdict: pd.Series) -> pd.Series:
    """Return 1 for supported, 0 for what is not fully supported, missing for no verdict.

    Of a statement's own words `uncited` and `no_source` say nothing about a source.
    """
    known = verdict.isin([v for v in SUPPORT_VERDICTS if v != "cant_tell"])
    return verdict.eq("supported").astype(float).where(known)


def support_agreement(pairs: pd.DataFrame, judge: str = "judge", label: str = "label") -> Agreement:
    """Return the agreement of two columns of 0, 1 or missing; rows have a ``query_id``."""
    both = pairs.dropna(subset=[judge, label])
    a, b = both[judge].to_numpy(float), both[label].to_numpy(float)
    queries = both[["query_id"]].drop_duplicates()
    equal = both[["query_id"]].assign(value=(a == b).astype(float))
    share = cluster_mean(equal, "value", queries=queries, limits=SHARE, strata=None)
    rates = judge_rates(both[judge], both[label])
    return Agreement(
        n=len(both),
        expected=len(pairs),
        clusters=len(queries),
        agreement=share._replace(expected=len(pairs)),
        balanced=_balanced(a, b, both["query_id"], len(pairs)),
        sensitivity=rates.sensitivity,
        specificity=rates.specificity,
        kappa=cohen_kappa(a, b),
        always=float(max(b.mean(), 1 - b.mean())) if b.size else NAN,
    )


def cohen_kappa(a: np.ndarray, b: np.ndarray) -> float:
    """Return Cohen's kappa of two sides that say 0 or 1; NaN when chance agreement is full."""
    a, b = (np.asarray(v, dtype=float) for v in (a, b))
    if not a.size:
        return NAN
    chance = a.mean() * b.mean() + (1 - a.mean()) * (1 - b.mean())
    return float(((a == b).mean() - chance) / (1 - chance)) if chance < 1 else NAN


def balanced_accuracy(a: np.ndarray, b: np.ndarray) -> float:
    """Return the mean of sensitivity and specificity of `a` against `b`; NaN if one is missing."""
    yes, no = a[b == 1], a[b == 0]
    return float((yes.mean() + 1 - no.mean()) / 2) if yes.size and no.size else NAN


def _balanced(a: np.ndarray, b: np.ndarray, queries: pd.Series, expected: int) -> Estimate:
    """Return balanced accuracy with the interval of the delete-one-query jackknife."""
    code, names = pd.factorize(queries)
    value, size = balanced_accuracy(a, b), len(names)
    left = np.array([balanced_accuracy(a[code != i], b[code != i]) for i in range(size)])
    if size < 3 or np.isnan(left).any() or np.isnan(value) or np.ptp(left) == 0:
        note = f"no interval from {size} queries"
        return Estimate(value, NAN, NAN, NAN, len(a), expected, size, 0, "none", note)
    se = float(np.sqrt((size - 1) / size * ((left - left.mean()) ** 2).sum()))
    half = t_quantile(0.95, size - 1) * se
    low, high = max(value - half, 0.0), min(value + half, 1.0)
    return Estimate(value, low, high, se, len(a), expected, size, size - 1, "jackknife t", "")


def confusion_of(
    pairs: pd.DataFrame, first: str = "verdict", second: str = "human"
) -> pd.DataFrame:
    """Return how often each verdict (down) meets each label (across)."""
    a, b = (pairs[c].astype(object).fillna("no statement") for c in (first, second))
    table = pd.crosstab(a, b)
    order = [*SUPPORT_VERDICTS, *UNKNOWN, "uncited", "no_source", "not_applicable", "no statement"]
    rows = [name for name in order if name in table.index]
    return table.loc[rows, [name for name in order if name in table.columns]]


def verifier_pairs(one: Support, other: Support) -> pd.DataFrame:
    """Return the verdicts of two verifiers on the same statements and pages, each pair once.

    Returns
    -------
    DataFrame
        query_id, claim_id, page_id, verdict and human (the second verifier), judge and label.
    """
    on = ["query_id", "claim_id", "page_id"]
    left = one.pairs[[*on, "status"]].drop_duplicates(on)
    right = other.pairs[[*on, "status"]].drop_duplicates(on)
    both = left.merge(right, on=on, suffixes=("_one", "_other"))
    both = both.rename(columns={"status_one": "verdict", "status_other": "human"})
    return both.assign(judge=binary(both["verdict"]), label=binary(both["human"]))


def corrected_support(frame: pd.DataFrame, *, transported: bool = True) -> pd.DataFrame:
    """Return each system's statement support as the verifier gives it, and corrected by labels.

    Parameters
    ----------
    frame
        One row a statement: system, query_id, judge (0, 1 or missing) and label (0, 1, or missing
        where the statement has none). Labels of a system must be a random sample of its statements.
    transported
        Whether to add the Rogan-Gladen estimate, with sensitivity and specificity taken from the
        labels of the *other* systems: what would be known without labels of the system itself.

    Returns
    -------
    DataFrame
        system; verifier (the uncorrected share); the fields of the prediction-powered estimate; and
        for Rogan-Gladen rg_value, rg_low, rg_high, rg_note.
    """
    table, _ = label_corrected_means(frame)
    table = table.reset_index().rename(columns={"judge_mean": "verifier"})
    if not transported:
        return table
    rows = []
    for system in table["system"]:
        mine, others = frame[frame["system"] == system], frame[frame["system"] != system]
        queries = mine[["query_id"]].drop_duplicates()
        share = cluster_mean(mine, "judge", queries=queries, limits=SHARE, strata=None)
        rates = judge_rates(others["judge"], others["label"])
        e = rogan_gladen(share, *rates)
        rows.append({"rg_value": e.value, "rg_low": e.low, "rg_high": e.high, "rg_note": e.note})
    return pd.concat([table, pd.DataFrame(rows)], axis=1)


def support_by_labels(
    support: Support, labels: pd.DataFrame, annotator: str | None = None
) -> Support:
    """Return what the labels say in the place of the verifier, to be counted in the same way.

    Statements without a label are left out. Only the rule `cited` has a meaning: labels of the cited pages
    together say nothing of other pages. `no_source` becomes `uncited`, `not_applicable` `unreachable`.
    """
    joint = labels[labels["page_id"].isna()]
    if annotator is not None:
        joint = joint[joint["annotator"] == annotator]
    joint = joint.assign(claim_id=joint["statement"].map(claim_id))
    told = joint.drop_duplicates([*KEY, "claim_id"])[[*KEY, "claim_id", "verdict"]]
    words = {"no_source": "uncited", "not_applicable": "unreachable", "cant_tell": "unresolved"}
    rows = support.statements.merge(told, on=[*KEY, "claim_id"], how="inner")
    rows["cited"] = rows["verdict"].replace(words)
    rows["any"] = "unresolved"
    seen = ~rows["cited"].isin([*UNKNOWN, "uncited"])
    counts = rows.assign(reachable=seen).groupby(KEY)["reachable"].sum().reset_index()
    responses = support.responses.drop(columns="reachable").merge(counts, on=KEY, how="left")
    responses["reachable"] = responses["reachable"].fillna(0).astype(int)
    statements = rows.drop(columns="verdict")
    return Support(
        responses, statements, support.pairs.iloc[:0], support.urls, annotator or "labels"
    )


def with_labels(support: Support, labels: pd.DataFrame) -> pd.DataFrame:
    """Return one row a statement with the verifier's word and, where there is one, the label.

    Both are for the pages cited at the statement: 1 supported, 0 not, missing where nothing could be
    seen. Of several labels of a statement the mean is taken, and rounded down.

    Returns
    -------
    DataFrame
        The key of the statement, claim_id, judge and label, as `corrected_support` takes them.
    """
    rows = statement_values(support, "cited", "reachable").rename(columns={"value": "judge"})
    rows["claim_id"] = support.statements["claim_id"].to_numpy()
    told = labelled(support, labels).dropna(subset=["label"])
    told = told.groupby([*KEY, "claim_id"])["label"].mean().floordiv(1).reset_index()
    return rows.merge(told.astype({"run": "Int64"}), on=[*KEY, "claim_id"], how="left")


def corrected_by_a_sample(
    pairs: pd.DataFrame, *, share: float = 1 / 3, draws: int = 100, rng: np.random.Generator
) -> pd.DataFrame:
    """Return how near corrected shares come to the share by all labels, if only a part were labelled.

    Parameters
    ----------
    pairs
        As `labelled` returns them; rows with a label and a verdict are used.
    share
        Of the queries whose labels are used, drawn at random each time.
    draws
        How often.
    rng
        The random generator.

    Returns
    -------
    DataFrame
        A row a system: truth (share by all labels), verifier, and for the prediction-powered estimate
        and Rogan-Gladen's the mean value, the mean absolute error, and the share of draws whose
        interval holds the truth.
    """
    both = pairs.dropna(subset=["judge", "label"]).reset_index(drop=True)
    truth, names = both.groupby("system")["label"].mean(), both["query_id"].unique()
    found = []
    for _ in range(draws if len(both) else 0):
        kept = rng.choice(names, size=max(1, int(len(names) * share)), replace=False)
        sample = both.assign(label=both["label"].where(both["query_id"].isin(kept)))
        found.append(corrected_support(sample).assign(truth=lambda t: t["system"].map(truth)))
    if not found:
        return pd.DataFrame(columns=["system", "truth", "verifier"])
    rows = pd.concat(found).rename(columns={"value": "ppi", "low": "ppi_low", "high": "ppi_high"})
    rows = rows.rename(columns={"rg_value": "rg"})
    for name in ("ppi", "rg"):
        rows[f"{name}_error"] = (rows[name] - rows["truth"]).abs()
        inside = rows["truth"].between(rows[f"{name}_low"], rows[f"{name}_high"])
        rows[f"{name}_inside"] = inside.where(rows[name].notna()).astype(float)
    kinds = [f"{name}{end}" for name in ("ppi", "rg") for end in ("", "_error", "_inside")]
    return rows.groupby("system")[["truth", "verifier", *kinds]].mean().reset_index()


# --- how reliable the sources are ----------------------------------------------------------------

RATED = {"not_reliable": 1, "somewhat_reliable": 2, "reliable": 3}


class Ceiling(NamedTuple):
    """How far labels of one address agree: addresses with two or more, their labels, those in conflict."""

    addresses: int
    labels: int
    conflicts: int
    agreement: float  # share of these labels that are the commonest of their address


def rated_pages(support: Support, labels: pd.DataFrame) -> pd.DataFrame:
    """Return the ratings that are about one page: of statements at which exactly one is cited.

    Returns
    -------
    DataFrame
        The key, claim_id, page_id, reliability and level (1 not reliable, 2 somewhat, 3 reliable).
    """
    rated = labels[labels["page_id"].isna() & labels["reliability"].isin(RATED)]
    rated = rated.assign(claim_id=rated["statement"].map(claim_id))
    on = [*KEY, "claim_id"]
    cited = support.pairs[support.pairs["cited"]].drop_duplicates([*on, "page_id"])
    alone = cited[~cited.duplicated(on, keep=False)][[*on, "page_id"]]
    rows = rated[[*on, "reliability"]].merge(alone, on=on, how="inner")
    return rows.assign(level=rows["reliability"].map(RATED).astype(float))


def address_ceiling(rated: pd.DataFrame) -> Ceiling:
    """Return how far the ratings of one page agree; see `rated_pages`."""
    often = rated[rated.duplicated("page_id", keep=False)].groupby("page_id")["reliability"]
    if not often.ngroups:
        return Ceiling(0, 0, 0, NAN)
    commonest = often.agg(lambda said: said.value_counts().iloc[0]).sum()
    size = int(often.size().sum())
    return Ceiling(often.ngroups, size, int((often.nunique() > 1).sum()), commonest / size)
