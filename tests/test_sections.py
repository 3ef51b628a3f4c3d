"""Sections of the paper on tiny studies: ordinary ones, and those in which something is absent."""

import re
import shutil
import subprocess

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import sourcebench as sb
from sourcebench.figures import heatmap
from sourcebench.measures import measure_answers
from sourcebench.render import estimate_cell
from sourcebench.rubric import CODES, QUERY_LEVEL
from sourcebench.score import score_study
from sourcebench.sections.alignment import labelled_sources
from sourcebench.sections.leaderboard import ranking
from sourcebench.sections.links import published_points
from sourcebench.statistics.intervals import Estimate, missing_bounds
from sourcebench.study import Study
from sourcebench.tables import claim_text
from sourcebench.urls import page_id

CATEGORIES = ("reasoning", "argumentative", "factual")
TABLES = {
    "queries": lambda st, so, an: sb.query_table(st),
    "alignment": lambda st, so, an: sb.alignment_table(st, sb.judged_and_labelled(st)),
    "ceiling": lambda st, so, an: sb.ceiling_table(st),
    "judges": lambda st, so, an: sb.judges_table(st),
    "between": lambda st, so, an: sb.between_table(st),
    "noise": lambda st, so, an: sb.noise_table(st),
    "verdicts": lambda st, so, an: sb.verdicts_table(st),
    "anchored": lambda st, so, an: sb.anchored_table(st, so),
    "leaderboard": lambda st, so, an: sb.leaderboard(st, so, rng=_rng(), resamples=50),
    "coverage": lambda st, so, an: sb.coverage_table(st, so),
    "pairs": lambda st, so, an: sb.pairs_table(st, so, rng=_rng(), resamples=50),
    "categories": lambda st, so, an: sb.category_table(st, so),
    "reasoning": sb.reasoning_table,
    "debate": sb.debate_table,
    "slope": sb.slope_table,
    "link": lambda st, so, an: sb.link_table(
        {"here": sb.answer_figure(st, so, an)[1]}, "table-07-link", "Link"
    ),
    "overlap": lambda st, so, an: sb.overlap_table(st, so),
    "pair systems": lambda st, so, an: sb.pair_table(st, so),
    "effects": lambda st, so, an: sb.effects_table(st, so),
    "planning": lambda st, so, an: sb.planning_table(st, so),
    "answers collected": lambda st, so, an: sb.answers_table(st),
    "sources cited": lambda st, so, an: sb.citations_table(st),
    "sources shared": lambda st, so, an: sb.shared_table(st),
}
FIGURES = {
    "confusion": lambda st, so, an: sb.confusion(
        sb.judged_and_labelled(st), sb.alignment_title(st), first="judge", second="reader"
    ),
    "leaderboard": lambda st, so, an: sb.leaderboard_figure(st, so)[0],
    "categories": lambda st, so, an: sb.category_figure(st, so)[0],
    "answers": lambda st, so, an: sb.answer_figure(st, so, an)[0],
    "overlap": lambda st, so, an: sb.overlap_figure(st, so)[0],
    "planning": lambda st, so, an: sb.planning_figure(st, so)[0],
}


def _rng() -> np.random.Generator:
    """Return the generator that every table starts from."""
    return np.random.default_rng(7)


def _varied(*place: int) -> int:
    """Return a score that looks random and is the same each time for a place in the study."""
    return int(np.random.default_rng(place).integers(1, 6))


