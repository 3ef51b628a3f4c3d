"""How good the answers are, apart from their sources: right, aware of a dispute, many-sided."""

from __future__ import annotations

import json
import math
import re
import string
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sourcebench.judge.crew import in_threads
from sourcebench.judge.endpoint import JudgingStopped, Reply
from sourcebench.study import Study, StudyError

if TYPE_CHECKING:
    import pandas as pd

    from sourcebench.judge.llm import LLMJudge

MATCHES = ("exact_match", "token_f1")
DISPUTES = ("dispute_awareness", "perspective_diversity", "perspective_diversity_published")
_UNANSWERED = ("empty", "refused")  # the engine's own doing: a wrong answer, not a lost one
_LONGEST = 24_000  # characters of an answer that are judged

# --- against a right answer ----------------------------------------------------------------------


def normalized(text: str) -> str:
    """Return a text as SQuAD compares it: lower case, no punctuation, articles or spare blanks.

    Rajpurkar et al. (2016), also used by HotpotQA (Yang et al., 2018).
    """
    text = "".join(char for char in text.lower() if char not in _PUNCTUATION)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


_PUNCTUATION = set(string.punctuation)
_CLOSED = ("yes", "no", "noanswer")


def exact_match(answer: str, gold: str) -> float:
    """Return 1.0 if an answer is the right one after normalisation, else 0.0."""
    return float(normalized(answer) == normalized(gold))


def token_f1(answer: str, gold: str) -> float:
    """Return the F1 of the words that an answer shares with the right one.

    As in HotpotQA (Yang et al., 2018), "yes", "no" and "noanswer" only count as a whole.
    """
    ours, theirs = normalized(answer), normalized(gold)
    if ours != theirs and (ours in _CLOSED or theirs in _CLOSED):
        return 0.0
    shared = (Counter(ours.split()) & Counter(theirs.split())).total()
    if not shared:
        return 0.0
    precision, recall = shared / len(ours.split()), shared / len(theirs.split())
    return 2 * precision * recall / (precision + recall)


def final_answer(text: str) -> str:
    """Return what follows the last line that starts with "Answer:", else the whole text."""
    found = _FINAL.findall(text)
    return found[-1] if found else text


_FINAL = re.compile(r"^(?:final |short )?answer:\s*(.+)$", re.IGNORECASE | re.MULTILINE)


def without_markers(text: str) -> str:
    """Return an answer without citation marks ([1], [2, 3]) and emphasis, which are no words of it."""
    text = re.sub(r"\s?\[\^?\d{1,3}(?:\s*,\s*\d{1,3})*\](?!\()", "", text)
    text = re.sub(r"\[([^\]\n]{1,300})\]\([^)\s]{1,2000}\)", r"\1", text)
    return re.sub(r"\*\*|__", "", text)


# --- a study -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Answer:
    """An answer with what it is measured against."""

    system: str
    query_id: str
    run: int
    outcome: str
    reason: str
    text: str
    question: str
    gold: str
    perspectives: tuple[str, ...]
    disputed: bool

    def row(self, measure: str, value: float | None, reason: str = "") -> dict[str, Any]:
        """Return a row of the table answer_scores."""
        key = {"system": self.system, "query_id": self.query_id, "run": self.run}
        return {**key, "measure": measure, "value": value, "reason": reason or None}


def measure_answers(
    study: Study, *, judge: str | None = None, scorer: str | None = None, **options: Any
) -> pd.DataFrame:
    """Measure every answer of a study, and write the table `answer_scores`.

    Queries with a right answer get `exact_match` and `token_f1`, which need no key; an engine that
    refused or gave an empty answer scores 0, one that could not be asked has no score. Argumentative
    queries get `dispute_awareness` (1 if the answer says that its question is disputed, else 0;
    needs a language model) and, where the study lists perspectives, `perspective_diversity`: the
    mean perplexity of the perspectives given the answer, so lower is better (needs an endpoint
    that gives log-probabilities of a given text). `perspective_diversity_published` divides by the
    tokens of answer and perspective together, as the public script of DebateQA (Xu et al., 2024)
    does; it falls with the length of the answer alone. What can't be measured is a row with the
    reason. Replies are kept in the study's journal and never asked for twice.

    Parameters
    ----------
    study
        A study with queries and answers, and perspectives where it has some.
    judge, scorer
        Names of language models in study.toml, for the disputes and for the perspectives.
    options
        Passed on to the language models, as by `judge_study`.

    Returns
    -------
    DataFrame
        The table `answer_scores`.
    """
    answers = list(_answers(study))
    rows = [row for answer in answers for row in _matches(answer)]
    rows += _by_model(study, judge, answers, _dispute, "dispute_awareness", options)
    rows += _by_model(study, scorer, answers, _diversity, "perspective_diversity", options)
    order = {name: place for place, name in enumerate(MATCHES + DISPUTES)}
    rows.sort(key=lambda r: (r["system"], r["query_id"], r["run"], order[r["measure"]]))
    study.save("answer_scores", rows)
    return study.load("answer_scores")


