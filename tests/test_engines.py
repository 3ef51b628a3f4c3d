"""Raw replies of every engine are read into answer, outcome, citations and spans."""

import json
from importlib import import_module
from pathlib import Path

import pytest

from sourcebench.engines.detect import engine_of, parse_any
from sourcebench.engines.wire import Exchange
from sourcebench.records import ANSWER_OUTCOMES

REPLIES = Path(__file__).parent / "data" / "replies"
EXAMPLES = sorted(
    path.name.removesuffix(".expected.json")
    for path in REPLIES.glob("*.expected.json")
    if not path.name.startswith("log_")
)
ENGINES = {
    "anthropic": "anthropic",
    "azure": "azure",
    "brave": "brave",
    "cohere": "cohere",
    "deepseek": "deepseek",
    "exa": "exa",
    "gemini": "gemini",
    "gensee": "gensee",
    "google": "google",
    "groq": "groq",
    "mistral": "mistral",
    "openai": "openai",
    "openrouter": "openrouter",
    "perplexity": "perplexity",
    "serpapi": "google",
    "serper": "google",
    "tavily": "tavily",
    "xai": "xai",
    "youcom": "youcom",
}


def raw(name: str) -> bytes:
    """Return a recorded reply, byte for byte."""
    return (REPLIES / f"{name}.json").read_bytes()


def load(name: str):
    """Return a recorded reply, read."""
    return json.loads(raw(name))


def parser(name: str):
    """Return the parser of the engine that a recorded reply is named for."""
    return import_module(f"sourcebench.engines.{ENGINES[name.split('_')[0]]}").parse


def shown(reply) -> list[dict]:
    """Return citations as the expected files write them."""
    return [
        {
            "rank": c.rank,
            "url": c.url,
            "title": c.title,
            "date": c.date,
            "span": None if c.start is None else [c.start, c.end],
        }
        for c in reply.citations
    ]


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_recorded_reply_gives_its_expected_result(name):
    """Answer, citations, spans, uncited results, usage, queries and warnings are as expected."""
    expected = json.loads((REPLIES / f"{name}.expected.json").read_text(encoding="utf-8"))
    extra = expected["extra"]
    reply = parser(name)(raw(name))
    assert reply.text == expected["answer_text"]
    assert shown(reply) == expected["citations"]
    assert (reply.kind, reply.status, reply.span_kind) == (
        extra["kind"],
        extra["status"],
        extra["span_kind"],
    )
    found = [{"url": c.url, "title": c.title, "date": c.date} for c in reply.uncited]
    assert found == extra["uncited"]
    assert reply.usage == extra["usage"]
    assert list(reply.queries) == extra["queries"]
    assert sorted(reply.warnings) == sorted(extra["warnings"])
    every = [*reply.citations, *reply.uncited]
    assert extra.get("url_raw", {}) == {c.url: c.url_raw for c in reply.citations if c.url_raw}
    dates = {c.url: c.date_raw for c in every if c.date_raw}
    assert extra.get("date_raw", {}).items() <= dates.items()
    for field in ("contents", "failed", "api_sources"):
        assert reply.extra.get(field) == extra.get(field)


@pytest.mark.parametrize("name", EXAMPLES)
def test_shape_alone_tells_the_engine(name):
    """A reply without a name is read by the right parser, with the same result."""
    assert engine_of(raw(name)) == ENGINES[name.split("_")[0]]
    assert parse_any(raw(name)) == parser(name)(raw(name))


@pytest.mark.parametrize("name", [name for name in EXAMPLES if isinstance(load(name), list)])
def test_streams_are_read_as_events_and_as_lines(name):
    """Server-sent events and JSON lines give what the list of events gives."""
    expected = parser(name)(load(name))
    lines = [json.dumps(event, ensure_ascii=False) for event in load(name)]
    events = "".join(f"event: x\r\ndata: {line}\r\n\r\n" for line in lines) + "data: [DONE]\r\n\r\n"
    assert parser(name)(events.encode()) == expected
    assert parser(name)("\n".join(lines)) == expected


@pytest.mark.parametrize("name", EXAMPLES)
def test_spans_cover_what_they_say(name):
    """A span lies in the answer; one of a marker covers a citation mark and nothing else."""
    reply = parser(name)(raw(name))
    for citation in reply.citations:
        if citation.start is None:
            continue
        covered = reply.text[citation.start : citation.end]
        assert 0 <= citation.start < citation.end <= len(reply.text)
        if reply.span_kind == "marker":
            assert covered[0] in "([【"
            assert covered[-1] in ")]】"


