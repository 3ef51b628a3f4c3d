"""The audit: findings about the published tables are computed, planted errors are found."""

import dataclasses
import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from sourcebench.audit import published as published_audit
from sourcebench.audit.categories import most_sources, share_needed, whole_solutions
from sourcebench.audit.consistency import check_ranks
from sourcebench.audit.copies import check_copied_rows, check_repeated_block
from sourcebench.audit.findings import (
    FOLLOWS,
    KINDS,
    LIKELY,
    NEEDS_RELEASE,
    SEVERITIES,
    Finding,
    findings_frame,
    findings_html,
    findings_markdown,
    findings_text,
)
from sourcebench.audit.formulas import search_formulas
from sourcebench.audit.grim import common_ns, printed_cells
from sourcebench.audit.leverage import check_one_system
from sourcebench.audit.rates import check_interval, check_percentages, interval_strength
from sourcebench.audit.recompute import off_rows, recompute
from sourcebench.audit.table import audit_table, read_leaderboard, run_audit
from sourcebench.cli import main
from sourcebench.paper import read_notebook
from sourcebench.published import printed_table, published_table
from sourcebench.rubric import CODES, WEIGHTS
from sourcebench.sections.audit import findings_table, recomputed_table, system_correlations_table

ROOT = Path(__file__).resolve().parents[1]
ONES = dict.fromkeys(CODES, 1)


@pytest.fixture(scope="module")
def findings() -> list[Finding]:
    """Return the audit of the published tables."""
    return published_audit.audit_published()


def _one(findings: list[Finding], check: str, cell: str = "") -> Finding:
    """Return the only finding of a check that speaks of a cell."""
    (found,) = [f for f in findings if check in f.check and any(cell in c for c in f.cells)]
    return found


def _expected(table: int, weights: dict[str, int], out_of: float) -> list[float]:
    """Recompute a column of a published table."""
    cells = printed_cells(printed_table(table), list(CODES))
    return [float(recompute(row, weights, out_of).value) for row in cells.values()]


# --- The published tables ------------------------------------------------------------------------


def test_recomputed_columns_of_the_main_table():
    """Weighted scores and averages follow from the printed means to four decimals."""
    weighted = [89.1179, 83.4747, 81.5168, 81.2800, 79.3589, 78.9011]
    average = [4.46375, 4.15650, 4.06675, 4.06075, 3.98588, 3.95613]
    assert _expected(4, WEIGHTS, 100) == pytest.approx(weighted, abs=1e-4)
    assert _expected(4, ONES, 5) == pytest.approx(average, abs=1e-5)


def test_tolerances_are_what_rounding_explains():
    """Eight means at three decimals leave a weighted score open by .0105, an average by .001."""
    off = off_rows(printed_table(4), "Weighted", WEIGHTS)
    assert [o.row for o in off] == ["GPT-5", "Grok-4.1-Fast", "Gemini-3-Pro", "Gemini-3-Flash"]
    assert [o.tolerance for o in off] == pytest.approx([0.0105] * 4)
    assert [o.difference for o in off] == pytest.approx(
        [-0.0369, -0.0937, 0.0201, 0.0799], abs=1e-4
    )
    average = off_rows(printed_table(4), "Avg", ONES, 5)
    assert [o.row for o in average] == [o.row for o in off]
    assert average[0].tolerance == pytest.approx(0.001)


def test_deepseek_column_counts_one_metric_as_zero():
    """One of 262,140 formulas gives Table 9: domain authority 0, divisor unchanged."""
    formulas, tried, chance = search_formulas(printed_table(9), "Weighted Avg", WEIGHTS)
    assert tried == 262_140
    (only,) = formulas
    assert dict(only.weights) == dict.fromkeys(CODES, 1.0) | {
        "CR": 1.5, "FA": 1.5, "NE": 1.5, "DA": 0.0,
    }  # fmt: skip
    assert only.divisor == 47.5
    assert only.error == pytest.approx(0.0026, abs=5e-5)
    assert chance < 0.001
    means = published_table(9)[list(CODES)]
    predicted = 100 * (means @ pd.Series(dict(only.weights))) / only.divisor
    assert list(predicted) == pytest.approx([70.0853, 75.9916, 75.8242, 74.1053], abs=1e-4)


