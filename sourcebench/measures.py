"""How good the answers are, apart from their sources."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from sourcebench.study import Study

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_FINAL = re.compile(r"^(?:final |short )?answer:\s*(.+)$", re.IGNORECASE | re.MULTILINE)
_MARK = re.compile(r"\[\d+\]")
_VERDICTS = ("yes", "no", "noanswer")
NEEDS_MODEL = "needs a language model; the offline judge can't measure it"


def normalised(text: str) -> str:
    """Return a text as SQuAD and HotpotQA compare it: lower case, no punctuation, no articles."""
    plain = _MARK.sub(" ", text).lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", plain).split())


def final_answer(text: str) -> str:
    """Return what follows the last line that starts with "Answer:", else the whole text."""
    found = _FINAL.findall(text)
    return found[-1] if found else text


def exact_match(answer: str, gold: str) -> float:
    """Return 1 if answer and gold are equal once normalised, else 0 (Rajpurkar et al. 2016)."""
    return float(normalised(answer) == normalised(gold))


def token_f1(answer: str, gold: str) -> float:
    """Return the harmonic mean of token precision and recall (Yang et al. 2018).

    A yes, a no and a refusal match only themselves.
    """
    one, two = normalised(answer), normalised(gold)
    if one != two and (one in _VERDICTS or two in _VERDICTS):
        return 0.0
    given, right = one.split(), two.split()
    common = sum((Counter(given) & Counter(right)).values())
    if not common:
        return float(one == two)
    precision, recall = common / len(given), common / len(right)
    return 2 * precision * recall / (precision + recall)


def measure_study(study: Study) -> pd.DataFrame:
    """Write the table `answer_scores`: each answer's measures, or the reason there is none.

    Answers to questions with a gold answer get exact match and token F1; an answer that never came
    scores 0, since the question was asked. Perspective diversity and dispute awareness of disputed
    questions need a language model, and say so where none measured them.
    """
    known = study.load("answer_scores")
    by_model = known[known["value"].notna() & ~known["measure"].isin(["exact_match", "token_f1"])]
    kept = by_model.astype(object).where(by_model.notna(), None).to_dict(orient="records")
    key = ("system", "query_id", "run", "measure")
    done = {tuple(row[name] for name in key) for row in kept}
    rows = [row for row in _rows(study) if tuple(row[name] for name in key) not in done]
    study.save("answer_scores", sorted([*kept, *rows], key=lambda r: tuple(str(r[n]) for n in key)))
    return study.load("answer_scores")


def _rows(study: Study) -> Iterator[dict[str, Any]]:
    """Yield one row an answer and measure."""
    queries = study.load("queries").set_index("query_id")
    for answer in study.load("answers").itertuples(index=False):
        query = queries.loc[answer.query_id]
        row = {"system": answer.system, "query_id": answer.query_id, "run": int(answer.run)}
        if isinstance(query["gold_answer"], str):
            given = final_answer(answer.text) if isinstance(answer.text, str) else ""
            for name, measure in (("exact_match", exact_match), ("token_f1", token_f1)):
                yield row | {"measure": name, "value": measure(given, query["gold_answer"])}
        elif query["category"] == "argumentative":
            for name in ("perspective_diversity", "dispute_awareness"):
                yield row | {"measure": name, "value": None, "reason": NEEDS_MODEL}
