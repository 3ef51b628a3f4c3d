"""Which cited pages count."""

import pandas as pd

from sourcebench.selection import select_sources


def cited(*rows):
    """Return citations of one system and query: (run, rank, url)."""
    return pd.DataFrame(
        [("a", "q", r, k, u) for r, k, u in rows],
        columns=["system", "query_id", "run", "rank", "url"],
    )


def test_runs_are_merged_and_ordered():
    """Pages cited by more runs come first, then those with the better mean rank."""
    rows = cited((1, 1, "x"), (1, 2, "y"), (1, 3, "z"), (2, 1, "y"), (2, 2, "w"))
    chosen = select_sources(rows, 3, str)
    assert chosen["page_id"].tolist() == ["y", "x", "w"]
    assert chosen["runs"].tolist() == [2, 1, 1]
    assert chosen["position"].tolist() == [1, 2, 3]


def test_spellings_of_one_page_count_once():
    """A page cited twice in a run counts once, at its better rank, under its first address."""
    rows = cited((1, 1, "p?utm=1"), (1, 2, "q"), (1, 3, "p"))
    chosen = select_sources(rows, 5, lambda url: url.split("?")[0])
    assert chosen[["page_id", "url"]].to_numpy().tolist() == [["p", "p?utm=1"], ["q", "q"]]


def test_order_of_the_file_does_not_matter():
    """Shuffled citations select the same sources."""
    rows = cited((1, 1, "b"), (1, 2, "a"), (2, 1, "a"), (2, 2, "b"))
    pd.testing.assert_frame_equal(
        select_sources(rows, 5, str), select_sources(rows.iloc[::-1], 5, str)
    )


def test_no_citations_select_nothing():
    """A study without citations has no sources, not an error."""
    assert select_sources(cited(), 5, str).empty
