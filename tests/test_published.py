"""The published numbers: two independent readings agree, and the loaders return what is printed."""

import re

import pandas as pd
import pytest

from sourcebench import published
from sourcebench.published import (
    COLUMNS,
    FULL_NAMES,
    load_published,
    printed_table,
    published_table,
)

PAPER = "000_892bed84e721dc7a.txt"
CHECKUP = "003_38446ee983063c2d.txt"
DATA_TABLES = ("Table 1", "Table 4", "Table 5", "Table 6", "Table 7", "Table 8", "Table 9")
PROMPT_CODES = {
    "Relevance": "CR",
    "Accuracy": "FA",
    "Tone": "NE",
    "Freshness": "FR",
    "Accountability": "AA",
    "Transparency": "OA",
    "Domain": "DA",
    "Layout & Ad Density": "LC",
}


def _machine_tables(text: str) -> dict[str, list[list[str]]]:
    """Read every captioned markdown table of the seed: name to rows, header first."""
    tables, block = {}, []
    for line in text.splitlines():
        if line.startswith("|"):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if set("".join(cells)) - set("- "):
                block.append(cells)
        elif caption := re.match(r"(Table \d+)\s*:", line):
            tables[caption[1]], block = block, []
    return tables


def _machine_cells(name: str, rows: list[list[str]]) -> dict[tuple[str, str, str], str]:
    """Turn one machine-read table into cells keyed by table, row and column."""
    header = rows[0][1:]
    repeated = header.index("DA") if header.count("DA") == 2 else None
    cells = {}
    for label, *values in rows[1:]:
        if label == "Total":
            cells[name, label, "Count"] = values[0]
            continue
        for position, (column, value) in enumerate(zip(header, values, strict=True)):
            column = "Dispute Awareness" if position == repeated else column
            assert (name, label, column) not in cells
            cells[name, label, column] = value
    return cells


def _hand_cells(frame: pd.DataFrame) -> dict[tuple[str, str, str], str]:
    """Return the transcribed cells without captions, keyed as the machine's."""
    body = frame[frame["row"] != "caption"]
    return {(c.table, c.row, c.column): c.printed for c in body.itertuples()}


@pytest.fixture(scope="module")
def paper_text(shared) -> str:
    """Return the text of the SourceBench seed."""
    return (shared / "seeds" / PAPER).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def checkup_text(shared) -> str:
    """Return the text of the SourceCheckup seed."""
    return (shared / "seeds" / CHECKUP).read_text(encoding="utf-8")


@pytest.mark.parametrize("table", DATA_TABLES)
def test_tables_agree_with_a_machine_reading_cell_by_cell(table, paper_text):
    """A second reading of the source text gives the same cells, no more and no fewer."""
    machine = _machine_cells(table, _machine_tables(paper_text)[table])
    assert _hand_cells(load_published("sourcebench", table)) == machine


def test_every_table_with_values_is_transcribed(paper_text):
    """No numbered table of the source is missing except Table 3, which prints no value."""
    printed = set(_machine_tables(paper_text))
    assert printed - set(load_published("sourcebench")["table"]) == {"Table 3"}
    assert _machine_tables(paper_text)["Table 3"][1] == ["MAE"]


def _machine_examples(text: str) -> set[tuple[str, str, str]]:
    """Read the scores of the calibration examples out of the prompts."""
    found = set()
    names = "|".join(map(re.escape, PROMPT_CODES))
    for example in re.split(r"(?=\bEx(?:ample)? \d \(|\bEx(?:ample)? \d: )", text)[1:]:
        title = re.match(r"(Ex(?:ample)? \d)[^(]*\(([^)]*)\)", example)
        for metric, score in re.findall(rf"({names}): (\d)", example):
            found.add((f"{title[1]} ({title[2]})", PROMPT_CODES[metric], score))
    return found


def test_calibration_scores_agree_with_a_machine_reading(paper_text):
    """The scores of all ten calibration examples are those in the prompts."""
    cells = load_published("sourcebench")
    hand = cells[cells["table"].str.startswith("Prompt") & cells["row"].str.startswith("Ex")]
    machine = _machine_examples(paper_text)
    assert len(machine) == 28
    assert set(zip(hand["row"], hand["column"], hand["printed"], strict=True)) == machine