def test_deepseek_findings_say_what_follows_and_what_is_likely(findings):
    """4.1: the column and the reversed order follow from the numbers, the formula is likely."""
    column = _one(findings, "does not follow", "Table 9")
    assert (column.severity, column.kind) == ("major", FOLLOWS)
    assert column.expected == "79.0242; 85.3853; 85.6242; 83.3516"
    order = _one(findings, "order by Weighted Avg reverses")
    assert findings[0] is order
    assert (order.severity, order.kind) == ("critical", FOLLOWS)
    assert order.printed == "DS-Chat-Gensee 75.989 above DS-Reasoning-Tavily 75.823"
    assert order.expected == "DS-Reasoning-Tavily 85.6242 above DS-Chat-Gensee 85.3853"
    formula = _one(findings, "follows from another formula")
    assert formula.kind == LIKELY
    assert "DA counts 0 instead of 1; the divisor 47.5 is unchanged" in formula.arithmetic


def test_arithmetic_of_a_finding_can_be_redone_by_hand(findings):
    """The sum written out in a finding gives the number it claims."""
    text = _one(findings, "order by Weighted Avg reverses").arithmetic
    sums = [part.split(": ")[1].split(" = ") for part in text.strip(".").split(". ")]
    assert len(sums) == 2
    for expression, claimed in sums:
        assert pd.eval(expression.replace(" x ", " * "), engine="python") == pytest.approx(
            float(claimed), abs=1e-4
        )


def test_sizes_behind_the_deepseek_rows_are_reported(findings):
    """4.2: four rows rest on 58 to 78 sources; the chance of a false fit is below a millionth."""
    sizes = {f.cells[0].split(": ")[1].split(",")[0]: f for f in findings
             if f.check == "how many sources a row rests on" and "Table 9" in f.cells[0]}  # fmt: skip
    assert {row: f.expected for row, f in sizes.items()} == {
        "DS-Chat-Tavily": "n = 69",
        "DS-Chat-Gensee": "n = 78 (LC from 77)",
        "DS-Reasoning-Tavily": "n = 58",
        "DS-Reasoning-Gensee": "n = 75 (FR, OA, AA, DA, LC from 74)",
    }
    assert all(f.chance < 1e-6 and f.kind == LIKELY for f in sizes.values())
    assert "CR 261/69 = 3.783" in sizes["DS-Chat-Tavily"].arithmetic


def test_main_table_columns_are_off_together(findings):
    """4.3: average and weighted score are off in the same four rows, with both signs."""
    assert len(_one(findings, "Avg does not follow", "Table 4").cells) == 4
    assert len(_one(findings, "Weighted does not follow", "Table 4").cells) == 4
    together = _one(findings, "off in the same rows and direction", "Table 4")
    assert together.kind == LIKELY
    assert "both signs" in together.arithmetic
    assert _one(findings, "no formula tried gives Weighted").kind == FOLLOWS


def test_category_table_prints_another_overall_score(findings):
    """4.4: five of six systems have two overall scores; the category table fits the means better."""
    same = _one(findings, "same quantity is printed with two values")
    assert len(same.cells) == 10
    assert "GPT-5 89.116 and 89.081" in same.printed
    assert "agrees in 5 of 6 rows, Table 4, Weighted in 2" in same.arithmetic


def test_overall_scores_are_no_means_of_categories(findings):
    """4.5: macro means differ from the printed overall score by up to 1.56 points."""
    apart = _one(findings, "Overall is not the mean of the categories")
    assert apart.expected == "88.183; 83.534; 79.724; 77.931; 77.345"
    for difference in ("+0.933", "-0.153", "+1.557", "+1.428", "+1.560"):
        assert difference in apart.arithmetic


def test_source_counts_that_the_categories_allow():
    """4.5: GPT-5 can have at most 314 sources; no or few whole numbers of sources fit."""
    rows = printed_cells(printed_table(5), list(printed_table(5).columns))
    overall = {row: cells.pop("Overall") for row, cells in rows.items()}
    most = most_sources(rows["GPT-5"], overall["GPT-5"], 100)
    assert [round(n) for n in most.values()] == [100, 100, 100, 14, 0]
    name, share = share_needed(rows["Claude-Sonnet-4.5"], overall["Claude-Sonnet-4.5"])
    assert (name, round(share, 3)) == ("Factual", 0.413)
    solutions = {row: whole_solutions(rows[row], overall[row], 100) for row in rows}
    assert solutions["GPT-5"] == solutions["Gemini-3-Flash"] == []
    assert [list(s.values()) for s in solutions["Claude-Sonnet-4.5"]] == [[7, 35, 85, 28, 71]]
    assert len(solutions["GPT-4o"]) == 12
    assert 294 not in {sum(s.values()) for s in solutions["GPT-4o"]}


def test_category_findings_name_their_assumption(findings):
    """Findings about whole numbers of sources are likely, not certain, and say what would differ."""
    found = [f for f in findings if "no common number of sources" in f.check]
    assert len(found) == 5
    assert all(
        f.kind == LIKELY and "rounded before averaging" in f.what_would_settle for f in found
    )
    gpt5 = _one(found, "no common number", "GPT-5")
    assert (
        "314 (Argument 100, Reasoning 100, Factual 100, Social 14, Shopping 0)" in gpt5.arithmetic
    )


