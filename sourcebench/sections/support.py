"""Section 10: do the cited pages back what the answers say?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from sourcebench.figures import shares
from sourcebench.records import CHECKED
from sourcebench.render import DASH, estimate_cell, interval, rounded
from sourcebench.study import Study
from sourcebench.support.checking import (
    confusion_of,
    corrected_support,
    labelled,
    support_agreement,
    verifier_pairs,
    with_labels,
)
from sourcebench.support.measures import (
    Support,
    any_source_inflation,
    calls_of,
    load_support,
    support_estimates,
)
from sourcebench.support.quality import GOOD, KINDS, kind_shares, support_and_quality
from sourcebench.tables import PaperTable, labels_of, not_measured

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_OFFLINE = {
    "rules": "offline rules, a baseline",
    "semantic": "offline rules with sentence embeddings, a baseline",
}
_NAMES = {"any": "any source", "cited": "cited source"}
_PERCENT = (
    "In percent; brackets: 95% interval, clustered by query; n of N: those with a verdict, of all. "
)
_RULES = (
    "Any source: supported by a page cited anywhere in the response (SourceCheckup's rule). Cited "
    "source: by a page cited at the statement. Reachable: statements of which no page could be read are "
    "left out, and so are responses without a page that could be read. Strict: they count as unsupported. "
)


_NO_ANSWERS = "the study has no answers"


def support_title(study: Study, support: Support) -> str:
    """Return how this section's tables name study and verifier."""
    return f"{study.label}; verifier: {_OFFLINE.get(support.verifier, support.verifier)}"


def validity_table(study: Study, support: Support) -> PaperTable:
    """Return URL validity in both readings, and what became of the cited addresses."""
    title = f"Cited addresses: {support_title(study, support)}"
    if support.responses.empty:
        return not_measured("support-addresses", title, ["System"], _NO_ANSWERS)
    long = _percent(support_estimates(support, study.load("queries"), list(labels_of(study))))
    long = long[long["measure"].str.startswith("url_")]
    shown = _wide(study, long, long["measure"].str.removeprefix("url_"))
    shown.columns = [
        "System",
        "Valid: 200 with a text",
        "Live, but refused to us",
        "Read and verified",
    ]
    states = pd.crosstab(support.urls["system"], support.urls["state"])
    shown["What became of them"] = [_counted(states, s) for s in labels_of(study)]
    note = (
        _PERCENT
        + "One row an address and response; an address cited twice in a response counts once."
    )
    return PaperTable("support-addresses", title, long, shown, note)


def _counted(states: pd.DataFrame, system: str) -> str:
    """List what became of a system's addresses, most frequent first."""
    if system not in states.index:
        return DASH
    row = states.loc[system]
    row = row[row > 0].sort_values(ascending=False, kind="stable")
    return ", ".join(f"{str(name).replace('_', ' ')} {n}" for name, n in row.items())


def support_table(study: Study, support: Support) -> PaperTable:
    """Return the share of supported statements under both rules and both readings."""
    title = f"Supported statements: {support_title(study, support)}"
    if support.responses.empty:
        return not_measured("support-statements", title, ["System"], _NO_ANSWERS)
    long = _percent(support_estimates(support, study.load("queries"), list(labels_of(study))))
    long = long[long["measure"] == "statement"]
    shown = _wide(study, long, _rule_names(long))
    means = long[(long["rule"] == "cited") & (long["reading"] == "strict")].set_index("system")
    shown["Per query"] = [rounded(means.loc[s, "per_query"], 1) for s in labels_of(study)]
    counts = support.responses.groupby("system")[["statements", "left_out"]].sum()
    shown["Left out"] = [_sum(counts, s, "left_out") for s in labels_of(study)]
    note = (
        _PERCENT
        + _RULES
        + "Cited source, strict, is also called citation recall. Per query: its mean over "
        "queries. Left out: sentences that state nothing (questions, headings, remarks, table rows)."
    )
    return PaperTable("support-statements", title, long, shown, note)