def test_numbers_outside_tables_stand_in_the_source(paper_text):
    """Abstract, captions and thresholds quote the source word for word."""
    abstract = paper_text.split("Abstract")[1].split("Figures & tables")[0]
    cells = load_published("sourcebench")
    for cell in cells[cells["table"] == "Abstract"].itertuples():
        assert re.search(rf"\b{re.escape(cell.printed)}\b", abstract), cell
    captions = cells[cells["row"] == "caption"]
    for cell in captions.itertuples():
        caption = re.search(rf"^{cell.table}\s*: .*$", paper_text, flags=re.MULTILINE)[0]
        assert cell.printed in caption, cell
    limits = cells[cells["unit"].isin(["characters", "months", "years", "year"])]
    assert len(limits) == 16
    for cell in limits.itertuples():
        assert cell.printed in paper_text, cell


def test_abstract_counts_match_their_words(paper_text):
    """Counts spelled out in the abstract have the value of the word."""
    words = {"eight": 8.0, "three": 3.0, "four": 4.0}
    cells = load_published("sourcebench", "Abstract")
    for cell in cells.itertuples():
        assert cell.value == words.get(cell.printed) or cell.value == float(cell.printed)


NUMBER = r"(\d+(?:\.\d+)?)"
CHECKUP_PATTERNS = {
    rf"random subset of {NUMBER} consumer": [("HealthSearchQA", "questions", "n")],
    rf"valid in {NUMBER}% of cases": [("HealthSearchQA", "URL validity", "rate")],
    rf"same response\) was {NUMBER}% \({NUMBER}% CI {NUMBER}-{NUMBER}\)": [
        ("HealthSearchQA", "Statement support", "rate"),
        ("HealthSearchQA", "intervals", "level"),
        ("HealthSearchQA", "Statement support", "ci_low"),
        ("HealthSearchQA", "Statement support", "ci_high"),
    ],
    rf"is supported\) was {NUMBER}% \({NUMBER}% CI {NUMBER}-{NUMBER}\)": [
        ("HealthSearchQA", "Response support", "rate"),
        ("HealthSearchQA", "intervals", "level"),
        ("HealthSearchQA", "Response support", "ci_low"),
        ("HealthSearchQA", "Response support", "ci_high"),
    ],
    rf"main set of {NUMBER} questions .* printed as {NUMBER}%: close to {NUMBER}% on the "
    rf"{NUMBER} questions .* and {NUMBER}% \({NUMBER}, {NUMBER}\) on the {NUMBER} questions": [
        ("Main set", "All questions", "n"),
        ("Main set", "All questions", "rate"),
        ("Main set", "Mayo Clinic", "rate"),
        ("Main set", "Mayo Clinic", "n"),
        ("Main set", "Reddit r/AskDocs", "rate"),
        ("Main set", "Reddit r/AskDocs", "ci_low"),
        ("Main set", "Reddit r/AskDocs", "ci_high"),
        ("Main set", "Reddit r/AskDocs", "n"),
    ],
    rf"on {NUMBER} HealthSearchQA questions a human clinician rated {NUMBER}% "
    rf"\({NUMBER}, {NUMBER}\) .* against {NUMBER}% \({NUMBER}, {NUMBER}\)": [
        ("Clinician check", "questions", "n"),
        ("Clinician check", "Clinician", "rate"),
        ("Clinician check", "Clinician", "ci_low"),
        ("Clinician check", "Clinician", "ci_high"),
        ("Clinician check", "Pipeline", "rate"),
        ("Clinician check", "Pipeline", "ci_low"),
        ("Clinician check", "Pipeline", "ci_high"),
    ],
    rf"doctors on {NUMBER} pairs \({NUMBER}% agreement": [
        ("Judge check", "pairs", "n"),
        ("Judge check", "Agreement with consensus", "rate"),
    ],
}