def test_answer_percentages_are_impossible_with_20_questions(findings):
    """4.6: four of six percentages need other counts; three runs of 18 to 20 questions fit."""
    answers = _one(findings, "percentages are impossible", "Table 6")
    assert len(answers.cells) == 4
    for fraction in ("11/60", "8/57", "5/54", "5/60"):
        assert f"{fraction} fits" in answers.arithmetic
    assert "No single number of items up to 399 fits all 6" in answers.arithmetic
    alike = _one(findings, "do not differ by more than chance")
    assert alike.chance == pytest.approx(0.526, abs=5e-4)
    for number in ("= 4.17 with 5", "14.5", "17.4", "p = 0.178"):
        assert number in alike.arithmetic


def test_answer_correlation_rests_on_one_system(findings):
    """4.7: r falls from .845 (p = 34/720) to .350 (p = 72/120) without GPT-5."""
    found = _one(findings, "correlation of Answer Score and Weighted Source rests on GPT-5")
    for number in ("r = 0.845", "34/720 = 0.047", "r = 0.350", "72/120 = 0.600", "0.667",
                   "p = 0.161", "-0.76 to 1.00", "0.410 (exact p = 0.500)", "0.825"):  # fmt: skip
        assert number in found.arithmetic
    assert "0.811" in found.expected


def test_overlap_correlation_rests_on_one_system(findings):
    """4.8: r falls from -.553 (p = .083) to -.319 (p = .371) without GPT-5."""
    found = _one(findings, "correlation of % in Google and W. Source rests on GPT-5")
    for number in ("r = -0.553", "3,297,002/39,916,800 = 0.083", "-0.89 to 0.16", "r = -0.319",
                   "1,346,247/3,628,800 = 0.371", "-0.79 to 0.38", "-0.654 to -0.319"):  # fmt: skip
        assert number in found.arithmetic
    assert "0.602" in found.expected


def test_overlap_percentages_are_no_shares_of_the_inferred_sources(findings):
    """4.9: three percentages are not k/n of the sources that the means imply; only likely."""
    assert published_audit.inferred_sizes() == {
        "Grok-4.1-Fast": 305, "GPT-4o": 294, "Claude-Sonnet-4.5": 253,
    }  # fmt: skip
    found = _one(findings, "percentages are impossible", "Table 8")
    assert (found.kind, found.severity, len(found.cells)) == (LIKELY, "note", 3)
    assert "averaged over queries would explain it" in found.arithmetic


def test_repeated_cells_are_a_question_not_a_charge(findings):
    """4.10: two repeats where .14 are expected; only a release could tell why."""
    found = _one(findings, "numbers stand twice")
    assert found.printed == (
        "CR 3.633 for Gemini-3-Pro and Gemini-3-Flash; NE 3.925 for GPT-4o and Gemini-3-Flash"
    )
    assert found.expected == "0.14 coincidences"
    assert (found.kind, found.severity) == (NEEDS_RELEASE, "note")
    assert found.chance == pytest.approx(0.0085, abs=2e-4)


def test_unprinted_ranks_are_placed(findings):
    """4.11: Gensee is third, Exa and one unprinted system share ranks 6 and 7."""
    text = _one(findings, "unprinted ranks").arithmetic
    assert "rank 3: Gensee 81.795" in text
    assert "ranks 6-7: Exa 80.108, 1 not printed, between 79.379 and 81.282" in text
    assert "(steps 0.434, 0.208, 0.071)" in text


@pytest.mark.parametrize(
    ("check", "cells"),
    [
        ("Table 6 repeats Table 4", 36),
        ("Table 7 repeats Table 4", 36),
        ("Table 7 repeats Table 6", 18),
    ],
)
def test_source_columns_of_the_answer_tables_are_the_overall_ones(findings, check, cells):
    """Tables 6 and 7 print the overall source scores, not those of their 20 questions."""
    found = _one(findings, check)
    assert (found.kind, len(found.cells)) == (FOLLOWS, cells)
    assert found.chance < 1e-50


def test_caption_of_table_7_names_another_order(findings):
    """Table 7 is said to be ordered by weighted score; it is ordered by PD."""
    assert "They do rise in PD." in _one(findings, "rows are not ordered by").arithmetic
    assert len([f for f in findings if "rows are not ordered" in f.check]) == 1