def make(
    folder,
    *,
    systems=("a", "b", "c"),
    queries=6,
    categories=CATEGORIES,
    score=_varied,
    lost=lambda system, query: False,
    labels=("ann",),
    reference=True,
    judges=("rules",),
    settings="",
) -> Study:
    """Write a study in which every system cites two pages of its own for every query, and score it."""
    folder.mkdir()
    head = 'title = "Tiny"\nkind = "synthetic"\nlicence = "MIT"\nas_of = 2026-06-01\n'
    (folder / "study.toml").write_text(head + settings, encoding="utf-8")
    study = Study(folder)
    asked = [f"q{i + 1}" for i in range(queries)]
    study.save("queries", [_query(q, categories[i % len(categories)]) for i, q in enumerate(asked)])
    cited = [
        (s, i, place, f"https://{name}{i}{place}.example.org/")
        for s, name in enumerate(systems)
        for i in range(queries)
        for place in (0, 1)
    ]
    rows = {name: [] for name in ("citations", "answers", "fetches", "pages", "judgments")}
    given = []
    for s, i, place, url in cited:
        row = {"system": systems[s], "query_id": asked[i], "run": 1}
        rows["citations"].append(row | {"rank": place + 1, "url": url})
        if place == 0:
            text = "42" if (s + i) % 3 else "41"
            rows["answers"].append(row | {"outcome": "ok", "text": f"Answer: {text}"})
        page = {"page_id": page_id(url), "url": url}
        gone = lost(s, i)
        rows["fetches"].append(page | {"outcome": "gone" if gone else "ok"})
        if gone:
            continue
        rows["pages"].append(page | {"outcome": "ok"})
        for m, code in enumerate(CODES):
            key = {"page_id": page["page_id"], "metric": code}
            key |= {"query_id": asked[i] if code in QUERY_LEVEL else None}
            value = score(s, i, place, m)
            for judge in judges:
                verdict = {"judge": judge, "prompt_hash": "x", "outcome": "scored"}
                rows["judgments"].append(key | verdict | {"score": value})
            for n, reader in enumerate(labels):
                given.append(key | {"annotator": reader, "score": min(5, value + (m + n + i) % 2)})
    for name, frame in rows.items():
        study.save(name, frame)
    study.save("labels", given)
    if reference:
        listed = [(i, url) for s, i, place, url in cited if place == s % 2]
        study.save(
            "reference",
            [
                {"engine": "ref", "query_id": asked[i], "rank": n + 1, "url": url}
                for n, (i, url) in enumerate(listed)
            ],
        )
    score_study(study)
    measure_answers(study)
    return study


def _query(name: str, category: str) -> dict[str, str | None]:
    """Return one question; reasoning questions have a right answer."""
    gold = "42" if category == "reasoning" else None
    return {"query_id": name, "text": "How many?", "category": category, "gold_answer": gold}


PAIRED = """
[systems.a]
answerer = "x"
search = "one"
[systems.b]
answerer = "x"
search = "two"
[systems.c]
label = "C_3 & co"
"""
STUDIES = {
    "ordinary": {"settings": PAIRED},
    "readers and judges": {
        "labels": ("ann", "bob", "cy"),
        "judges": ("m", "m/2", "rules"),
        "settings": 'judge = "m"\n[judges.m]\ntype = "llm"\n',
    },
    "one system, nothing beside": {
        "systems": ("a",),
        "labels": (),
        "reference": False,
        "categories": ("social",),
    },
    "one query": {"queries": 1},
    "constant": {"score": lambda *place: 4},
    "all fives, two queries": {"score": lambda *place: 5, "queries": 2, "categories": ("factual",)},
    "all missing": {"lost": lambda system, query: True},
    "one system missing": {"lost": lambda system, query: system == 1},
    "no system": {"systems": (), "labels": (), "reference": False},
}


@pytest.fixture(scope="module", params=STUDIES, name="tiny")
def _tiny(request, tmp_path_factory):
    """Return each tiny study with its sources and answers."""
    study = make(tmp_path_factory.mktemp("studies") / "study", **STUDIES[request.param])
    return request.param, study, sb.load_sources(study), study.load("answer_scores")


NAN_TEXT = re.compile(r"\b(nan|NaN|inf|None|<NA>)\b")


def test_every_table_says_something_plain(tiny, tmp_path):
    """No table of any study fails, warns, or prints what is no number; each one says why it is empty."""
    name, study, sources, answers = tiny
    for what, table in TABLES.items():
        made = table(study, sources, answers)
        made.save(tmp_path)
        text = (tmp_path / (made.name + ".html")).read_text("utf-8")
        assert not NAN_TEXT.search(text), (name, what, NAN_TEXT.search(text))
        assert len(made.shown), (name, what)
        if "measured" in made.data:
            assert made.note.startswith("Not measured: "), (name, what)


def test_every_figure_can_be_drawn(tiny):
    """No figure of any study fails or warns, and no label of one is what is no number."""
    name, study, sources, answers = tiny
    for what, draw in FIGURES.items():
        figure = draw(study, sources, answers)
        if name in ("constant", "all missing"):
            figure.canvas.draw()
        texts = [text.get_text() for text in figure.findobj(matplotlib.text.Text)]
        assert not [t for t in texts if NAN_TEXT.search(t)], (name, what)
        plt.close(figure)


