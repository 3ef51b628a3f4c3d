"""The numbers that the two papers print, cell by cell, as they are printed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

DATA = Path(__file__).resolve().parents[1] / "data"
PAPERS = ("sourcebench", "sourcecheckup")
COLUMNS = ("paper", "table", "row", "column", "value", "unit", "printed")

# Table 8 shortens the names that the other tables spell out. Gemini 2.5 Flash is in no other table.
FULL_NAMES = {
    "Grok-4.1": "Grok-4.1-Fast",
    "Gem-3-pr": "Gemini-3-Pro",
    "Gem-3-Fl": "Gemini-3-Flash",
    "Gem-2.5-Fl": "Gemini-2.5-Flash",
    "Plxty": "Perplexity-Sonar-Pro",
    "Claude": "Claude-Sonnet-4.5",
}


def load_published(paper: str | None = None, table: str | int | None = None) -> pd.DataFrame:
    """Return the published cells as a tidy frame, in printed order.

    Parameters
    ----------
    paper : str, optional
        ``"sourcebench"`` or ``"sourcecheckup"``; both when left out.
    table : str or int, optional
        A table as it is named in the data, such as ``"Table 4"`` (``4`` and ``"4"`` mean the same)
        or ``"HealthSearchQA"``; all tables when left out.

    Returns
    -------
    DataFrame
        Columns paper, table, row, column (text), value (float, NaN where the cell is text), unit
        (text) and printed (the exact printed text). `data/published/README.md` defines them.

    Raises
    ------
    ValueError
        If the paper or table is unknown, or the repository's data folder is missing.
    """
    import pandas as pd

    if paper is not None and paper not in PAPERS:
        raise ValueError(f"paper must be one of {', '.join(PAPERS)}, but {paper!r} was asked for")
    cells = pd.concat([_read(name) for name in PAPERS if paper in (None, name)], ignore_index=True)
    if table is None:
        return cells
    name = f"Table {table}" if str(table).isdigit() else str(table)
    chosen = cells[cells["table"] == name]
    if chosen.empty:
        known = ", ".join(cells["table"].unique())
        raise ValueError(f"no published table is named {name!r}; there are: {known}")
    return chosen.reset_index(drop=True)


def published_table(table: str | int, paper: str | None = None) -> pd.DataFrame:
    """Return one published table as printed: rows by columns, numbers as floats.

    Parameters
    ----------
    table : str or int
        As for `load_published`.
    paper : str, optional
        As for `load_published`; needed only if both papers name a table alike.

    Returns
    -------
    DataFrame
        Index `row`; a column of numbers is float, a column of text holds the printed text, and a
        cell that is not printed is missing. A table's caption is not part of it.
    """
    cells = load_published(paper, table)
    cells = cells[cells["row"] != "caption"]
    wide = {}
    for column, group in cells.groupby("column", sort=False):
        field = "printed" if group["value"].isna().all() else "value"
        wide[column] = group.set_index("row")[field]
    return _framed(wide, cells["row"].unique())


def printed_table(table: str | int, paper: str | None = None) -> pd.DataFrame:
    """Return one published table as printed text, so that trailing zeros are kept.

    The precision of a printed number is part of what an audit needs: 4.490 says more than 4.49.
    A cell that is not printed is an empty string.
    """
    cells = load_published(paper, table)
    cells = cells[cells["row"] != "caption"]
    wide = {
        column: group.set_index("row")["printed"]
        for column, group in cells.groupby("column", sort=False)
    }
    return _framed(wide, cells["row"].unique()).fillna("")


def _framed(columns: dict[str, pd.Series], rows: list[str]) -> pd.DataFrame:
    """Join columns into a frame whose rows are in printed order."""
    import pandas as pd

    frame = pd.DataFrame(columns).reindex(rows)
    return frame.rename_axis("row")


def _read(paper: str) -> pd.DataFrame:
    """Read one paper's cells and check their columns."""
    import pandas as pd

    path = DATA / "published" / f"{paper}.csv"
    if not path.is_file():
        raise ValueError(
            f"{path}: the published numbers are missing; they are part of the repository, so "
            "install from a checkout (pip install -e .) or restore the data folder"
        )
    cells = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    if tuple(cells.columns) != COLUMNS:
        raise ValueError(
            f"{path}: expected the columns {', '.join(COLUMNS)}, found {', '.join(cells.columns)}"
        )
    cells["value"] = pd.to_numeric(cells["value"].replace("", None))
    return cells
