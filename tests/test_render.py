"""Written tables: rounding, escaping, the same bytes twice."""

import json
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from sourcebench.render import (
    DASH,
    interval,
    rounded,
    save_numbers,
    save_table,
    tex,
    to_csv,
    to_html,
    to_json,
)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (2.675, 2, "2.68"),
        (4.125, 2, "4.13"),
        (0.125, 2, "0.13"),
        (-0.004, 2, "0.00"),
        (-0.005, 2, "-0.01"),
        (1e-12, 3, "0.000"),
        (83.5, 0, "84"),
        (float("nan"), 2, DASH),
        (float("inf"), 2, DASH),
        (None, 2, DASH),
        (pd.NA, 2, DASH),
    ],
)
def test_rounding_follows_one_rule(value, digits, text):
    """Halves go up from the printed form, zero has no sign, missing is a dash."""
    assert rounded(value, digits) == text


def test_missing_interval_is_a_dash():
    """An interval with a missing end is not printed in part."""
    assert interval(1.0, float("nan")) == DASH
    assert interval(1.0, 2.345) == "[1.00, 2.35]"


HOSTILE = pd.DataFrame(
    {
        "engine": ["GPT_5 & search", "{Deep}Research #2", "Café “α”"],
        "topic": ["10% sample", "A\\B ~ x^2 $5", '=HYPERLINK("http://example.org")'],
        "mean": [4.125, 3.5, -0.004],
        "low": [4.01, np.nan, -0.1],
        "n": [120, 3, 12],
    }
)


def test_latex_comes_out_as_written(tmp_path):
    """Every special character is escaped, quotes and Greek are replaced, missing is a dash."""
    saved = save_table(HOSTILE, "t", tmp_path, title="50% & more", note="a_b")
    text = (tmp_path / "t.tex").read_text("utf-8")
    assert r"GPT\_5 \& search & 10\% sample & 4.13 & 4.01 & 120 \\" in text
    assert (
        r"\{Deep\}Research \#2 & A\textbackslash{}B \textasciitilde{} x\textasciicircum{}2 \$5"
        in text
    )
    assert r"Café ``\ensuremath{\alpha}''" in text
    assert r"\caption{50\% \& more}" in text
    assert "& 3.50 & -- & 3" in text
    assert "-0.00" not in text
    assert {path.suffix for path in saved.paths} == {".csv", ".json", ".tex", ".html"}


def test_letters_outside_the_fonts_are_named():
    """A letter that pdflatex has no glyph for becomes its code, not an error."""
    assert tex("日") == "[U+65E5]"


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_spreadsheets_run_nothing(start):
    """A text that a spreadsheet takes for a formula is quoted; numbers are left alone."""
    text = to_csv(pd.DataFrame({"a": [start + "1+1"], "b": [-1.5]}))
    assert "'" + start in text
    assert ",-1.5" in text


def test_html_escapes_every_text():
    """Titles, notes, headings and cells can't bring in markup."""

    seen = set()

    class Tags(HTMLParser):
        def handle_starttag(self, tag, attrs):
            seen.add(tag)

    attack = '<script>alert(1)</script>"&'
    Tags().feed(to_html(pd.DataFrame({attack: [attack + "\n" + attack]}), attack, attack))
    assert seen <= {
        "style",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "br",
        "small",
        "p",
        "div",
    }


def test_json_is_complete_and_valid(tmp_path):
    """JSON keeps full precision, writes missing as null and never a bare NaN."""
    save_table(HOSTILE, "t", tmp_path, title="T")
    rows = json.loads((tmp_path / "t.json").read_text("utf-8"))["rows"]
    assert rows[1]["low"] is None
    assert rows[2]["mean"] == -0.004


def test_same_frame_same_bytes(tmp_path):
    """Writing a table twice gives the same bytes."""
    first = save_table(HOSTILE, "t", tmp_path / "a", title="T").paths
    second = save_table(HOSTILE, "t", tmp_path / "b", title="T").paths
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]


def test_numbers_become_macros(tmp_path):
    """Numbers in a text come from the tables, through macros with names that LaTeX takes."""
    path = save_numbers({"BestSystem": "A & B", "Best": "81.5"}, "numbers", tmp_path)
    assert path.read_text("utf-8") == (
        "\\newcommand{\\BestSystem}{A \\& B}\n\\newcommand{\\Best}{81.5}\n"
    )
    with pytest.raises(ValueError, match="letters only"):
        save_numbers({"best1": "x"}, "numbers", tmp_path)


def test_numbers_are_written_with_twelve_digits():
    """Last bits that differ between processors do not reach CSV, JSON or a rounded cell."""
    frame = pd.DataFrame({"x": [0.1 + 0.2, 2.6749999999999998, float("nan")], "n": [1, 2, 3]})
    assert to_csv(frame) == "x,n\n0.3,1\n2.675,2\n,3\n"
    assert '"x": 0.3,' in to_json(frame, "t", "")
    assert rounded(1.005 * (1 - 1e-15)) == "1.01"