def test_numbers_for_the_text_are_there(tiny, tmp_path):
    """The macros of the leaderboard are written for every study."""
    _, study, sources, _ = tiny
    numbers = sb.leaderboard_numbers(study, sources)
    assert not [text for text in numbers.values() if NAN_TEXT.search(text)]
    sb.save_numbers(numbers, "numbers", tmp_path)


# --- the leaderboard -----------------------------------------------------------------------------


def test_few_scored_rows_are_not_shown_and_not_ranked(shared, tmp_path):
    """Half the rows lost: no mean, no rank, and the range that the lost rows allow (E-01)."""
    cells = pd.read_csv(shared / "cases" / "E-01-lost-denominator" / "scores.csv")
    frame = cells.rename(columns={"engine": "system", "status": "outcome"})
    bounds = missing_bounds(frame, "score", limits=(1, 5))
    kept = bounds.loc["b", ["value", "n", "expected", "low", "high", "enough"]]
    assert kept.tolist() == pytest.approx([4.2, 5, 10, 2.6, 4.6, False])
    assert estimate_cell(_estimate(4.2, n=5, expected=10)) == "–\n5 of 10, too few"
    assert estimate_cell(_estimate(3.0, n=10, expected=10)).startswith("3.00\n")


def _estimate(value: float, n: int, expected: int) -> Estimate:
    """Return an estimate with an interval of one around it."""
    return Estimate(value, value - 1, value + 1, 0.5, n, expected, n, n - 1, "logit CR1 t", "")


@pytest.fixture(scope="module", name="ordinary")
def _ordinary(tmp_path_factory):
    """Return the ordinary study with its sources and answers."""
    study = make(tmp_path_factory.mktemp("ordinary") / "study", **STUDIES["ordinary"])
    return study, sb.load_sources(study), study.load("answer_scores")


def test_a_system_that_lost_its_sources_has_no_rank(tmp_path):
    """A system below the threshold keeps its row, is compared with none, and the note names it."""
    study = make(tmp_path / "s", lost=lambda system, query: system == 1 and query < 3)
    sources = sb.load_sources(study)
    table = sb.leaderboard(study, sources)
    row = table.shown[table.shown["System"] == "b"].iloc[0]
    assert row["Weighted"] == "–\n6 of 12, too few"
    assert row["Ranks"] == "–"
    assert "of the questions have a scored source: b." in table.note
    pairs = sb.pairs_table(study, sources).data
    assert set(pairs["system_a"]) | set(pairs["system_b"]) == {"a", "c"}
    texts = _texts(sb.leaderboard_figure(study, sources)[0])
    assert any("6 of 12, too few" in text for text in texts)


def test_bootstrap_intervals_stand_beside_the_closed_form(ordinary):
    """With a generator the data carry both bootstrap intervals, the same for the same seed."""
    study, sources, _ = ordinary
    first, second = (sb.leaderboard(study, sources, rng=_rng(), resamples=200) for _ in range(2))
    rows = first.data[(first.data["mean_over"] == "sources") & (first.data["column"] == "CR")]
    for name in ("ci_pct", "ci_boott"):
        assert (rows[f"{name}_low"] <= rows["value"]).all()
        assert (rows["value"] <= rows[f"{name}_high"]).all()
    pd.testing.assert_frame_equal(first.data, second.data)
    assert "ci_pct_low" not in sb.leaderboard(study, sources).data


def test_the_note_says_what_could_be_found(ordinary):
    """Under the leaderboard stand the power statement and who may be first."""
    study, sources, _ = ordinary
    note = sb.leaderboard(study, sources).note
    assert "With 6 queries the smallest difference found with 80% power is" in note
    leaders = ranking(sources, study.load("queries"), ["a", "b", "c"])["leader"].sum()
    assert ("cannot be told apart" in note) == (leaders > 1)


def test_pairs_show_both_adjustments(ordinary):
    """With a generator the pairs carry step-down max-T beside Holm."""
    study, sources, _ = ordinary
    table = sb.pairs_table(study, sources, rng=_rng(), resamples=200)
    assert {"p (Holm)", "p (max-T)"} <= set(table.shown)
    assert "p (max-T)" not in sb.pairs_table(study, sources).shown


# --- judge and labels ----------------------------------------------------------------------------


def test_a_corrected_mean_is_the_judge_plus_the_gap(tmp_path):
    """With every source labelled the corrected mean is the mean of the labels, and the note says so."""
    study = make(tmp_path / "s")
    sources = sb.load_sources(study)
    table = sb.anchored_table(study, sources)
    labelled = labelled_sources(study, sources)
    means = labelled.groupby("system")["label"].mean()
    got = table.data.set_index("system")["value"]
    assert got.to_dict() == pytest.approx(means.to_dict())
    assert "36 of 36 judged sources (100%)" in table.note
    assert "Warning" not in table.note


