"""People label what chance picked, blind to system and judge, and their sheet comes back checked."""

import csv

import pytest
from click.testing import CliRunner
from studies import tiny_study

from sourcebench.cli import main
from sourcebench.labelling import SHEET_COLUMNS, draw_sheet, rubric_text, take_sheet
from sourcebench.rubric import CODES, METRICS, QUERY_LEVEL
from sourcebench.score import load_sources
from sourcebench.sections.alignment import anchored_table, labelled_sources, readers
from sourcebench.study import Study, StudyError

PAGES = [f"p{n}" for n in range(8)]


def scored_study(folder) -> Study:
    """Write a study in which system s cites all eight pages for q1, and t the first four, for q1 and q2."""
    study = tiny_study(folder)
    packets = [
        {
            "page_id": p,
            "url": f"https://{p}.example.org/",
            "title": f"=Page {p}",
            "text": f"On {p}.",
            "published": {"date": "2026-05-28", "source": "meta", "strength": "strong"},
        }
        for p in PAGES
    ]
    study.save("packets", packets)
    cited = [("s", "q1", p) for p in PAGES] + [("t", q, p) for p in PAGES[:4] for q in ("q1", "q2")]
    rows = [
        {"judge": "rules", "system": s, "query_id": q, "page_id": p, "position": 1, "runs": 1}
        | {"outcome": "scored", "weighted": 60.0, **dict.fromkeys(CODES, 3)}
        for s, q, p in cited
    ]
    study.save("scores", rows)
    return study


def sheet_rows(path):
    """Return the rows of a sheet."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def fill(path, rows, **scores):
    """Write a sheet back with scores in it."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, SHEET_COLUMNS)
        writer.writeheader()
        writer.writerows([row | {code: scores.get(code, 4) for code in CODES} for row in rows])


def test_a_sheet_is_blind_and_complete(tmp_path):
    """It names no system and no score, holds no formula, and has the page and the rubric beside it."""
    study = scored_study(tmp_path / "study")
    assert draw_sheet(study, tmp_path / "sheet.csv", per_system=100) == 12  # 8 for q1, 4 for q2
    rows = sheet_rows(tmp_path / "sheet.csv")
    assert tuple(rows[0]) == SHEET_COLUMNS
    assert all(row[code] == "" for row in rows for code in CODES)
    assert all(row["title"].startswith("'=Page") for row in rows)
    whole = (tmp_path / "sheet.csv").read_text(encoding="utf-8")
    assert "rules" not in whole
    for row in rows:
        text = (tmp_path / row["text"]).read_text(encoding="utf-8")
        page = row["address"].removeprefix("https://").partition(".")[0]
        assert f"On {page}." in text
        assert "Published: 2026-05-28\n" in text
    rubric = (tmp_path / "sheet" / "rubric.txt").read_text(encoding="utf-8")
    assert rubric == rubric_text()
    for metric in METRICS:
        assert all(level.criterion in rubric for level in metric.levels)


def test_chance_picks_from_each_system_and_the_seed_repeats_it(tmp_path):
    """Every system has its own draw of the size asked for; the same seed draws the same."""
    one, two = (scored_study(tmp_path / name) for name in "ab")
    draw_sheet(one, tmp_path / "sheet.csv", per_system=3)
    (tmp_path / "again").mkdir()
    draw_sheet(two, tmp_path / "again" / "sheet.csv", per_system=3)
    drawn = one.load("drawn")
    assert drawn.equals(two.load("drawn"))
    assert drawn.groupby("system").size().to_dict() == {"s": 3, "t": 3}
    other = scored_study(tmp_path / "c")
    draw_sheet(other, tmp_path / "other.csv", per_system=3, seed=5)
    assert not other.load("drawn")["page_id"].equals(drawn["page_id"])
    with pytest.raises(StudyError, match="drawn already"):
        draw_sheet(one, tmp_path / "sheet.csv")


def test_a_filled_sheet_becomes_labels(tmp_path):
    """Page-level labels carry no query, empty fields are no labels, and taking it twice adds nothing."""
    study = scored_study(tmp_path / "study")
    draw_sheet(study, tmp_path / "sheet.csv", per_system=100)
    rows = sheet_rows(tmp_path / "sheet.csv")
    fill(tmp_path / "sheet-anna.csv", rows, CR="", LC="5.0")
    for _ in range(2):
        count = take_sheet(study, tmp_path / "sheet-anna.csv", "anna")
        labels = study.load("labels")
        assert (
            len(labels) == count == 2 * 12 + 5 * 8
        )  # FA, NE each question; five metrics each page
    assert set(labels["annotator"]) == {"anna"}
    assert "CR" not in set(labels["metric"])
    assert labels.loc[labels["metric"] == "LC", "score"].tolist() == [5] * 8
    by_page = labels[~labels["metric"].isin(QUERY_LEVEL)]
    assert by_page["query_id"].isna().all()