def _sum(counts: pd.DataFrame, system: str, column: str) -> int:
    """Return a sum of a system, 0 where it has no row."""
    return int(counts[column].get(system, 0))


def response_table(study: Study, support: Support) -> PaperTable:
    """Return the share of responses with every statement supported, and citation precision."""
    title = f"Fully supported responses: {support_title(study, support)}"
    if support.responses.empty:
        return not_measured("support-responses", title, ["System"], _NO_ANSWERS)
    long = _percent(support_estimates(support, study.load("queries"), list(labels_of(study))))
    long = long[long["measure"].isin(["response", "citation_precision"])]
    names = _rule_names(long).where(long["measure"] == "response", "Citation precision")
    shown = _wide(study, long, names)
    note = (
        _PERCENT
        + _RULES
        + "A response without a statement has no value. Citation precision: citations whose "
        "page supports the statement they stand at, of those whose page could be read."
    )
    return PaperTable("support-responses", title, long, shown, note)


def _percent(long: pd.DataFrame) -> pd.DataFrame:
    """Return shares as percentages."""
    names = ["value", "low", "high", "se", "per_query"]
    return long.assign(**{name: 100 * long[name] for name in names})


def _rule_names(long: pd.DataFrame) -> pd.Series:
    """Return a heading for each rule and reading."""
    return long["rule"].map(_NAMES).str.capitalize() + ", " + long["reading"]


def _wide(study: Study, long: pd.DataFrame, names: pd.Series) -> pd.DataFrame:
    """Arrange estimates: a row a system, a column a heading, in the order of first appearance."""
    cells = [estimate_cell(item, 1) for item in long.itertuples(index=False)]
    frame = long.assign(name=names, cell=cells)
    wide = frame.pivot(index="system", columns="name", values="cell")
    labels = labels_of(study)
    wide = wide.reindex(index=list(labels), columns=list(dict.fromkeys(names)))
    wide.insert(0, "System", list(labels.values()))
    return wide.rename_axis(columns=None).reset_index(drop=True)


# --- support and quality -------------------------------------------------------------------------


def quality_table(
    study: Study, support: Support, sources: pd.DataFrame, good: float = GOOD
) -> PaperTable:
    """Return how many statements are backed by good sources, by poor ones, and by none."""
    title = f"Support and source quality: {support_title(study, support)}"
    if support.responses.empty:
        return not_measured("support-quality", title, ["System"], _NO_ANSWERS)
    labels = labels_of(study)
    rows = support_and_quality(support, sources, good=good)
    long = kind_shares(rows, study.load("queries"), list(labels))
    percent = long.assign(**{name: 100 * long[name] for name in ("value", "low", "high", "se")})
    there = [kind for kind in KINDS if (long.loc[long["column"] == kind, "value"] > 0).any()]
    mine = percent[percent["column"].isin(there)]
    headings = mine["column"].map(KINDS).str.capitalize()
    shown = _wide(study, mine, headings)
    absent = [text for kind, text in KINDS.items() if kind not in there]
    note = (
        f"{_PERCENT}Rule: cited source. A source is good from a weighted score of {good:g} of 100 on; of "
        "several, the best that backs the statement counts, else the best cited there. Only the first "
        f"{study.settings.top_k} pages of a query have a score."
    )
    note += f" No statement: {'; '.join(absent)}." if absent else ""
    return PaperTable("support-quality", title, percent, shown, note)


def quality_figure(
    study: Study, support: Support, sources: pd.DataFrame, good: float = GOOD
) -> tuple[Figure, pd.DataFrame]:
    """Return one bar a system, cut by what backs its statements, and the numbers drawn."""
    labels = labels_of(study)
    rows = support_and_quality(support, sources, good=good)
    long = kind_shares(rows, study.load("queries"), list(labels))
    long["name"], long["kind"] = long["system"].map(labels), long["column"].map(KINDS)
    title = f"What backs the statements: {study.label}"
    return shares(
        long, title, f"share of statements, %; good: weighted score {good:g} or more"
    ), long