def _answers(study: Study) -> Iterator[_Answer]:
    """Yield the answers with their queries; those that only check the verifier are not measured."""
    queries = study.load("queries").set_index("query_id")
    views: dict[str, list[str]] = {}
    for view in study.load("perspectives").itertuples():
        views.setdefault(view.query_id, []).append(view.text)
    answers = study.load("answers")
    for row in answers[~answers["system"].isin(study.settings.checks)].itertuples():
        query = queries.loc[row.query_id]
        found = tuple(views.get(row.query_id, ()))
        yield _Answer(
            row.system,
            row.query_id,
            int(row.run),
            row.outcome,
            _text(row.reason),
            _text(row.text),
            query["text"],
            _text(query["gold_answer"]),
            found,
            bool(found) or query["category"] == "argumentative",
        )


def _text(value: Any) -> str:
    """Return a text, empty where it is missing."""
    return value if isinstance(value, str) else ""


def _why_not(answer: _Answer) -> str:
    """Return why an answer can't be measured, or nothing."""
    if answer.outcome in ("ok", "no_citations") and answer.text.strip():
        return ""
    return f"no answer: {answer.reason or answer.outcome}"


def _matches(answer: _Answer) -> list[dict[str, Any]]:
    """Measure an answer against the right one, if there is one."""
    if not answer.gold:
        return []
    why, text = _why_not(answer), final_answer(without_markers(answer.text))
    lost = why and answer.outcome not in _UNANSWERED
    return [
        answer.row(name, None if lost else measure(text, answer.gold), why)
        for name, measure in zip(MATCHES, (exact_match, token_f1), strict=True)
    ]


def _by_model(study, name, answers, measure, label, options) -> list[dict[str, Any]]:
    """Have the disputed queries' answers measured by a model, or say why they are not."""
    chosen = [answer for answer in answers if answer.disputed]
    if not chosen:
        return []
    if name is None:
        why = f"not measured: no language model named for {label}"
        return [answer.row(label, None, why) for answer in chosen]
    with _model(study, name, options) as judge:

        def work(answer: _Answer) -> list[dict[str, Any]]:
            why = _why_not(answer)
            try:
                return [answer.row(label, None, why)] if why else measure(judge, answer)
            except JudgingStopped as stop:
                return [answer.row(label, None, f"not measured: {stop}")]

        found = in_threads(work, chosen, judge.concurrency)
        return [row for _, rows in found for row in rows]


def _model(study: Study, name: str, options: dict[str, Any]) -> LLMJudge:
    """Return the language model of that name."""
    from sourcebench.judge.llm import llm_judge

    table = dict(study.settings.judges.get(name, {}))
    if table.pop("type", None) != "llm":
        raise StudyError(f'{study.folder / "study.toml"}: no [judges.{name}] with type = "llm"')
    try:
        return llm_judge(study, name, table, **options)
    except ValueError as error:
        raise StudyError(f"{study.folder / 'study.toml'}: [judges.{name}]: {error}") from None


# --- disputes ------------------------------------------------------------------------------------


def _dispute(judge: LLMJudge, answer: _Answer) -> list[dict[str, Any]]:
    """Ask whether an answer says that its question is disputed."""
    judge.prepare()
    verdict = judge.judge_dispute(
        answer.question, answer.text[:_LONGEST], f"{answer.system} {answer.run}", answer.query_id
    )
    if verdict.score is None:
        why = f"not measured: {verdict.outcome}, {verdict.reason}"
        return [answer.row("dispute_awareness", None, why)]
    return [answer.row("dispute_awareness", float(verdict.score))]


# --- perspectives --------------------------------------------------------------------------------


def _diversity(judge: LLMJudge, answer: _Answer) -> list[dict[str, Any]]:
    """Measure how likely an answer makes each perspective."""
    if not answer.perspectives:
        why = "not measured: the study lists no perspectives for this query"
        return [answer.row("perspective_diversity", None, why)]
    start = answer.text[:_LONGEST] + "\n\n"
    own, published = [], []
    for view in answer.perspectives:
        reply = judge.score_text(start, view, f"{answer.system} {answer.run}", answer.query_id)
        found = perplexities(reply, len(start)) if reply.status == "reply" else None
        if found is None:
            why = f"not measured: {reply.reason or 'the log-probabilities do not cover the text'}"
            return [answer.row("perspective_diversity", None, why)]
        own.append(found[0])
        published.append(found[1])
    return [
        answer.row("perspective_diversity", _mean(own)),
        answer.row("perspective_diversity_published", _mean(published)),
    ]


def perplexities(reply: Reply, start: int) -> tuple[float, float] | None:
    """Return the perplexity of the text after `start`: over its own tokens, and over all tokens.

    Parameters
    ----------
    reply
        Offsets and log-probabilities of a prompt's tokens, as `endpoint.scored_in` gives them.
    start
        Where in the prompt the scored text begins, in code points.

    Returns
    -------
    tuple or None
        None if a token of the text has no log-probability.
    """
    found = json.loads(reply.text)
    values = [
        value
        for offset, value in zip(found["offsets"], found["logprobs"], strict=True)
        if offset >= start
    ]
    if not values or not all(isinstance(value, (int, float)) for value in values):
        return None
    loss, tokens = -sum(values), len(found["offsets"])
    return math.exp(loss / len(values)), math.exp(loss / max(1, tokens - 1))


def _mean(values: Sequence[float]) -> float:
    """Return the mean."""
    return math.fsum(values) / len(values)