def test_labels_of_a_draw_correct_their_own_system(tmp_path):
    """A source that another system drew is no label of this one; the note says that chance picked."""
    study = scored_study(tmp_path / "study")
    draw_sheet(study, tmp_path / "sheet.csv", per_system=3)
    fill(tmp_path / "sheet.csv", sheet_rows(tmp_path / "sheet.csv"))
    take_sheet(study, tmp_path / "sheet.csv", "anna")
    frame = labelled_sources(study, load_sources(study))
    assert frame.groupby("system")["label"].count().to_dict() == {"s": 3, "t": 3}
    note = anchored_table(study, load_sources(study)).note
    assert "drawn at random from each system's own (6 drawn)" in note
    assert "Warning" not in note
    labels = study.load("labels")
    study.save("labels", [*labels.iloc[1:].astype(object).to_dict(orient="records")])
    note = anchored_table(study, load_sources(study)).note
    assert "lack a label on some metric" in note


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"CR": "6"}, r"row 2, column CR: must be a whole number from 1 to 5, found '6'"),
        ({"LC": "4,5"}, r"row 2, column LC: must be a whole number"),
        ({"NE": "good"}, r"row 2, column NE: must be a whole number"),
        ({"item": "9999"}, r"row 2, column item: '9999' is not on this sheet"),
        ({"item": "2"}, r"row 3, column item: '0002' stands twice"),
        ({"FR": "1"}, r"row \d+, column FR: 4, but 1 for the same page in row 2"),
    ],
)
def test_a_wrong_field_is_named(tmp_path, change, message):
    """One error names file, row and column; nothing of the sheet is taken."""
    study = scored_study(tmp_path / "study")
    draw_sheet(study, tmp_path / "sheet.csv", per_system=100)
    rows = sorted(sheet_rows(tmp_path / "sheet.csv"), key=lambda row: row["item"])
    first = rows[0]["address"]
    if "FR" in change:  # the page that stands there twice
        counts = [row["address"] for row in rows]
        first = next(address for address in counts if counts.count(address) > 1)
        rows.sort(key=lambda row: row["address"] != first)
    fill(tmp_path / "sheet.csv", rows)
    filled = sheet_rows(tmp_path / "sheet.csv")
    filled[0] |= change
    with (tmp_path / "sheet.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, SHEET_COLUMNS)
        writer.writeheader()
        writer.writerows(filled)
    with pytest.raises(StudyError, match=message):
        take_sheet(study, tmp_path / "sheet.csv", "anna")
    assert not study.has("labels")


def test_a_second_reading_takes_another_name(tmp_path):
    """A label that is there is never overwritten by a different one."""
    study = scored_study(tmp_path / "study")
    draw_sheet(study, tmp_path / "sheet.csv")
    rows = sheet_rows(tmp_path / "sheet.csv")
    fill(tmp_path / "sheet.csv", rows)
    take_sheet(study, tmp_path / "sheet.csv", "anna")
    fill(tmp_path / "sheet.csv", rows, CR=2)
    with pytest.raises(StudyError, match="take another name"):
        take_sheet(study, tmp_path / "sheet.csv", "anna")
    take_sheet(study, tmp_path / "sheet.csv", "bob")
    study.save(
        "labels",
        [
            *study.load("labels").astype(object).to_dict(orient="records"),
            {"annotator": "page-author", "page_id": "p0", "metric": "FR", "score": 3},
        ],
    )
    assert readers(study) == ["anna", "bob", "page-author"]


def test_the_commands_draw_and_take(tmp_path):
    """Both steps run from the command line, and an unknown sheet is refused in one line."""
    study = scored_study(tmp_path / "study")
    sheet = tmp_path / "first.csv"
    drawn = CliRunner().invoke(main, ["labels", "draw", str(study.folder), str(sheet)])
    assert drawn.exit_code == 0, drawn.output
    assert "labels take" in drawn.output
    fill(sheet, sheet_rows(sheet))
    known = ["labels", "take", str(study.folder), str(sheet), "--annotator", "anna"]
    taken = CliRunner().invoke(main, known)
    assert taken.exit_code == 0, taken.output
    assert "labels by anna" in taken.output
    sheet.rename(tmp_path / "other.csv")
    wrong = CliRunner().invoke(main, [*known[:3], str(tmp_path / "other.csv"), *known[4:]])
    assert wrong.exit_code == 1
    assert "sheets of this study: first" in wrong.output


def test_a_sheet_that_nobody_filled_does_not_count(tmp_path):
    """A second draw that was never filled in changes neither labels nor the note."""
    study = scored_study(tmp_path / "study")
    draw_sheet(study, tmp_path / "one.csv", per_system=2, seed=1)
    fill(tmp_path / "one.csv", sheet_rows(tmp_path / "one.csv"))
    take_sheet(study, tmp_path / "one.csv", "anna")
    before = anchored_table(study, load_sources(study))
    labels = study.load("labels")
    other = next(
        seed
        for seed in range(100)
        if not _pages_drawn(tmp_path / str(seed), seed) & set(labels["page_id"])
    )
    draw_sheet(study, tmp_path / "two.csv", per_system=1, seed=other)
    after = anchored_table(study, load_sources(study))
    assert after.note == before.note
    assert after.data.equals(before.data)


def _pages_drawn(folder, seed):
    """Return the pages that a seed draws, one a system."""
    study = scored_study(folder)
    draw_sheet(study, folder / "sheet.csv", per_system=1, seed=seed)
    return set(study.load("drawn")["page_id"])


def test_every_fault_of_a_sheet_is_listed(tmp_path):
    """Two wrong fields are two lines."""
    study = scored_study(tmp_path / "study")
    draw_sheet(study, tmp_path / "sheet.csv")
    fill(tmp_path / "sheet.csv", sheet_rows(tmp_path / "sheet.csv"), CR=7, FA="x")
    with pytest.raises(StudyError) as raised:
        take_sheet(study, tmp_path / "sheet.csv", "anna")
    lines = str(raised.value).splitlines()
    assert len(lines) == 2 * 12
    assert all("column CR" in line or "column FA" in line for line in lines)