# --- can the verifier be trusted? ----------------------------------------------------------------


def verifier_table(study: Study, support: Support) -> PaperTable:
    """Return the agreement of the verifier with labels and with other verifiers."""
    title = f"Verifier against labels: {support_title(study, support)}"
    name = "support-verifier"
    compared = _compared(study, support)
    columns = ["Compared with", "Pairs", "Agreement, %", "Balanced accuracy", "Sensitivity"]
    if not compared:
        return not_measured(name, title, columns, "the study has no support labels")
    rows, cells = [], []
    for other, pairs in compared.items():
        a = support_agreement(pairs)
        rows.append({"compared_with": other, **_flat(a)})
        ends = a.agreement
        cells.append(
            {
                "Compared with": other,
                "Pairs": f"{a.n} of {a.expected}",
                "Agreement, %": f"{rounded(100 * ends.value, 1)}\n{interval(100 * ends.low, 100 * ends.high, 1)}",
                "Always the commoner, %": rounded(100 * a.always, 1),
                "Balanced accuracy": f"{rounded(a.balanced.value, 3)}\n{interval(a.balanced.low, a.balanced.high, 3)}",
                "Sensitivity": rounded(a.sensitivity, 3),
                "Specificity": rounded(a.specificity, 3),
                "Kappa": rounded(a.kappa, 3),
            }
        )
    note = (
        "Supported against not fully supported. Always the commoner: the agreement of a constant. Pairs: "
        "those with a verdict on both sides. " + _labels_note(study)
    )
    return PaperTable(name, title, pd.DataFrame(rows), pd.DataFrame(cells), note)


def _labels_note(study: Study) -> str:
    """Say what the annotators of a study are, where they are no people."""
    known = study.load("support_labels")["annotator"].unique()
    if "alteration" not in known:
        return ""
    return (
        "Labels of alteration are known by construction: a sentence copied from a page is backed by it, "
        "and one in which a figure, a name or a negation was then changed is not. Such changes are plain; how "
        "the verifier does on paraphrases they do not tell."
    )


def _compared(study: Study, support: Support) -> dict[str, pd.DataFrame]:
    """Return the pairs of the verifier with each annotator and each other verifier."""
    labels = study.load("support_labels")
    found = {
        f"labels of {who}": labelled(support, labels, who)
        for who in sorted(labels["annotator"].unique())
    }
    for other in sorted(set(study.load("support")["verifier"]) - {support.verifier}):
        found[f"verifier {other}"] = verifier_pairs(support, load_support(study, other))
    return found


def _flat(a) -> dict[str, float | int]:
    """Return an agreement as plain numbers."""
    row = {k: v for k, v in a._asdict().items() if not hasattr(v, "_asdict")}
    for name in ("agreement", "balanced"):
        e = getattr(a, name)
        row |= {name: e.value, f"{name}_low": e.low, f"{name}_high": e.high}
    return row


def confusion_table(study: Study, support: Support) -> PaperTable:
    """Return how often the verifier gave which verdict where the labels give which."""
    title = f"Verdicts against labels: {support_title(study, support)}"
    name, labels = "support-confusion", study.load("support_labels")
    if labels.empty:
        return not_measured(name, title, ["Verdict"], "the study has no support labels")
    table = confusion_of(labelled(support, labels))
    data = table.rename_axis(index="verdict", columns=None).reset_index()
    shown = data.rename(columns=lambda c: str(c).replace("_", " ").capitalize())
    shown["Verdict"] = shown["Verdict"].str.replace("_", " ")
    return PaperTable(
        name, title, data, shown, "Verdicts down, labels across. " + _labels_note(study)
    )


