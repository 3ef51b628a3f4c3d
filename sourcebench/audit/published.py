"""A referee's reading of the two papers' printed numbers, computed from `data/published`.

Assumptions that the papers do not print are said in the findings that rest on them: at most five
sources a query (so 100 in a category of 20 queries, 500 in all), and three runs of each question.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from sourcebench.audit.categories import check_categories
from sourcebench.audit.consistency import check_ranks, check_same, check_sorted
from sourcebench.audit.copies import check_copied_rows, check_repeated_block, check_repeated_cells
from sourcebench.audit.counts import check_sizes
from sourcebench.audit.findings import LIKELY, Finding, by_weight
from sourcebench.audit.formulas import check_formula
from sourcebench.audit.grim import common_ns, near_ns, printed_cells
from sourcebench.audit.leverage import check_one_system
from sourcebench.audit.rates import (
    check_interval,
    check_percentages,
    check_rates_alike,
    counts_over_runs,
)
from sourcebench.audit.recompute import check_column, check_order, recompute
from sourcebench.audit.table import WEIGHTED, audit_table
from sourcebench.published import FULL_NAMES, load_published, printed_table, published_table
from sourcebench.rubric import CODES, WEIGHTS

QUERIES_PER_CATEGORY = 20
MOST_PER_QUERY = 5
MOST_SOURCES = 5 * QUERIES_PER_CATEGORY * MOST_PER_QUERY
RUNS = 3
SURE = 0.01

_METRICS = list(CODES)
_BLOCK = [*_METRICS, "Weighted Source"]


def audit_published() -> list[Finding]:
    """Return every finding about the printed numbers of both papers, gravest first."""
    return by_weight(
        [
            *main_table_findings(),
            *deepseek_findings(),
            *category_findings(),
            *answer_findings(),
            *subset_findings(),
            *overlap_findings(),
            *sourcecheckup_findings(),
        ]
    )


def main_table_findings() -> list[Finding]:
    """Audit Table 4: average, weighted score, ranks, repeated cells, numbers of sources."""
    main = printed_table(4)
    others = _overlap().loc["W. Source"]
    return [
        *audit_table(main, n_max=MOST_SOURCES, table="Table 4"),
        *check_sizes(main, _METRICS, MOST_SOURCES, "Table 4", SURE),
        *check_ranks(main[WEIGHTED], main["Rank"], "Table 4", others),
    ]


def deepseek_findings() -> list[Finding]:
    """Audit Table 9: the weighted column, the order, the numbers of sources."""
    deepseek = printed_table(9)
    checks = (check_column, check_order, check_formula)
    return [
        *(
            finding
            for check in checks
            for finding in check(deepseek, "Weighted Avg", WEIGHTS, table="Table 9")
        ),
        *check_copied_rows(deepseek, _METRICS, "Table 9"),
        *check_repeated_cells(deepseek, _METRICS, "Table 9"),
        *check_sizes(deepseek, _METRICS, MOST_SOURCES, "Table 9", SURE),
    ]


def category_findings() -> list[Finding]:
    """Audit Table 5 against itself and against Table 4."""
    main, categories = printed_table(4), printed_table(5)
    means = printed_cells(main, _METRICS)
    expected = {row: recompute(cells, WEIGHTS) for row, cells in means.items()}
    sources = {row: common_ns(list(cells.values()), MOST_SOURCES) for row, cells in means.items()}
    names = ("Table 5, Overall", "Table 4, Weighted")
    cap = QUERIES_PER_CATEGORY * MOST_PER_QUERY
    return [
        *check_same(categories["Overall"], main[WEIGHTED], names, expected),
        *check_categories(categories, "Overall", cap, "Table 5", sources),
    ]


def answer_findings() -> list[Finding]:
    """Audit the answer scores of Table 6 and their correlation with the source scores."""
    answers = dict(printed_table(6)["Answer Score"])
    numbers = published_table(6)
    counts = counts_over_runs(answers, QUERIES_PER_CATEGORY, RUNS)
    return [
        *check_percentages(answers, QUERIES_PER_CATEGORY, "Answer Score", "Table 6", RUNS),
        *check_rates_alike(counts, "Answer Score", "Table 6"),
        *check_one_system(numbers["Answer Score"], numbers["Weighted Source"], "Table 6"),
    ]


def subset_findings() -> list[Finding]:
    """Compare the source columns of Tables 6 and 7 with the overall table, and their order."""
    main = printed_table(4).rename(columns={WEIGHTED: "Weighted Source"})
    hotpot, debate = printed_table(6), printed_table(7)
    both = hotpot.drop(index=[row for row in hotpot.index if row in main.index])
    claim = "caption: ordered by the weighted score ranking"
    return [
        *check_repeated_block(
            main, hotpot, _BLOCK, ("Table 4", "Table 6"), "the 20 HotpotQA questions"
        ),
        *check_repeated_block(
            main, debate, _BLOCK, ("Table 4", "Table 7"), "the 20 DebateQA questions"
        ),
        *check_repeated_block(
            both, debate, _BLOCK, ("Table 6", "Table 7"), "the 20 DebateQA questions"
        ),
        *check_sorted(hotpot, "Answer Score", "Table 6"),
        *check_sorted(debate, "Weighted Source", "Table 7", claim),
    ]


def overlap_findings() -> list[Finding]:
    """Audit Table 8: the percentages against inferred numbers of sources, and the correlation."""
    printed = _overlap()
    numbers = published_table(8).rename(columns=FULL_NAMES)
    sizes = {row: n for row, n in inferred_sizes().items() if row in printed.columns}
    shares = dict(printed.loc["% in Google", list(sizes)])
    off = check_percentages(shares, sizes, "% in Google", "Table 8")
    return [
        *(_on_inferred_sizes(finding) for finding in off),
        *check_one_system(numbers.loc["% in Google"], numbers.loc["W. Source"], "Table 8"),
    ]


def inferred_sizes() -> Mapping[str, int]:
    """Return the number of sources of each Table 4 system whose means single one out."""
    sizes = {}
    for row, cells in printed_cells(printed_table(4), _METRICS).items():
        fits = near_ns(cells, MOST_SOURCES)
        if fits and fits[0].chance < SURE:
            sizes[row] = fits[0].n
    return sizes


def _on_inferred_sizes(finding: Finding) -> Finding:
    """Tone a finding down that rests on inferred numbers of sources."""
    return replace(
        finding,
        severity="note",
        kind=LIKELY,
        arithmetic=f"{finding.arithmetic} The numbers of sources are inferred from the means, not "
        "printed. A percentage averaged over queries would explain it.",
        what_would_settle="how the percentage is averaged, and the counts",
    )


def sourcecheckup_findings() -> list[Finding]:
    """Audit the rates and intervals of SourceCheckup against the printed sample sizes."""
    found = []
    for table, cells in load_published("sourcecheckup").groupby("table", sort=False):
        rates = _rates(cells)
        n = int(cells.loc[cells["column"] == "n", "value"].iloc[-1]) if len(rates) else 0
        sizes = {row: _own_n(cells, row) or n for row in rates.index}
        exact = {row: f"{rates['rate'][row]}%" for row in rates.index if row != _STATEMENTS}
        found += check_percentages(exact, sizes, "rate", table)
        for row, rate in rates.dropna().iterrows():
            if row != _STATEMENTS:
                ends = (f"{rate[part]}%" for part in ("rate", "ci_low", "ci_high"))
                found += check_interval(*ends, sizes[row], f"{table}: {row}")
    return found


# Counted in statements, whose number is not printed.
_STATEMENTS = "Statement support"


def _rates(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the exact rates of one group of numbers with their intervals, as printed text."""
    exact = cells[cells["unit"] == "percent"].assign(text=lambda c: c["printed"].str.rstrip("%"))
    wide = exact.pivot(index="row", columns="column", values="text")
    wide = wide.reindex(columns=["rate", "ci_low", "ci_high"]).dropna(subset="rate")
    return wide.loc[[row for row in exact["row"].unique() if row in wide.index]]


def _own_n(cells: pd.DataFrame, row: str) -> int | None:
    """Return the sample size that is printed for a rate itself, if there is one."""
    own = cells[(cells["row"] == row) & (cells["column"] == "n")]
    return int(own["value"].iloc[0]) if len(own) else None


def _overlap() -> pd.DataFrame:
    """Return Table 8 with the full names of the systems."""
    return printed_table(8).rename(columns=FULL_NAMES)
