"""Support by the published rules and by stricter ones, on a study that can be counted by hand."""

import math

import pytest
from supportstudy import Told, page, support_study

from sourcebench.statistics.intervals import cluster_mean
from sourcebench.support import load_support, verify_study
from sourcebench.support.measures import (
    any_source_inflation,
    calls_of,
    citation_values,
    response_values,
    statement_values,
    support_estimates,
    url_values,
)

ONE = "The river fell by eleven centimetres."
TWO = "The old mill was closed in spring."
THREE = "The bridge is open again since May."


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """Return the verdicts on five responses.

    q1 states three things, citing a, b and the dead d in turn; page a backs the first two. q2 cites
    the dead page alone, q3 nothing, q4 is empty, q5 asks back.
    """
    answers = {
        "q1": f"{ONE} {{a}} {TWO} {{b}} {THREE} {{d}}",
        "q2": f"{ONE} {{d}} {TWO} {{d}}",
        "q3": ONE,
        "q4": "",
        "q5": "What would you like to know {a}?",
    }
    study = support_study(
        tmp_path_factory.mktemp("counted"),
        answers,
        {"a": "Page a is long.", "b": "Page b is too."},
        dead="d",
    )
    verify_study(study, verifiers=[Told({(ONE, page("a")), (TWO, page("a"))})])
    return study, load_support(study, "told")


@pytest.mark.parametrize(
    ("rule", "reading", "supported", "n"),
    [("any", "reachable", 2, 3), ("any", "strict", 2, 6), ("cited", "reachable", 1, 2), ("cited", "strict", 1, 6)],
)  # fmt: skip
def test_statement_support_under_each_rule(counted, rule, reading, supported, n):
    """Any source backs two of q1's three; at the citation only one; dead ends leave or stay as the reading says."""
    values = statement_values(counted[1], rule, reading)
    assert (values["value"].sum(), values["value"].notna().sum(), len(values)) == (supported, n, 6)


@pytest.mark.parametrize(("reading", "n"), [("reachable", 1), ("strict", 3)])
def test_response_support_and_dropped_responses(counted, reading, n):
    """The published reading drops the responses without a page; the strict one counts them as unsupported."""
    values = response_values(counted[1], "any", reading)
    assert values["value"].sum() == 0
    assert (values["value"].notna().sum(), len(values)) == (n, 5)


def test_a_response_counts_if_all_of_it_is_supported(tmp_path):
    """With both statements backed by some page the response is supported, at its citations it is not."""
    study = support_study(
        tmp_path, {"q1": f"{ONE} {{a}} {TWO} {{b}}"}, {"a": "Page.", "b": "Page."}
    )
    verify_study(study, verifiers=[Told({(ONE, page("a")), (TWO, page("a"))})])
    support = load_support(study, "told")
    assert response_values(support, "any", "strict")["value"].tolist() == [1.0]
    assert response_values(support, "cited", "strict")["value"].tolist() == [0.0]


def test_url_validity(counted):
    """Three of five addresses answer with a text; the dead ones are not refused but gone."""
    assert url_values(counted[1])["value"].tolist() == [1, 1, 0, 0, 1]
    assert url_values(counted[1], "refused")["value"].sum() == 0


def test_refused_pages_are_apart_from_dead_ones(tmp_path):
    """A page that refuses us is live; it is neither valid nor counted with the dead."""
    study = support_study(tmp_path, {"q1": f"{ONE} {{a}} {TWO} {{d}}"}, {"a": "Page."}, dead="d")
    fetches = study.load("fetches")
    fetches.loc[fetches["page_id"] == page("d"), ["outcome", "status"]] = ["refused", 403]
    study.save("fetches", fetches)
    verify_study(study, verifiers=[Told()])
    support = load_support(study, "told")
    assert url_values(support)["value"].tolist() == [1, 0]
    assert url_values(support, "refused")["value"].tolist() == [0, 1]


def test_citation_precision(counted):
    """Of the citations whose page could be read, a's backs its statement and b's does not."""
    values = citation_values(counted[1])
    assert sorted(values["value"].dropna()) == [0, 1]
    assert len(values) == 5


def test_estimates_are_those_of_the_ratio_estimator(counted):
    """The table holds the clustered share, what is left out, and the mean over queries beside it."""
    study, support = counted
    queries = study.load("queries")
    table = support_estimates(support, queries)
    row = table[(table["measure"] == "statement") & (table["rule"] == "any")].set_index("reading")
    direct = cluster_mean(
        statement_values(support, "any", "strict"), "value", queries=queries, limits=(0, 1)
    )
    assert row.loc["strict", "value"] == direct.value == pytest.approx(2 / 6)
    assert row.loc["strict", "low"] == direct.low
    assert row.loc["reachable", "dropped"] == 3
    assert row.loc["strict", "per_query"] == pytest.approx((2 / 3 + 0 + 0) / 3)


def test_any_source_inflates_false_verdicts(tmp_path):
    """With m pages that back nothing, an error rate f becomes 1 - (1 - f)^m."""
    names = ("a", "b", "c", "d", "e")
    text = f"{ONE} " + " ".join(f"{{{n}}}" for n in names)
    study = support_study(tmp_path, {"q1": text}, dict.fromkeys(names, "A page."))
    verify_study(study, verifiers=[Told()])
    table = any_source_inflation(load_support(study, "told"), 0.12)
    assert table["sources"].item() == 5
    assert (
        table["any_source"].item() == pytest.approx(1 - 0.88**5) == pytest.approx(0.472, abs=5e-4)
    )


def test_calls_are_counted_as_the_published_program_makes_them(counted):
    """Its calls are statements times sources plus one a response; ours are distinct pairs."""
    calls = calls_of(counted[1]).iloc[0]
    assert calls["statements_x_sources"] == 3 * 3 + 2 * 1
    assert calls["published_calls"] == 11 + 5
    assert calls["distinct_pairs"] == 3 * 3  # q2 says on page d what q1 says


def test_what_is_not_there_is_missing(tmp_path):
    """A study in which nothing could be verified has no share, and never 0."""
    study = support_study(tmp_path, {"q1": f"{ONE} {{d}}"}, {}, dead="d")
    verify_study(study, verifiers=[Told()])
    table = support_estimates(load_support(study, "told"), study.load("queries"))
    row = table[(table["measure"] == "statement") & (table["reading"] == "reachable")]
    assert all(math.isnan(v) for v in row["value"])