def test_width_of_the_response_support_interval(findings):
    """The 38.4% interval is worth 71 independent responses, not 300; its ends are counts of 75."""
    strength = interval_strength("38.4%", "26.7%", "49.3%", 300)
    assert strength.se == pytest.approx(0.05765, abs=5e-6)
    assert strength.n_effective == pytest.approx(71.2, abs=0.05)
    assert strength.n_effective_rounding == pytest.approx(0.7, abs=0.05)
    assert strength.design_effect == pytest.approx(4.22, abs=0.005)
    assert strength.widest == pytest.approx(0.0550, abs=5e-5)
    assert common_ns(["26.7%", "49.3%"], 300)[0] == 75
    found = _one(findings, "interval is wider")
    assert found.cells == ("HealthSearchQA: Response support",)
    assert "20/75 and 37/75" in found.arithmetic


def test_sourcecheckup_rates_against_their_sample_sizes(findings):
    """38.4% is no count of 300, and 40.4% and 42.4% are counts of 99, not 100."""
    response = _one(findings, "percentages are impossible", "HealthSearchQA")
    assert "115/300 = 38.33%, 116/300 = 38.67%" in response.arithmetic
    clinician = _one(findings, "percentages are impossible", "Clinician check")
    assert "All 2 percentages fit n = 99" in clinician.arithmetic
    assert not [f for f in findings if any("Judge check" in c or "Main set" in c for c in f.cells)]


def test_ordinary_intervals_raise_no_finding():
    """The other printed intervals are as wide as their sample sizes give."""
    assert check_interval("31.0%", "26.7%", "35.8%", 400, "") == []
    assert check_interval("40.4%", "30.7%", "50.1%", 100, "") == []


def test_findings_are_ordered_and_complete(findings):
    """Every finding has its words, its kind and severity; the gravest come first."""
    severities = [SEVERITIES.index(f.severity) for f in findings]
    assert severities == sorted(severities)
    for finding in findings:
        assert finding.kind in KINDS
        assert all((finding.check, finding.cells, finding.printed, finding.expected))
        assert finding.arithmetic
        assert finding.what_would_settle
        assert finding.chance is None or 0 <= finding.chance <= 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        findings[0].severity = "note"


