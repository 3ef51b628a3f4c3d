"""Promises of the canonical form of addresses."""

import csv

import pytest

from sourcebench.urls import canonical_url, page_id, site


def test_groups_of_variants(shared):
    """Spellings of one page get one identity, and different pages different ones."""
    with (shared / "cases/A-04-url-variants/groups.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    ids = {(row["group"], page_id(row["url"])) for row in rows}
    assert len(ids) == len({group for group, _ in ids}) == len({key for _, key in ids}) == 9


@pytest.mark.parametrize(
    "url",
    ["not a url", "http://", "https://[::1", "https://ex\ud800.org/", "https://a b.org/", ""],
)
def test_not_an_address(url):
    """A text that is no address is a clear error, yet countable: it has an identity and no site."""
    with pytest.raises(ValueError, match="not a web address"):
        canonical_url(url)
    assert len(page_id(url)) == 16
    assert site(url) == ""
