"""Several judges side by side: their median, how much one moves when asked twice, and its drift."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sourcebench.records import SCORED
from sourcebench.rubric import CODES

if TYPE_CHECKING:
    import pandas as pd

    from sourcebench.study import Study

_SPLIT = 2  # points between two judges from which on a verdict is marked


def add_jury(study: Study, judges: Sequence[str], name: str = "jury") -> pd.DataFrame:
    """Add the median of several judges' verdicts to the table `judgments`, as a judge of its own.

    A verdict takes two votes or more; of an even number the lower middle one counts, so that doubt
    never raises a score. Verdicts of judges that lie two points or more apart carry the flag
    `split`. Judges keep their own rows.

    Parameters
    ----------
    study
        A study in which all these judges have judged.
    judges
        Two judges or more, as the table names them.
    name
        Name of the jury.

    Returns
    -------
    DataFrame
        The jury's rows.

    Raises
    ------
    ValueError
        If there is one judge only, or one that has no verdicts.
    """
    import pandas as pd

    table = study.load("judgments")
    if len(set(judges)) < 2:
        raise ValueError(f"a jury takes two judges or more, found {list(judges)}")
    for judge in judges:
        if not (table["judge"] == judge).any():
            raise ValueError(f"{study.path('judgments')}: no verdicts of judge {judge!r}")
    members = table[table["judge"].isin(judges)]
    keys = ["query_id", "page_id", "metric"]
    votes = members.groupby(keys, dropna=False, sort=True)
    rows = [_verdict(name, key, group, len(set(judges))) for key, group in votes]
    others = table[table["judge"] != name]
    made = pd.DataFrame(rows)
    study.save("judgments", pd.concat([others.astype(object), made.astype(object)]))
    return study.load("judgments").query("judge == @name").reset_index(drop=True)


def _verdict(name: str, key: tuple, votes: pd.DataFrame, size: int) -> dict[str, Any]:
    """Return the jury's row on one metric of one page."""
    scored = votes[votes["outcome"].isin(SCORED)]
    scores = sorted(int(score) for score in scored["score"])
    query, page, metric = key
    parts = sorted({f"{j}:{h}" for j, h in zip(votes["judge"], votes["prompt_hash"], strict=True)})
    row = {
        "judge": name,
        "prompt_hash": hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16],
        "query_id": query if isinstance(query, str) else None,
        "page_id": page,
        "metric": metric,
        "score": None,
        "outcome": "no_verdict",
        "reason": f"{len(scores)} of {size} judges gave a score",
    }
    if len(scores) < 2:
        return row
    said = ", ".join(f"{j} {s}" for j, s in zip(scored["judge"], scored["score"], strict=True))
    split = "split" if scores[-1] - scores[0] >= _SPLIT else None
    median = scores[(len(scores) - 1) // 2]
    return row | {"score": median, "outcome": "scored", "reason": said, "flags": split}


def compare_judges(judgments: pd.DataFrame, one: str, other: str) -> pd.DataFrame:
    """Compare two judges' scores of the same pages, metric by metric.

    With a judge and its repetition (`qwen`, `qwen/2`) this is the noise floor: how far scores move
    when nothing has changed. With a judge and its anchor run (`qwen`, `qwen/2026-07`) it is the
    drift. Temperature 0 and a seed do not promise the same reply twice.

    Parameters
    ----------
    judgments
        The table `judgments`.
    one, other
        Two judges in it.

    Returns
    -------
    DataFrame
        One row a metric: metric, n (verdicts scored by both), unpaired (scored by one of them),
        moved (share whose score differs), mean_abs (mean distance, points), shift (mean of other
        minus one), low, high (95% t interval of the shift over pages; missing below two pages).
    """
    import pandas as pd

    keys = ["query_id", "page_id", "metric"]
    scored = judgments[judgments["outcome"].isin(SCORED)]
    left, right = (
        scored[scored["judge"] == name].set_index(keys)["score"] for name in (one, other)
    )
    both = pd.concat({"one": left, "other": right}, axis=1).reset_index()
    return pd.DataFrame([_compared(code, both[both["metric"] == code]) for code in CODES])


def _compared(code: str, both: pd.DataFrame) -> dict[str, Any]:
    """Return one metric's row of the comparison."""
    paired = both.dropna(subset=["one", "other"])
    row = {"metric": code, "n": len(paired), "unpaired": len(both) - len(paired)}
    if paired.empty:
        return row | dict.fromkeys(("moved", "mean_abs", "shift", "low", "high"), math.nan)
    change = (paired["other"] - paired["one"]).astype(float)
    by_page = change.groupby(paired["page_id"]).mean()
    low, high = _interval(by_page, float(change.mean()))
    return row | {
        "moved": float((change != 0).mean()),
        "mean_abs": float(change.abs().mean()),
        "shift": float(change.mean()),
        "low": low,
        "high": high,
    }


def _interval(by_page: pd.Series, centre: float) -> tuple[float, float]:
    """Return a 95% t interval around a mean from the means of the pages."""
    from scipy.stats import t

    pages = len(by_page)
    if pages < 2:
        return math.nan, math.nan
    half = float(t.ppf(0.975, pages - 1)) * float(by_page.std(ddof=1)) / math.sqrt(pages)
    return centre - half, centre + half


def anchor_pages(study: Study, size: int = 20) -> list[str]:
    """Return a fixed set of pages to have judged in every run, so that a drift of the judge shows.

    The pages are chosen by a hash of their identity: the same ones each time, wherever more pages
    are added, as long as none comes before them. Have them judged under a name of their own, such
    as `judge_study(study, judges=["qwen/2026-07"], pages=anchor_pages(study))`, and compare.

    Parameters
    ----------
    study
        A study with judged pages.
    size
        Number of pages.
    """
    pages = set(study.load("judgments")["page_id"])
    return sorted(pages, key=lambda page: hashlib.sha256(page.encode()).hexdigest())[:size]
