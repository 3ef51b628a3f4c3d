"""A jury: the median of several judges; and pages judged in every run, so that drift shows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sourcebench.records import SCORED

if TYPE_CHECKING:
    import pandas as pd

    from sourcebench.records import Judge
    from sourcebench.study import Study

_SPLIT = 2  # points between two judges from which on a verdict is marked


def members_of(study: Study, name: str | Judge) -> list[str | Judge]:
    """Return the judges behind a name: those that `[judges.<name>]` of type `jury` lists, or itself.

    Raises
    ------
    StudyError
        If the jury lists fewer than three judges or an even number, which has no median among whole scores,
        or itself, another jury, or a judge that is not described.
    """
    from sourcebench.study import StudyError

    known = study.settings.judges
    table = known.get(name, {}) if isinstance(name, str) else {}
    if table.get("type") != "jury":
        return [name]
    where = f"{study.folder / 'study.toml'}: [judges.{name}]"
    if unknown := [key for key in table if key not in ("type", "of")]:
        raise StudyError(f"{where}: unknown setting {unknown[0]!r}; known are type, of")
    members = table.get("of", [])
    number = len(set(map(str, members))) if isinstance(members, list) else 0
    if number < 3 or number % 2 == 0:
        raise StudyError(
            f"{where}: of must list three judges or more, an odd number, so that there is a score in the "
            f"middle; found {members!r}"
        )
    for member in members:
        if member != "rules" and known.get(member, {}).get("type", "jury") == "jury":
            raise StudyError(f"{where}: {member!r} is no judge of its own in this file")
    return list(dict.fromkeys(members))


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