# --- Planted errors ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def benchmark():
    """Return the module that makes consistent tables."""
    path = ROOT / "benchmarks" / "audit_false_alarms.py"
    spec = importlib.util.spec_from_file_location("audit_false_alarms", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def clean(benchmark) -> pd.DataFrame:
    """Return one consistent synthetic table of at least six systems."""
    rng = np.random.default_rng(11)
    table = benchmark.synthetic_table(rng, same_n=False)
    assert len(table) >= 6
    return table


def _checks(frame: pd.DataFrame, **options) -> set[str]:
    """Return the checks that find something in a table."""
    return {finding.check for finding in audit_table(frame, **options)}


def test_a_consistent_table_has_no_finding(clean):
    """Nothing is wrong, and nothing is found."""
    assert audit_table(clean) == []


def test_false_alarms_stay_at_the_stated_rate(benchmark):
    """Two checks rest on chance, at 1% each; 60 consistent tables give at most a few alarms."""
    alarmed, checks = benchmark.false_alarms(60, seed=5)
    assert alarmed <= 4
    assert set(checks) <= {"two rows share cells", "numbers stand twice in a column"}


def test_swapped_cells_are_found(clean):
    """Two metrics of different weight, swapped in one row, leave the average right."""
    first = clean.index[0]
    assert clean.loc[first, "CR"] != clean.loc[first, "LC"]
    clean.loc[first, ["CR", "LC"]] = clean.loc[first, ["LC", "CR"]].to_numpy()
    (finding,) = [f for f in audit_table(clean, table="t") if "does not follow" in f.check]
    assert finding.cells == (f"t: {first}, Weighted",)


def test_cells_swapped_between_rows_are_found(clean):
    """A metric swapped between two systems throws both rows off."""
    rows = list(clean.index[:2])
    clean.loc[rows, "FA"] = clean.loc[rows[::-1], "FA"].to_numpy()
    found = {f.check: f for f in audit_table(clean)}
    assert len(found["Avg does not follow from the metrics of its row"].cells) == 2
    assert "Avg and Weighted are off in the same rows and direction" in found


@pytest.mark.parametrize(("metric", "weight"), [("LC", 2.0), ("CR", 0.0), ("FR", 1.5)])
def test_a_wrong_weight_is_found_and_named(clean, metric, weight):
    """A column formed with one other weight, same divisor, is traced to that weight."""
    used = pd.Series({code: w / 2 for code, w in WEIGHTS.items()}) + 0.0
    used[metric] = weight
    clean["Weighted"] = [f"{v:.3f}" for v in 100 * (clean[list(CODES)].astype(float) @ used) / 47.5]
    found = {f.check: f for f in audit_table(clean, scale=None)}
    assert "Weighted does not follow from the metrics of its row" in found
    text = found["Weighted follows from another formula"].arithmetic
    assert f"{metric} counts {weight:g} instead of" in text
    assert "is unchanged" in text


def test_a_rescaled_column_is_named(clean):
    """A column on a scale from 0 is recognised as such."""
    weights = pd.Series(WEIGHTS)
    means = clean[list(CODES)].astype(float)
    clean["Weighted"] = [f"{v:.3f}" for v in 100 * ((means - 1) @ weights) / (4 * weights.sum())]
    found = {f.check: f for f in audit_table(clean, scale=None)}
    assert "each score less 1" in found["Weighted follows from another formula"].expected


def test_a_wrong_number_of_sources_is_found(clean):
    """Means over 100 sources are not all multiples of 1/97; the right number is named."""
    row = clean.index[0]
    right = clean.loc[row, "n"]
    clean.loc[row, "n"] = str(int(right) - 3)
    (finding,) = audit_table(clean)
    assert finding.check == "a mean is impossible with the stated number of sources"
    assert right in finding.arithmetic.split("n = ")[-1]
    assert audit_table(clean, n={row: int(right)}) == []


def test_a_copied_row_is_found(clean):
    """A row copied under another name is found, whether or not its name differs much."""
    clean.loc["copy"] = clean.iloc[0]
    (finding,) = [f for f in audit_table(clean) if f.check == "two rows share cells"]
    assert len(finding.cells) == 16
    assert finding.chance < 1e-9


def test_a_partly_copied_row_is_found(clean):
    """Five of eight cells copied from another row are enough."""
    clean.iloc[1, :5] = clean.iloc[0, :5]
    found = check_copied_rows(clean, list(CODES))
    assert len(found) == 1
    assert len(found[0].cells) == 10


def test_swapped_ranks_are_found(clean):
    """Ranks that contradict the scores change an order."""
    order = clean["Rank"].astype(int).sort_values().index
    clean.loc[order[:2], "Rank"] = ["2", "1"]
    (finding,) = audit_table(clean)
    assert (finding.check, finding.severity) == ("ranks do not follow the scores", "critical")


def test_values_off_the_scale_are_found(clean):
    """A mean above five is out of range."""
    clean.loc[clean.index[0], "CR"] = "5.200"
    assert "CR outside its range" in _checks(clean)


def test_impossible_percentages_are_found(clean):
    """A hit rate of 33.3% is possible with three and impossible with four items."""
    clean["Hits"] = "33.3%"
    assert _checks(clean, trials={"Hits": 3}) == set()
    assert _checks(clean, trials={"Hits": 4}) == {
        "percentages are impossible with the stated count"
    }


def test_means_without_a_common_n_are_found(clean):
    """Without n, a row whose means fit no n up to the limit is reported."""
    unknown = clean.drop(columns="n")
    assert audit_table(unknown, n_max=500) == []
    row = unknown.index[0]
    changed = f"{float(unknown.loc[row, 'AA']) + 0.001:.3f}"
    unknown.loc[row, "AA"] = changed
    assert "no number of sources up to 100 fits all means of a row" in _checks(
        unknown.loc[[row]], n_max=100
    )


def test_one_complete_row_is_enough_to_judge_it(clean):
    """A wrong score is found where other rows lack theirs; no formula is guessed from one row."""
    clean.loc[clean.index[1:], "Weighted"] = "-"
    clean.loc[clean.index[0], "Weighted"] = "50.000"
    (finding,) = audit_table(clean.drop(columns="Rank"))
    assert "does not follow" in finding.check


def test_a_long_table_is_searched(clean):
    """A search over three hundred rows finds the formula that one over six rows finds."""
    many = pd.concat([clean] * 50, ignore_index=True)
    halved = {code: w / 2 for code, w in WEIGHTS.items()}
    assert len(search_formulas(many, "Weighted", halved)[0]) == 1


def test_missing_cells_are_left_out(clean):
    """A blank metric leaves its row's average unjudged, and raises nothing."""
    clean.loc[clean.index[0], "CR"] = ""
    assert audit_table(clean) == []


def test_floats_are_read_with_the_digits_they_show(clean):
    """A table of floats is audited like the same table of text."""
    numbers = clean.astype(float)
    assert audit_table(numbers) == []
    numbers.iloc[0, 0] += 0.1
    assert "Avg does not follow from the metrics of its row" in _checks(numbers)


def test_other_metrics_and_weights():
    """A table with its own two metrics and weights is audited by them."""
    frame = pd.DataFrame({"speed": ["4.0", "2.0"], "care": ["2.0", "3.0"],
                          "Weighted": ["3.5", "2.25"]}, index=["a", "b"])  # fmt: skip
    weights = {"speed": 3, "care": 1}
    assert audit_table(frame, weights=weights, out_of=5) == []
    assert _checks(frame, weights={"speed": 1, "care": 1}, out_of=5) != set()
    assert audit_table(frame, metrics=["speed", "care"]) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="CR"), "the table has no column 'CR'"),
        (lambda t: t.rename(index={t.index[1]: t.index[0]}), "has two rows"),
        (lambda t: t.assign(FA="good"), r"row 'synthetic \d+', column 'FA': 'good' is not"),
        (lambda t: t.assign(n="2.5"), "'2.5' is not a number of sources"),
        (lambda t: t.drop(columns=["Avg", "Weighted"]), "needs a column 'Weighted' or 'Avg'"),
    ],
)
def test_a_table_that_can_not_be_audited_is_one_clear_error(clean, change, message):
    """The error names the row and column and what is wrong."""
    with pytest.raises(ValueError, match=message):
        audit_table(change(clean))


