"""Where a study stands, and all that is known of one source."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sourcebench.collect.listing import url_fault
from sourcebench.records import JUDGED_PAGES, SCORED, Packet
from sourcebench.urls import canonical_url, page_id

NO_ANSWER = ("failed", "refused", "empty")  # outcomes of answers that say nothing

if TYPE_CHECKING:
    import pandas as pd

    from sourcebench.study import Study


def status(study: Study) -> str:
    """Return the way from answers to scores as text: how many at each step, and what was lost why.

    Parameters
    ----------
    study
        Any study; stages that have not run count as nothing yet.
    """
    return "\n".join(f"{step:<12}{text}" for step, text in _steps(study))


def _steps(study: Study) -> Iterator[tuple[str, str]]:
    """Yield each step of the funnel with its counts."""
    answers, citations = study.load("answers"), study.load("citations")
    yield "queries", str(len(study.load("queries")))
    yield "answers", f"{len(answers)} ({_counts(answers['outcome'])})" if len(answers) else "0"
    pages = citations["url"].map(page_id).unique()
    yield "cited", f"{len(citations)} citations of {len(pages)} pages"
    for step, table in (("fetched", "fetches"), ("extracted", "pages")):
        rows = study.load(table)
        yield step, f"{len(rows)} of {len(pages)} pages{_listed(rows['outcome'])}"
    yield "judged", _judged(study)
    scores = study.load("scores")
    for judge, rows in scores.groupby("judge"):
        whole = int(rows["weighted"].notna().sum())
        yield "scored", f"{judge}: {whole} of {len(rows)} sources{_listed(rows['outcome'])}"
    for table in ("answers", "fetches", "pages"):
        rows = study.load(table)
        failed = rows["outcome"].isin(NO_ANSWER)
        failed = failed if table == "answers" else ~rows["outcome"].isin(JUDGED_PAGES)
        lost = rows[failed & rows["reason"].notna()]
        for reason, count in lost["reason"].value_counts().head(5).items():
            yield "", f"{count} x {table}: {textwrap.shorten(str(reason), 90)}"


def left_to_read(study: Study) -> tuple[str, str]:
    """Return how many pages have to be fetched or read before they can be judged, and what to run.

    Parameters
    ----------
    study
        Any study.

    Returns
    -------
    said, run : str
        Both empty if every cited page was fetched, at least one came, and all that came are read.
    """
    fetches, packets = study.load("fetches"), study.load("packets")
    known = {row["page_id"]: row.get("fetched_at") or "" for row in packets["record"]}
    cited = set(study.load("citations")["url"].map(page_id))
    folder = shlex.quote(str(study.folder))
    if not cited and not known:
        return "no answer cites a page yet", f"sourcebench collect {folder}, or import answers"
    missing = cited - set(fetches["page_id"]) - known.keys()
    came = fetches[fetches["outcome"] == "ok"]
    times = came["fetched_at"].astype(object).where(came["fetched_at"].notna(), "")
    unread = dict(zip(came["page_id"], times, strict=True)).items() - known.items()
    said, steps = [], []
    if missing:
        said.append(f"{len(missing)} of {len(cited)} cited pages are not fetched")
        steps.append(f"sourcebench fetch {folder}")
    if unread:
        said.append(f"{len(unread)} of {len(came)} fetched pages are not read")
    if not said and len(fetches) and came.empty and not known:
        return "no page came back", f"sourcebench status {folder}, which says why"
    if not said:
        return "", ""
    steps.append(f"sourcebench extract {folder}")
    return " and ".join(said), f"{' and '.join(steps)}, or make paper STUDY={folder}"


def why(rows: pd.DataFrame, outcome: str) -> str:
    """Return the commonest reason of the rows with an outcome, shortened; nothing if none has one."""
    reasons = rows.loc[rows["outcome"] == outcome, "reason"].dropna().value_counts()
    return textwrap.shorten(_printable(str(reasons.index[0])), 160) if len(reasons) else ""


def _judged(study: Study) -> str:
    """Return how many verdicts there are, judge by judge."""
    rows = study.load("judgments")
    if rows.empty:
        return "0 verdicts"
    per_judge = [
        f"{judge}: {mine['outcome'].isin(SCORED).sum()} of {len(mine)} verdicts{_listed(mine['outcome'])}"
        for judge, mine in rows.groupby("judge")
    ]
    return "; ".join(per_judge)


def _counts(values: pd.Series) -> str:
    """Count the values of a column, most frequent first."""
    counts = values.value_counts().sort_index().sort_values(ascending=False, kind="stable")
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def _listed(values: pd.Series) -> str:
    """Return the counts of a column behind a colon, or nothing."""
    return f": {_counts(values)}" if len(values) else ""


def show(study: Study, url: str) -> str:
    """Return all that a study knows of one source, as text.

    Parameters
    ----------
    study
        Any study.
    url
        Any spelling of the address.

    Raises
    ------
    ValueError
        If it is no address, or no answer cites the page and nothing else is known of it.
    """
    key = page_id(url)
    parts = [
        ("cited", _citations(study, key)),
        ("fetched", _row(study, "fetches", key)),
        ("read as", _row(study, "pages", key)),
        ("text", _text(study, key)),
        ("verdicts", _scores(study, "judgments", key, "judge")),
        ("labels", _scores(study, "labels", key, "annotator")),
    ]
    if not any(lines for _, lines in parts):
        if fault := url_fault(url):
            raise ValueError(fault)
        raise ValueError(f"{study.folder}: nothing is known of {url} (page {key})")
    said = [canonical_url(url), f"page {key}"]
    said += [line for title, lines in parts if lines for line in ["", title, *lines]]
    return "\n".join(_printable(line) for line in said)


def _printable(line: str) -> str:
    """Replace what could steer a terminal: pages and models are not to be trusted with one."""
    return "".join(c if c.isprintable() else "\ufffd" for c in line)


def _citations(study: Study, key: str) -> list[str]:
    """Return who cites a page, for which query, under which address."""
    rows = study.load("citations")
    rows = rows[rows["url"].map(page_id) == key] if len(rows) else rows
    return [
        f"  {r.system}, {r.query_id}, run {r.run}, rank {r.rank}: {r.url}"
        for r in rows.itertuples(index=False)
    ]


def _row(study: Study, table: str, key: str) -> list[str]:
    """Return what a table says of a page, field by field."""
    import pandas as pd

    rows = study.load(table)
    rows = rows[rows["page_id"] == key]
    return [
        f"  {name}: {value}"
        for row in rows.to_dict(orient="records")
        for name, value in row.items()
        if name != "page_id" and not pd.isna(value)
    ]


def _text(study: Study, key: str) -> list[str]:
    """Return the authors and dates of a packet with their sources, and the start of its text."""
    rows = study.load("packets")
    records = rows.loc[rows["page_id"] == key, "record"].tolist()
    if not records:
        return []
    packet = Packet.from_dict(records[0])
    lines = [f"  author: {a.name} ({a.source}) {a.about}".rstrip() for a in packet.authors]
    for name in ("published", "modified"):
        dated = getattr(packet, name)
        if dated:
            lines.append(f"  {name}: {dated.date} ({dated.source}, {dated.strength})")
    start = textwrap.shorten(packet.text, 600, placeholder=" ...")
    return [*lines, *textwrap.wrap(start, 96, initial_indent="  ", subsequent_indent="  ")]


def _scores(study: Study, table: str, key: str, who: str) -> list[str]:
    """Return the verdicts or labels of a page."""
    rows = study.load(table)
    rows = rows[rows["page_id"] == key]
    return [f"  {_score_line(row, who)}" for row in rows.to_dict(orient="records")]


def _score_line(row: dict[str, Any], who: str) -> str:
    """Return one verdict or label on a line."""
    import pandas as pd

    query = f" for {row['query_id']}" if isinstance(row["query_id"], str) else ""
    score = "-" if pd.isna(row["score"]) else row["score"]
    outcome = row.get("outcome", "scored")
    mark = "" if outcome == "scored" else f" [{outcome}]"
    reason = row["reason"] if isinstance(row["reason"], str) else ""
    return f"{row[who]}{query}: {row['metric']} {score}{mark} {reason}".rstrip()