def test_some_labels_come_with_a_warning(tmp_path):
    """Where part of the sources is labelled, the share and the condition are stated."""
    study = make(tmp_path / "s")
    labels = study.load("labels")
    pages = sorted(labels["page_id"].unique())[::2]
    study.save("labels", labels[labels["page_id"].isin(pages)])
    note = sb.anchored_table(study, sb.load_sources(study)).note
    assert "18 of 36 judged sources (50%)" in note
    assert "only if the labelled sources are a random sample" in note


def test_page_authors_are_not_called_readers(tmp_path):
    """Labels of the pages' own authors are named as what they are."""
    study = make(tmp_path / "s", labels=("page-author",))
    table = sb.alignment_table(study, sb.judged_and_labelled(study))
    assert "what those who wrote the pages intended" in table.note


def test_judges_are_kept_apart(tmp_path):
    """Two judges have columns of their own, and a repetition is measured against the first pass."""
    study = make(tmp_path / "s", **STUDIES["readers and judges"])
    assert [c for c in sb.judges_table(study).shown if c.endswith("MAE")] == [
        "m: MAE",
        "rules: MAE",
    ]
    assert sb.noise_table(study).data["mae"].tolist() == [0.0] * len(CODES)
    ceiling = sb.ceiling_table(study).data
    assert set(ceiling["annotator"]) == {"ann", "bob", "cy", "all"}


# --- correlations --------------------------------------------------------------------------------


def test_published_correlations_are_those_of_the_printed_rows():
    """Figure 2 and Table 8 redrawn give the known r, exact p and leave-one-out range, and no claim."""
    points = {f"T{n}": published_points(f"Table {n}") for n in (6, 8)}
    data = sb.link_table(points, "t", "T").data
    assert data["r"].tolist() == pytest.approx([0.844787, -0.552669], abs=1e-6)
    assert data["p"].tolist() == pytest.approx([34 / 720, 3_297_002 / 39_916_800])
    assert data.loc[0, "leave_one_out_low"] == pytest.approx(0.349563, abs=1e-6)
    ends = data.loc[1, ["leave_one_out_low", "leave_one_out_high"]].tolist()
    assert ends == pytest.approx([-0.654, -0.319], abs=5e-4)
    assert not data["claim_holds"].any()
    figure, drawn = sb.published_figure("Table 8", "overlap")
    assert "published" in figure.axes[0].get_xlabel()
    assert len(drawn) == 11
    plt.close(figure)


def test_three_points_never_have_no_doubt(shared):
    """A perfect correlation of three points shows its n, an exact p and no claim (E-06)."""
    frame = pd.read_csv(shared / "cases" / "E-06-tiny-correlations" / "three.csv")
    x, y = frame.select_dtypes("number").iloc[:, 0], frame.select_dtypes("number").iloc[:, 1]
    text = claim_text(sb_correlation(x, y))
    assert "n = 3" in text
    assert "0.000" not in text
    assert "no claim: 3 systems" in text


def sb_correlation(x, y):
    """Return the correlation over systems."""
    from sourcebench.statistics.correlate import system_correlation

    return system_correlation(x, y)


def test_one_system_leaves_the_correlation_between_systems_open(tmp_path):
    """With one system the map between systems is n/a off its diagonal, the one within is not."""
    study = make(tmp_path / "s", systems=("a",))
    figure = sb.correlation_figure(study, sb.metric_correlations(sb.load_sources(study)))
    within, between = (_texts(figure, ax) for ax in (figure.axes[0], figure.axes[2]))
    assert between.count("n/a") == len(CODES) * (len(CODES) - 1)
    assert within.count("n/a") == 0
    plt.close(figure)


# --- figures -------------------------------------------------------------------------------------


def _texts(figure, axes=None) -> list[str]:
    """Return the texts inside the axes of a figure, in the order they were written."""
    each = [axes] if axes is not None else figure.axes
    return [text.get_text() for ax in each for text in ax.texts]