def test_other_scores_must_fit_the_free_ranks():
    """Two unranked systems between ranks 1 and 3 are one too many."""
    scores = pd.Series({"a": "90.0", "b": "70.0"})
    ranks = pd.Series({"a": "1", "b": "3"})
    one = check_ranks(scores, ranks, others=pd.Series({"c": "80.0"}))
    assert one[0].check == "unprinted ranks"
    two = check_ranks(scores, ranks, others=pd.Series({"c": "80.0", "d": "75.0"}))
    assert (two[0].check, two[0].severity) == ("more scores than free ranks", "major")


def test_blocks_that_differ_are_not_called_repeated():
    """One different cell is enough."""
    first = pd.DataFrame({"x": ["1.11", "2.22", "3.33"]}, index=["a", "b", "c"])
    second = first.copy()
    assert check_repeated_block(first, second, ["x"], ("A", "B"), "a subset")
    second.loc["c", "x"] = "3.34"
    assert check_repeated_block(first, second, ["x"], ("A", "B"), "a subset") == []


def test_a_correlation_that_all_systems_carry_is_not_reported():
    """Eight systems on a line stay on it whichever is left out."""
    x = pd.Series(range(8), index=list("abcdefgh"), dtype=float, name="x")
    y = (x + pd.Series([0.1, -0.1] * 4, index=x.index)).rename("y")
    assert check_one_system(x, y) == []


def test_percentages_over_mapped_sizes():
    """Systems without a number of items are not judged."""
    assert check_percentages({"a": "50%", "b": "33%"}, {"a": 2}, "p") == []


# --- Files and reports ---------------------------------------------------------------------------


def _write(path: Path, text: str) -> Path:
    """Write a leaderboard file."""
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_a_leaderboard_file_is_read_as_printed(tmp_path):
    """Usual names are recognised in any case; text, byte-order mark and blanks survive."""
    text = "\ufeffModel,cr,fa,Average,weighted score,sources,Lab\nm1,4.10,3.90,4.00,,20,Lab A\n\n"
    frame = read_leaderboard(_write(tmp_path / "t.csv", text))
    assert list(frame.columns) == ["CR", "FA", "Avg", "Weighted", "n", "Lab"]
    assert frame.loc["m1"].to_list() == ["4.10", "3.90", "4.00", "", "20", "Lab A"]


def test_a_tab_separated_file_is_read(tmp_path):
    """A file named .tsv is split at tabs."""
    frame = read_leaderboard(_write(tmp_path / "t.tsv", "model\tx\na, b\t1.5\n"))
    assert frame.loc["a, b", "x"] == "1.5"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no systems; it needs a header line"),
        ("model,CR\n", "no systems"),
        ("model;CR\na;4.1\n", "only one column, 'model;CR'; separate columns by commas"),
        ("model,CR,cr\na,4.1,4.2\n", "line 1: column 'CR' is empty or there twice"),
        ("model,CR\na,4.1\nb,4,2\n", "line 3: 3 fields, but the header has 2"),
        ("model,CR\na,4.1\na,4.2\n", r"line 3, field 'model': 'a' .*also on line 2"),
        ("model,CR\n,4.1\n", "line 2, field 'model'"),
        ("model,CR\na,4.1\nb,four\n", "line 3, field 'CR': 'four' is not a printed number"),
        ("model,x\na,4.1\nb,4.2\nc,nan\n", "line 4, field 'x': 'nan' is not a finite number"),
        ('model,CR\n"a,4.1\n', "line 2: unexpected end of data"),
    ],
)
def test_a_broken_leaderboard_file_is_one_clear_error(tmp_path, text, message):
    """The error names the file, the line and the field."""
    path = _write(tmp_path / "board.csv", text)
    with pytest.raises(ValueError, match=rf"board\.csv.*{message}"):
        read_leaderboard(path)