@pytest.mark.parametrize("name", EXAMPLES)
def test_parsers_take_any_damage(name):
    """With any one field missing or of another type, a reply is read or refused, never a crash."""

    def damaged(value, path=()):
        children = value.items() if isinstance(value, dict) else enumerate(value)
        for key, child in children:
            yield (*path, key)
            if isinstance(child, (dict, list)):
                yield from damaged(child, (*path, key))

    for path in damaged(load(name)):
        for other in (None, 7, "x", [], {}, [7], {"type": 7}):
            value = load(name)
            holder = value
            for key in path[:-1]:
                holder = holder[key]
            holder[path[-1]] = other
            if name == "deepseek_chat_with_tool_results" and path == ("response",) and other == "x":
                with pytest.raises(ValueError, match="the reply is not JSON"):
                    parser(name)(value)
                continue
            assert parser(name)(value).outcome in ANSWER_OUTCOMES
            engine_of(value)


def test_gemini_offsets_are_bytes_of_a_part():
    """Byte offsets, of the whole or of one part, become code points; a strange index is reported."""
    reply = parser("gemini_x")(raw("gemini_byte_offsets"))
    spans = [(c.url[-1], reply.text[c.start : c.end]) for c in reply.citations]
    assert spans == [
        ("a", "Größe: 🏞️ Der Fluss fiel."),
        ("b", "Zweiter Satz über Pegel."),
        ("c", "Zweiter Satz über Pegel."),
    ]
    assert set(reply.warnings) == {"non_web_chunk", "chunk_index_out_of_range"}


def test_gemini_says_when_words_and_offsets_differ():
    """Words that stand elsewhere move the span and are reported; words that stand nowhere leave none."""
    value = load("gemini_generate_content_grounding")
    supports = value["candidates"][0]["groundingMetadata"]["groundingSupports"]
    supports[0]["segment"]["endIndex"] = 20
    supports[1]["segment"]["text"] = "Not in the answer."
    reply = parser("gemini_x")(value)
    assert [c.start for c in reply.citations] == [0, None, None]
    assert {"span_reanchored", "segment_text_differs"} <= set(reply.warnings)


def test_openai_spans_in_utf16_units_are_told():
    """An astral character before a mark moves it by one unit; a mark far off is found again."""
    value = load("openai_chat_search_preview")
    message = value["choices"][0]["message"]
    message["content"] = "🌊 " + message["content"]
    note = message["annotations"][0]["url_citation"]
    note["start_index"], note["end_index"] = 42 + 3, 116 + 3
    reply = parser("openai_x")(value)
    assert reply.text[reply.citations[0].start] == "("
    assert reply.warnings == ("offset_unit_utf16",)
    note["start_index"], note["end_index"] = 3, 9
    assert parser("openai_x")(value).warnings == ("span_reanchored",)
    note["url"] = "https://elsewhere.example/"
    assert parser("openai_x")(value).citations[0].start is None


def test_deepseek_reads_results_of_the_search_before_it():
    """Markers count the rows of the search that the model was given."""
    search = raw("tavily_search")
    answer = {"choices": [{"message": {"content": "News [citation:2], rules[citation:1]."}}]}
    exchanges = (
        Exchange("POST", "https://api.tavily.com/search", {"query": "q"}, 200, search),
        Exchange("POST", "https://x/chat/completions", {}, 200, json.dumps(answer).encode()),
    )
    reply = parser("deepseek_x")(exchanges)
    assert [c.url for c in reply.citations] == [
        "https://news.example.com/hp",
        "https://gov.example.org/grants",
    ]
    assert reply.queries == ("q",)
    assert reply.citations[0].date == "2025-04-18"


