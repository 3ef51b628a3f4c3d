"""A real model behind a real endpoint verifies and parses: the protocol holds. What it says is not looked at."""

import pytest
from supportstudy import support_study

from sourcebench.judge import local
from sourcebench.records import CHECK_OUTCOMES, STATEMENT_OUTCOMES, SUPPORT_VERDICTS
from sourcebench.support import load_support, make_verifier, verify_study

ANSWER = "The river fell by eleven centimetres {a}. The old mill was closed in spring {b}."
PAGES = {
    "a": "The river fell by eleven centimetres in May.",
    "b": "Cats purr when they are content.",
}


@pytest.fixture(scope="module")
def settings():
    """Run the local endpoint and describe it, or skip where its two wheels are not installed."""
    try:
        local.model_file()
    except local.NoLocalModel as missing:
        pytest.skip(str(missing))
    with local.local_endpoint() as address:
        yield (
            f'judge = "local"\n\n[judges.local]\ntype = "llm"\nmodel = "{local.MODEL}"\n'
            f'base_url = "{address}"\nmax_tokens = 300\nconcurrency = 1\ntimeout = 300.0\n'
        )


def replies(study) -> list[str]:
    """Return the keys of the replies that the study's journal holds."""
    journal = make_verifier(study).judge.journal
    return [line["key"] for line in journal.lines() if line.get("status") == "reply"]


@pytest.mark.llm
def test_a_real_model_verifies(settings, tmp_path):
    """Preflight, parsing, schema, verdicts, quotations, journal and replay work with a real model."""
    study = support_study(tmp_path, {"q1": ANSWER}, PAGES, settings=settings)
    rows = verify_study(study)
    assert set(study.load("statements")["outcome"]) <= set(STATEMENT_OUTCOMES)
    assert set(rows["outcome"]) <= set(CHECK_OUTCOMES)
    assert set(rows["verdict"].dropna()) <= set(SUPPORT_VERDICTS)
    needs = rows["verdict"].isin(["supported", "partly", "contradicted"])
    assert rows.loc[needs, "quote_found"].isin(["yes", "no"]).all()
    backed = load_support(study).pairs["status"].isin(["supported", "partly", "contradicted"])
    assert backed.sum() <= rows["quote_found"].eq("yes").sum()
    first, paid = study.path("support").read_bytes(), replies(study)
    assert paid
    study.path("support").unlink()
    verify_study(study)
    assert (study.path("support").read_bytes(), replies(study)) == (first, paid)


@pytest.mark.llm
def test_a_real_model_writes_questions(settings, tmp_path):
    """The request for questions is accepted under its schema; what can't be read is said."""
    study = support_study(tmp_path, {"q1": ANSWER}, PAGES, settings=settings)
    with make_verifier(study) as model:
        model.prepare()
        found, why = model.questions(PAGES["a"], 2)
    assert len(found) == 2 or why
    assert all(question.endswith("?") for question in found)