def test_a_missing_or_undecodable_file_is_one_clear_error(tmp_path):
    """So is a file that is not there, or not UTF-8."""
    with pytest.raises(ValueError, match=r"none\.csv: no such file"):
        read_leaderboard(tmp_path / "none.csv")
    (tmp_path / "latin.csv").write_bytes("model,CR\nM\xfcller,4\n".encode("latin-1"))
    with pytest.raises(ValueError, match="not UTF-8 text"):
        read_leaderboard(tmp_path / "latin.csv")


def test_an_oversized_file_is_refused(tmp_path):
    """A file too large for a leaderboard is not read."""
    _write(tmp_path / "big.csv", "model,x\n" + "a,1\n" * 600_000)
    with pytest.raises(ValueError, match="larger than 2,000,000 bytes"):
        read_leaderboard(tmp_path / "big.csv")


def test_run_audit_reports_findings_and_scope(tmp_path):
    """The published DeepSeek table, as a user's file, gives its findings and what was not checked."""
    frame = printed_table(9)
    frame.to_csv(tmp_path / "deepseek.csv")
    report = run_audit(tmp_path / "deepseek.csv")
    assert report.startswith("Audit of deepseek.csv: 3 findings")
    assert "the order by Weighted reverses when it is recomputed [critical]" in report
    assert "Read: 4 systems; metrics CR, FA, NE, FR, OA, AA, DA, LC." in report
    assert "Not checked: the ranks, for want of a column 'Rank'." in report


def test_run_audit_of_a_clean_table_says_so(tmp_path, clean):
    """No finding is said in words, with what was looked at."""
    clean.to_csv(tmp_path / "clean.csv")
    report = run_audit(tmp_path / "clean.csv")
    assert report.startswith("Audit of clean.csv: no finding\n")
    assert "Not checked" not in report


def test_the_command_fails_on_a_critical_finding_only(tmp_path, clean):
    """A script that runs the audit learns of what overturns an order."""
    printed_table(9).to_csv(tmp_path / "deepseek.csv")
    clean.to_csv(tmp_path / "clean.csv")
    done = CliRunner().invoke(main, ["audit", str(tmp_path / "deepseek.csv")])
    assert (done.exit_code, "[critical]" in done.output) == (1, True)
    assert CliRunner().invoke(main, ["audit", str(tmp_path / "clean.csv")]).exit_code == 0
    assert "exit code 1" in CliRunner().invoke(main, ["audit", "--help"]).output


def test_emptied_cells_and_tables_are_said(tmp_path, clean):
    """An empty cell is not checked, and a table without a metric, or a score, is no clean table."""
    clean = clean.astype(object)
    clean.loc[clean.index[0], "FA"] = ""
    clean.to_csv(tmp_path / "clean.csv")
    said = f"Not checked: {clean.index[0]}, FA: the cell is empty."
    assert said in run_audit(tmp_path / "clean.csv")
    clean[list(CODES)] = ""
    clean.to_csv(tmp_path / "empty.csv")
    with pytest.raises(ValueError, match="no metric column with a score"):
        run_audit(tmp_path / "empty.csv")
    with pytest.raises(ValueError, match=r"no column with a metric .* its columns are price"):
        run_audit(_write(tmp_path / "shop.csv", "model,price\na,80.0\nb,50.0\n"))


def test_run_audit_of_other_metrics(tmp_path):
    """A table with other metrics is audited for its average; unknown weights are not guessed."""
    text = "model,speed,care,Avg,Weighted,Lab\na,80.0,60.0,70.0,75.0,x\nb,50.0,40.0,47.0,48.0,y\n"
    report = run_audit(_write(tmp_path / "other.csv", text))
    assert "Avg does not follow from the metrics of its row" in report
    assert "b: (50.0 + 40.0) / 2 = 45.0000, printed 47.0" in report
    assert "Not checked: the weighted score, since the weights are unknown." in report
    assert "Not looked at: Lab." in report


def test_run_audit_without_scores_is_one_clear_error(tmp_path):
    """A table of words has nothing to audit, and the error names the file."""
    with pytest.raises(ValueError, match=r"words\.csv: no column with a metric"):
        run_audit(_write(tmp_path / "words.csv", "model,Lab\na,x\nb,y\n"))


HOSTILE = '<script>alert("x")</script>|`\x1b[31m\u202e# **bold**'


@pytest.fixture
def hostile(clean) -> list[Finding]:
    """Return findings about a system with a hostile name."""
    clean.loc[HOSTILE] = clean.iloc[0]
    return audit_table(clean, table=HOSTILE)