CASES = {
    "openai refusal": ("openai", {"object": "response", "status": "completed", "output": [{"type": "message", "content": [{"type": "refusal", "refusal": "I can't help."}]}]}, "refused", "I can't help."),
    "openai cut": ("openai", {"object": "response", "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": [{"type": "message", "content": [{"type": "output_text", "text": "Half"}]}]}, "no_citations", "max_output_tokens"),
    "openai failed": ("openai", {"object": "response", "status": "failed", "error": {"code": "server_error", "message": "sorry"}, "output": []}, "failed", "server_error: sorry"),
    "openai nothing": ("openai", {"object": "response", "status": "completed", "output": []}, "empty", ""),
    "openai rate limit": ("openai", {"error": {"message": "slow down", "type": "x", "code": "rate_limit_exceeded"}}, "failed", "rate_limit_exceeded: slow down"),
    "chat refusal": ("openai", {"choices": [{"message": {"content": None, "refusal": "No."}, "finish_reason": "stop"}]}, "refused", "No."),
    "chat filter": ("openai", {"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]}, "refused", "content_filter"),
    "chat tool call": ("deepseek", {"choices": [{"message": {"content": "", "tool_calls": [{}]}, "finish_reason": "tool_calls"}]}, "failed", "the model asks for a tool and gives no answer"),
    "reasoner out of tokens": ("deepseek", {"choices": [{"message": {"content": "", "reasoning_content": "..."}, "finish_reason": "length"}]}, "empty", "length"),
    "unclosed thinking": ("perplexity", {"choices": [{"message": {"content": "<think>so [1]"}}], "citations": ["https://a.example/"]}, "ok", ""),
    "anthropic refusal": ("anthropic", {"type": "message", "stop_reason": "refusal", "content": []}, "refused", "refusal"),
    "anthropic pause": ("anthropic", {"type": "message", "stop_reason": "pause_turn", "content": []}, "failed", "pause_turn"),
    "anthropic overload": ("anthropic", {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "failed", "overloaded_error: Overloaded"),
    "gemini blocked prompt": ("gemini", {"promptFeedback": {"blockReason": "SAFETY"}}, "refused", "SAFETY"),
    "gemini safety stop": ("gemini", {"candidates": [{"finishReason": "SAFETY"}]}, "refused", "SAFETY"),
    "gemini quota": ("gemini", [{"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED"}}], "failed", "RESOURCE_EXHAUSTED: quota"),
    "xai string error": ("xai", {"code": "invalid", "error": "no such model"}, "failed", "invalid: no such model"),
    "tavily plan limit": ("tavily", {"detail": {"error": "plan limit"}}, "failed", "plan limit"),
    "tavily bad field": ("tavily", {"detail": [{"loc": ["body"], "msg": "field required", "type": "x"}]}, "failed", "field required"),
    "tavily nothing found": ("tavily", {"results": [], "response_time": 1}, "empty", ""),
    "brave rate limit": ("brave", {"type": "ErrorResponse", "error": {"code": "RATE_LIMITED", "detail": "slow"}}, "failed", "RATE_LIMITED: slow"),
    "brave nothing found": ("brave", {"type": "search", "query": {"original": "q"}}, "empty", ""),
    "serper": ("google", {"message": "Unauthorized.", "statusCode": 403}, "failed", "Unauthorized."),
    "serpapi nothing found": ("google", {"search_metadata": {"status": "Success"}, "error": "Google hasn't returned any results for this query."}, "empty", ""),
    "serpapi bad key": ("google", {"error": "Invalid API key."}, "failed", "Invalid API key."),
    "google nothing found": ("google", {"kind": "customsearch#search", "queries": {"request": [{"searchTerms": "q"}]}}, "empty", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_refusal_emptiness_and_failure_are_told_apart(case):
    """An outcome that is no answer has its own word, and the engine's reason."""
    engine, value, outcome, reason = CASES[case]
    reply = import_module(f"sourcebench.engines.{engine}").parse(value)
    assert (reply.outcome, reply.reason) == (outcome, reason)


def test_a_stream_that_breaks_off_keeps_what_came():
    """Without the closing event, text and citations so far are kept, and the reply is incomplete."""
    cut = load("openai_responses_stream_events")[:-2]
    reply = parser("openai_x")(cut)
    assert (reply.status, reply.reason) == ("incomplete", "stream_cut")
    assert reply.text.startswith("The trial enrolled 412 people.")
    assert len(reply.citations) == 1
    reply = parser("anthropic_x")(load("anthropic_stream_events")[:-2])
    assert (reply.status, reply.reason) == ("incomplete", "stream_cut")
    assert len(reply.citations) == 1


def test_what_is_no_json_is_refused_with_its_beginning():
    """A page of a gateway in place of a reply is named, not guessed at."""
    with pytest.raises(ValueError, match="the reply is not JSON: it begins '<html>"):
        parse_any(b"<html>Bad gateway</html>")
    with pytest.raises(ValueError, match="name the engine"):
        parse_any({"hello": 1})