def test_sourcecheckup_rates_agree_with_a_machine_reading(checkup_text):
    """Rates, intervals and sample sizes are those in the running text."""
    cells = load_published("sourcecheckup")
    hand = {(c.table, c.row, c.column): c.value for c in cells.itertuples()}
    machine = {}
    for pattern, keys in CHECKUP_PATTERNS.items():
        numbers = re.search(pattern, checkup_text).groups()
        machine |= dict(zip(keys, map(float, numbers), strict=True))
    in_words = {key for key in hand if key[0] == "In words"}
    assert in_words == {key for key in hand if key not in machine} - {
        ("Judge check", "doctors", "n")
    }
    assert {key: hand[key] for key in machine} == machine
    for cell in cells[cells["table"] == "In words"].itertuples():
        assert cell.printed in checkup_text


def test_values_are_the_printed_numbers():
    """A value is its printed text read as a number; a text cell has none; no cell comes twice."""
    cells = load_published()
    assert tuple(cells.columns) == COLUMNS
    assert not cells.duplicated(["paper", "table", "row", "column"]).any()
    assert (cells["value"].isna() == (cells["unit"] == "text")).all()
    plain = cells[cells["printed"].str.fullmatch(r"\d+(\.\d+)?%?")]
    assert len(plain) > 300
    assert (plain["printed"].str.rstrip("%").astype(float) == plain["value"]).all()
    assert not cells[["row", "column", "unit", "printed"]].eq("").any().any()


def test_published_table_is_wide_and_in_printed_order():
    """A wide table has the printed rows and columns, numbers as floats, and no caption."""
    leaderboard = published_table(4)
    assert list(leaderboard.index)[:3] == ["GPT-5", "Grok-4.1-Fast", "GPT-4o"]
    assert list(leaderboard.columns)[-3:] == ["Avg", "Weighted", "Rank"]
    assert leaderboard.loc["GPT-5", "Weighted"] == 89.081
    assert leaderboard.shape == (6, 11)
    assert published_table("Table 4").equals(published_table("4"))


def test_published_table_keeps_text_columns_and_missing_cells():
    """Text stays text beside numbers, and a cell that is not printed is missing."""
    queries = published_table(1)
    assert queries.loc["Reasoning", "Count"] == 20
    assert queries.loc["Reasoning", "Source"].startswith("HotpotQA")
    assert pd.isna(queries.loc["Total", "Source"])


def test_printed_table_keeps_trailing_zeros():
    """The precision of a printed number survives."""
    assert printed_table(4).loc["GPT-5", "FR"] == "4.490"
    assert printed_table(6).loc["Grok-4.1-Fast", "Answer Score"] == "10.00%"


def test_short_names_of_table_8_lead_to_the_same_weighted_scores():
    """Spelled-out names join Table 8 to the tables that print the same weighted score."""
    short = published_table(8).rename(columns=FULL_NAMES).loc["W. Source"]
    for table in (4, 6, 7):
        wide = published_table(table)
        column = wide["Weighted"] if table == 4 else wide["Weighted Source"]
        assert (short[column.index] == column).all()


@pytest.mark.parametrize(
    ("paper", "table", "message"),
    [
        ("nature", None, "paper must be one of sourcebench, sourcecheckup"),
        ("sourcebench", 3, "no published table is named 'Table 3'"),
        ("sourcecheckup", 4, "there are: HealthSearchQA"),
    ],
)
def test_unknown_papers_and_tables_are_named(paper, table, message):
    """A wrong name is one error that lists the right ones."""
    with pytest.raises(ValueError, match=message):
        load_published(paper, table)


def test_a_missing_data_folder_is_one_clear_error(monkeypatch, tmp_path):
    """Without the repository's data folder the error says which file and what to do."""
    monkeypatch.setattr(published, "DATA", tmp_path)
    with pytest.raises(ValueError, match=r"sourcebench.csv: the published numbers are missing"):
        load_published()


def test_a_damaged_data_file_is_one_clear_error(monkeypatch, tmp_path):
    """A file with other columns is refused, with the columns that were expected."""
    (tmp_path / "published").mkdir()
    (tmp_path / "published" / "sourcebench.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    monkeypatch.setattr(published, "DATA", tmp_path)
    with pytest.raises(ValueError, match="expected the columns paper, table, row"):
        load_published("sourcebench")
