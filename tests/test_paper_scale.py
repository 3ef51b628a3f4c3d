"""The table stages at the paper's scale, on synthetic scores with the paper's printed means."""

import pytest

from sourcebench.audit import synthetic_paper_study_scores
from sourcebench.published import printed_table
from sourcebench.render import rounded
from sourcebench.rubric import CODES, QUERY_LEVEL
from sourcebench.score import load_sources, score_study
from sourcebench.study import Study
from sourcebench.tables import estimates
from sourcebench.urls import page_id


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory) -> Study:
    """Return a synthetic study whose judgments have the means that Table 4 prints."""
    folder = tmp_path_factory.mktemp("synthetic")
    (folder / "study.toml").write_text(
        'title = "Synthetic"\nkind = "synthetic"\nlicence = "CC0-1.0"\nas_of = 2026-01-25\n'
        'judge = "synthetic"\n[judges.synthetic]\ntype = "rules"\n',
        encoding="utf-8",
    )
    study, frame = Study(folder), synthetic_paper_study_scores(seed=7)
    frame["url"] = "https://" + frame["page_id"].str.lower() + ".example/"
    rows = frame.to_dict(orient="records")
    asked = frame[["query_id", "category"]].drop_duplicates().assign(text="synthetic")
    study.save("queries", asked)
    key = ("system", "query_id")
    study.save(
        "citations",
        [{k: r[k] for k in key} | {"run": 1, "rank": r["position"], "url": r["url"]} for r in rows],
    )
    study.save(
        "answers",
        [
            {"system": s, "query_id": q, "run": 1, "outcome": "ok"}
            for s, q in frame[list(key)].drop_duplicates().itertuples(index=False)
        ],
    )
    page = [{"page_id": page_id(r["url"]), "url": r["url"], "outcome": "ok"} for r in rows]
    study.save("fetches", page)
    study.save("pages", page)
    study.save("judgments", [v for r in rows for v in verdicts(r)])
    score_study(study)
    return study


def verdicts(row: dict) -> list[dict]:
    """Return the verdicts behind one source; a missing score is one that could not be read."""
    return [
        {
            "judge": "synthetic",
            "prompt_hash": "none",
            "query_id": row["query_id"] if code in QUERY_LEVEL else None,
            "page_id": page_id(row["url"]),
            "metric": code,
            "score": None if row[code] != row[code] else int(row[code]),
            "outcome": "no_verdict" if row[code] != row[code] else "scored",
        }
        for code in CODES
    ]


def test_the_leaderboard_gives_back_the_printed_means(synthetic):
    """From judgments through scores to the leaderboard, every metric mean is the printed one."""
    sources = load_sources(synthetic)
    found = estimates(sources, synthetic.load("queries"), columns=CODES)
    cells = found.set_index(["system", "column"])["value"]
    printed = printed_table(4)
    assert len(printed) == 6
    for system in printed.index:
        for code in CODES:
            assert rounded(cells[f"{system} (synthetic)", code], 3) == printed.loc[system, code]


def test_every_synthetic_source_is_accounted_for(synthetic):
    """Selected sources, scored or not, are as many as were cited."""
    sources = load_sources(synthetic)
    assert len(sources) == len(synthetic.load("citations")) > 2000
    assert set(sources["outcome"]) <= {"scored", "partly_scored"}
