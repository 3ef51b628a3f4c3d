"""A real model behind a real endpoint verifies, parses and asks: the protocol holds. What it says is not looked at."""

import pytest
from supportstudy import page, support_study, url

from sourcebench.judge import local
from sourcebench.records import CHECK_OUTCOMES, STATEMENT_OUTCOMES, SUPPORT_VERDICTS, Packet
from sourcebench.support import make_verifier
from sourcebench.support.passages import stands_in
from sourcebench.support.statements import parse_answer

STATED = ["The river fell by eleven centimetres.", "The river rose.", "Cats purr."]
TEXT = "The river fell by eleven centimetres in May."


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Return a study whose judge is the local endpoint, or skip where its two wheels are not installed."""
    try:
        local.model_file()
    except local.NoLocalModel as missing:
        pytest.skip(str(missing))
    with local.local_endpoint() as address:
        yield support_study(
            tmp_path_factory.mktemp("real"),
            {},
            {},
            settings=f'judge = "local"\n\n[judges.local]\ntype = "llm"\nmodel = "{local.MODEL}"\n'
            f'base_url = "{address}"\nmax_tokens = 150\nconcurrency = 1\ntimeout = 300.0\n',
        )


@pytest.mark.llm
def test_a_real_model_verifies(study):
    """Preflight, schema, verdicts, quotations, journal and replay work with a real model."""
    packet = Packet(page("a"), url("a"), text=TEXT, language="en")

    def verified():
        with make_verifier(study) as model:
            model.prepare()
            return model.check(STATED, packet), model.judge.spending.tokens_in

    checks, paid = verified()
    assert paid > 0
    for one in checks:
        assert one.outcome in CHECK_OUTCOMES
        assert one.verdict is None or one.verdict in SUPPORT_VERDICTS
        assert one.verdict not in ("supported", "contradicted") or one.quote_found in (True, False)
        assert not one.quote_found or stands_in(one.evidence, TEXT)
    assert verified() == (checks, 0)


@pytest.mark.llm
def test_a_real_model_parses_and_asks(study):
    """Requests for statements and questions are accepted; a reply that can't be read is an outcome."""
    with make_verifier(study) as model:
        parsed = model.parse(parse_answer(STATED[0]))
        found, why = model.questions(TEXT, 2)
    assert parsed
    assert {one.outcome for one in parsed} <= set(STATEMENT_OUTCOMES)
    assert len(found) == 2 or why
    assert all(question.endswith("?") for question in found)