def test_every_cell_of_a_heatmap_is_labelled(shared):
    """Labels read back from the figure: seven numbers, two n/a, and fixed ends of the scale (E-10)."""
    table = pd.read_csv(shared / "cases" / "E-10-heatmap" / "matrix.csv", index_col=0)
    figure = heatmap({"scores": table}, "Scores", limits=(1, 5), colours="viridis")
    figure.canvas.draw()
    labels = _texts(figure, figure.axes[0])
    assert len(labels) == table.size
    assert labels.count("n/a") == int(table.isna().to_numpy().sum())
    known = [float(text) for text in labels if text != "n/a"]
    values = [v for v in table.to_numpy().ravel() if v == v]
    assert known == pytest.approx(values, abs=0.00501)
    assert figure.axes[0].images[0].norm.vmin == 1
    assert figure.axes[0].images[0].norm.vmax == 5
    plt.close(figure)


def test_labels_are_readable_on_their_cells(ordinary):
    """No light label stands on a light cell and no dark one on a dark cell."""
    study, sources, _ = ordinary
    figure = sb.correlation_figure(study, sb.metric_correlations(sources))
    for ax in figure.axes[:4]:
        image = ax.images[0]
        shades = image.cmap(image.norm(image.get_array().filled(np.nan))) @ [0.299, 0.587, 0.114, 0]
        for text in ax.texts:
            column, row = (int(v) for v in text.get_position())
            if text.get_text() != "n/a":
                light = sum(matplotlib.colors.to_rgb(text.get_color())) / 3
                assert abs(light - shades[row, column]) > 0.35, text
    plt.close(figure)


def test_points_and_rows_carry_their_names(ordinary):
    """Every system is named in the forest and in the scatter, with its numbers beside it."""
    study, sources, answers = ordinary
    forest, long = sb.leaderboard_figure(study, sources)
    assert [t.get_text() for t in forest.axes[0].get_yticklabels()][::-1] == long["name"].tolist()
    assert all(" 12 of 12" in text for text in _texts(forest))
    scatter, points = sb.answer_figure(study, sources, answers)
    assert sorted(_texts(scatter)) == sorted(points["name"])
    assert "systems" in scatter.axes[0].get_xlabel()
    plt.close("all")


def test_figures_fit_a_page(ordinary):
    """No figure is wider than a page, so that its letters are not made smaller in print."""
    study, sources, answers = ordinary
    for draw in FIGURES.values():
        figure = draw(study, sources, answers)
        assert figure.get_figwidth() <= 7.5
        plt.close(figure)


# --- planning ------------------------------------------------------------------------------------


def test_synthetic_numbers_say_so():
    """The table of made-up scores carries the word in its title, its note and every row."""
    table = sb.synthetic_table(_rng(), queries=40)
    assert table.title.startswith("Synthetic")
    assert "nothing here was measured" in table.note
    assert table.data["synthetic"].all()
    assert table.data["system"].str.startswith("synthetic").all()


def test_larger_differences_need_fewer_queries(ordinary):
    """Queries needed fall with the square of the difference."""
    study, sources, _ = ordinary
    data = sb.planning_table(study, sources).data
    one, two = data.set_index("delta").loc[[1.0, 2.0], "one_pair"]
    assert one / two == pytest.approx(4, rel=0.05)


# --- print ---------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_tables_compile_and_fit_the_page(ordinary, shared, tmp_path):
    """With booktabs alone every table compiles, none is wider or longer than the page (F-02)."""
    study, sources, answers = ordinary
    hostile = pd.read_csv(shared / "cases" / "F-02-latex-and-csv" / "table.csv")
    sb.save_table(hostile, "hostile", tmp_path, title="50% of _ & # $ ~ ^ \\ { }")
    names = ["hostile"]
    for table in TABLES.values():
        names.append(table(study, sources, answers).save(tmp_path).name)
    for table in (sb.level_table(), sb.rubric_table(), sb.example_table(), _long()):
        names.append(table.save(tmp_path).name)
    body = "\n".join(rf"\input{{{name}.tex}}\clearpage" for name in dict.fromkeys(names))
    text = "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n" + body
    (tmp_path / "all.tex").write_text(text + "\n\\end{document}\n", encoding="utf-8")
    run = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-3000:]
    wide = [float(w) for w in re.findall(r"Overfull \\hbox \((\d+\.\d+)pt too wide\)", run.stdout)]
    assert max(wide, default=0) < 10, run.stdout
    assert "Float too large" not in run.stdout


def _long():
    """Return a synthetic leaderboard, and with it a table of many rows and stacked cells."""
    return sb.synthetic_table(_rng(), queries=20)