def corrected_table(study: Study, support: Support) -> PaperTable:
    """Return the statement support of each system as verified, and corrected by labels."""
    title = f"Supported statements, corrected by labels: {support_title(study, support)}"
    name, labels = "support-corrected", study.load("support_labels")
    if labels.empty:
        return not_measured(name, title, ["System"], "the study has no support labels")
    known = study.settings.systems
    names = labels_of(study) | {s: known[s].get("label", s) for s in study.settings.checks}
    data = corrected_support(with_labels(support, labels))
    shown = data[data["system"].isin(names)]
    cells = pd.DataFrame(
        {
            "System": shown["system"].map(names),
            "Verifier, %": [rounded(100 * v, 1) for v in shown["verifier"]],
            "By its own labels, %": _shares(shown, "value", "low", "high"),
            "Own labels": shown["n"].astype(int),
            "By labels of others, %": _shares(shown, "rg_value", "rg_low", "rg_high"),
        }
    )
    note = (
        "Rule: cited source, reachable. By its own labels: prediction-powered, if they are a random sample of "
        "the system's statements. By labels of others: Rogan-Gladen, which holds only if the verifier errs "
        "alike on all systems; on ExpertQA the offline verifier does not. " + _labels_note(study)
    )
    return PaperTable(name, title, data, cells.reset_index(drop=True), note)


def _shares(frame: pd.DataFrame, value: str, low: str, high: str) -> list[str]:
    """Return shares in percent with their intervals."""
    ends = zip(frame[value], frame[low], frame[high], strict=True)
    return [
        DASH if pd.isna(v) else f"{rounded(100 * v, 1)}\n{interval(100 * a, 100 * b, 1)}"
        for v, a, b in ends
    ]


# --- what it costs -------------------------------------------------------------------------------


def calls_table(study: Study, support: Support, false_positive_rate: float = 0.12) -> PaperTable:
    """Return the work behind the verdicts beside SourceCheckup's, and what the any-source rule inflates."""
    labels = labels_of(study)
    calls = calls_of(support).merge(any_source_inflation(support, false_positive_rate), on="system")
    calls = calls[calls["system"].isin(labels)].reset_index(drop=True)
    if calls.empty:
        title = f"Calls behind the verdicts: {study.label}"
        return not_measured("support-calls", title, ["System"], "no statement was verified")
    checked = study.load("support")
    checked = checked[checked["verifier"] == support.verifier]
    responses = calls["responses"].where(calls["responses"] > 0)
    shown = pd.DataFrame(
        {
            "System": calls["system"].map(labels),
            "Statements a response": [
                rounded(s / r, 1) for s, r in zip(calls["statements"], responses, strict=True)
            ],
            "Sources a statement": [rounded(v, 1) for v in calls["sources"]],
            "Calls a response, published": [
                rounded(c / r, 1) for c, r in zip(calls["published_calls"], responses, strict=True)
            ],
            "Pairs a response, here": [
                rounded(p / r, 1) for p, r in zip(calls["distinct_pairs"], responses, strict=True)
            ],
            "Wrong by one source": rounded(false_positive_rate, 2),
            "Wrong by any source": [rounded(v, 2) for v in calls["any_source"]],
        }
    )
    settled = int(checked["outcome"].isin(CHECKED).sum())
    note = (
        "Published: SourceCheckup makes one call for each statement and source, and one to parse. Here a "
        f"text is verified against a page once: {settled} pairs in all systems together. A language model gets "
        "many statements in one call. Wrong by any source: how often a judge that wrongly accepts one source "
        f"in {1 / false_positive_rate:.0f} accepts a statement that none supports, 1 - (1 - f)^m; f is an example."
    )
    title = f"Work behind the verdicts: {support_title(study, support)}"
    return PaperTable("support-calls", title, calls, shown, note)


def support_numbers(study: Study, support: Support) -> dict[str, str]:
    """Return the numbers that a text about support quotes, as macro name and text."""
    responses = support.responses
    return {
        "SupportStatements": str(len(support.statements)),
        "SupportLeftOut": str(int(responses["left_out"].sum())),
        "SupportResponses": str(len(responses)),
        "SupportWithoutStatements": str(int((responses["statements"] == 0).sum())),
        "SupportWithoutReadablePage": str(int((responses["reachable"] == 0).sum())),
    }