def test_html_report_escapes_every_name(hostile):
    """No markup of a table reaches the HTML report."""
    text = findings_html(hostile, HOSTILE)
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_markdown_report_escapes_every_name(hostile):
    """No markup of a table is rendered in Markdown, where HTML would pass through."""
    text = findings_markdown(hostile, HOSTILE)
    assert "<script" not in text
    assert "**bold**" not in text
    assert r"\*\*bold\*\*" in text
    assert r"\|\`" in text


def test_text_report_keeps_control_characters_out(hostile):
    """A terminal receives no control or direction character."""
    text = findings_text(hostile, HOSTILE)
    assert not set(text) & {"\x1b", "\u202e", "\r"}
    assert all(line.isprintable() for line in text.splitlines())


def test_findings_frame_is_ready_to_save(findings):
    """One row a finding, gravest first, all text."""
    frame = findings_frame(findings)
    assert len(frame) == len(findings)
    assert list(frame["severity"].unique()) == ["critical", "major", "minor", "note"]
    assert list(frame.columns)[:2] == ["severity", "check"]
    assert all(isinstance(cell, str) for cell in frame.to_numpy().ravel())


def test_reports_are_the_same_every_time(findings):
    """Two audits give the same bytes."""
    again = published_audit.deepseek_findings()
    assert findings_text(again, "t") == findings_text(published_audit.deepseek_findings(), "t")
    assert set(again) <= set(findings)


# --- The section of the paper --------------------------------------------------------------------


def test_findings_table_names_place_and_standing(findings):
    """The table of findings keeps their order and says where, what and how far."""
    table = findings_table(findings, "name", "title")
    assert list(table.shown["Finding"]) == [f.check for f in findings]
    assert table.shown["Where"].str.contains("Table|Health|Clinician").all()
    assert set(table.shown["Standing"]) == set(KINDS)
    assert table.data["severity"].iloc[0] == "critical"


def test_recomputed_table_shows_both_formulas():
    """Table 9 stands beside the stated formula and the one that fits; Table 4 has no such one."""
    deepseek = recomputed_table("Table 9", "Weighted Avg", "n")
    assert list(deepseek.shown["other formula"]) == ["70.085", "75.992", "75.824", "74.105"]
    assert list(deepseek.shown["recomputed"]) == ["79.024", "85.385", "85.624", "83.352"]
    assert "DA count 0; divided by 47.5" in deepseek.note
    main = recomputed_table("Table 4", "Weighted", "n")
    assert "other formula" not in main.data
    assert list(main.shown["difference"])[1] == "-0.094"


def test_system_correlations_table_is_exact():
    """Both correlations stand with and without GPT-5, with whole-number p-values."""
    table = system_correlations_table()
    assert list(table.shown["Systems"]) == ["all", "without GPT-5"] * 2
    assert list(table.shown["r"]) == ["0.845", "0.350", "-0.553", "-0.319"]
    assert list(table.shown["Exact p"]) == [
        "34 of 720 = 0.047",
        "72 of 120 = 0.600",
        "3,297,002 of 39,916,800 = 0.083",
        "1,346,247 of 3,628,800 = 0.371",
    ]


def test_notebook_saves_each_section_once():
    """The notebook of the audit is fit to run, and each artefact has one name."""
    notebook = read_notebook(ROOT / "notebooks" / "11-published-audit.ipynb")
    assert notebook.parameters == ("study", "out", "resamples", "seed")
    assert len(set(notebook.outputs)) == len(notebook.outputs) == 44


def test_a_table_of_this_package_can_be_audited(tmp_path):
    """One row a system and metric is read as one row a system; unequal numbers of sources are named."""
    scores = dict.fromkeys(CODES, 4.0) | {"CR": 3.5, "average": 31.5 / 8}
    scores["weighted"] = 100 * (1.5 * (3.5 + 8) + 20) / 47.5
    file = tmp_path / "table-04.csv"
    lines = [
        f"{system},{name},{value:.12g},10" for system in "ab" for name, value in scores.items()
    ]
    file.write_text("\n".join(["system,column,value,n", *lines]), encoding="utf-8")
    frame = read_leaderboard(file)
    assert list(frame.index) == ["a", "b"]
    assert set(frame.columns) == {*CODES, "Avg", "Weighted", "n"}
    assert not [f for f in audit_table(frame) if "copied" not in str(f) and "Weighted" in str(f)]
    file.write_text(file.read_text("utf-8").replace("b,FA,4,10", "b,FA,4,9"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"line 13, field 'n': the means of 'b' are over 10 and 9"):
        read_leaderboard(file)
