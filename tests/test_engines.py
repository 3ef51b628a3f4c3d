"""Raw replies of every engine are read into answer, outcome, citations and spans."""

import json
from importlib import import_module
from pathlib import Path

import pytest

from sourcebench.engines.addresses import iso_date
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


def chat(content: str, **more) -> dict:
    """Return a chat completion."""
    return {"choices": [{"message": {"content": content}}], **more}


def response(*parts: dict, **more) -> dict:
    """Return a response with one message."""
    output = [{"type": "message", "content": [{"type": "output_text", **part} for part in parts]}]
    return {"object": "response", "status": "completed", "output": output, **more}


def cites(reply) -> list[tuple[str, str | None]]:
    """Return each address with the text that its span covers."""
    return [
        (c.url, None if c.start is None else reply.text[c.start : c.end]) for c in reply.citations
    ]


A, B = "https://a.example/", "https://b.example/"


def test_markers_of_perplexity():
    """Code, `[0]` and numbers beyond the list are no citations; either list may be missing."""
    parse = import_module("sourcebench.engines.perplexity").parse
    text = "x [1] `a[2]` [0] [9] [2][1]"
    reply = parse(chat(text, citations=[A, B]))
    assert cites(reply) == [(A, "[1]"), (B, "[2]"), (A, "[1]")]
    assert reply.warnings == ("marker_out_of_range:0", "marker_out_of_range:9")
    rows = [{"url": A, "title": "A &amp; B"}, {"url": B, "title": None}]
    reply = parse(chat("x [2]", citations=None, search_results=rows))
    assert cites(reply) == [(B, "[2]")]
    assert [c.title for c in reply.uncited] == ["A & B"]
    reply = parse(chat("x", citations=[A]))
    assert (cites(reply), reply.warnings) == ([(A, None)], ("list_fallback",))
    reply = parse(chat("x [1]"))
    assert (reply.outcome, reply.warnings) == ("no_citations", ())
    thinking = parse(chat("<think>[1] so</think>\n\nx [2]", citations=[A, B]))
    assert (thinking.text, cites(thinking)) == ("x [2]", [(B, "[2]")])
    pending = parse({"id": "1", "status": "IN_PROGRESS", "response": None})
    assert pending.outcome == "failed"


@pytest.mark.parametrize(
    ("raw_url", "url"),
    [
        ("https://a.example/?utm_source=openai", "https://a.example/"),
        ("https://a.example/?utm_source=openai&b=1", "https://a.example/?b=1"),
        ("https://a.example/?b=1&utm_source=chatgpt.com#f", "https://a.example/?b=1#f"),
        ("https://a.example/?b=1&utm_source=openai&c=2", "https://a.example/?b=1&c=2"),
        ("https://a.example/?utm_source=other", "https://a.example/?utm_source=other"),
        ("https://a.example/?", "https://a.example/?"),
    ],
)
def test_the_engines_own_tracking_goes(raw_url, url):
    """OpenAI's tag goes wherever it stands, other parameters stay, and the address as sent is kept."""
    mark = f"([a]({raw_url}))"
    note = {"type": "url_citation", "url": raw_url, "start_index": 2, "end_index": 2 + len(mark)}
    reply = parser("openai_x")(response({"text": f"x {mark}", "annotations": [note]}))
    assert cites(reply) == [(url, mark)]
    assert reply.citations[0].url_raw == (raw_url if raw_url != url else None)


def test_parts_of_openai():
    """Places count within their part; commentary goes when there is a final answer; leaks are told."""
    mark = f"([a.example]({A}))"
    note = {"type": "url_citation", "url": A, "start_index": 2, "end_index": 2 + len(mark)}
    part = {"text": f"y {mark}", "annotations": [note]}
    reply = parser("openai_x")(response({"text": "x "}, part))
    assert (reply.text, cites(reply)) == (f"x y {mark}", [(A, mark)])
    value = response({"text": "Let me see."})
    value["output"][0]["phase"] = "commentary"
    value["output"] += [{**response(part)["output"][0], "phase": "final_answer"}]
    assert parser("openai_x")(value).text == part["text"]
    leaked = parser("openai_x")(response({"text": "x \ue200cite\ue202turn0search0\ue201"}))
    assert leaked.warnings == ("citation_artifacts",)
    file = {"type": "file_citation", "file_id": "f"}
    assert parser("openai_x")(response({"text": "x", "annotations": [file]})).citations == ()


def test_sources_without_places_of_xai():
    """Annotations without positions are a list, and their number is no title."""
    notes = [{"type": "url_citation", "url": A, "title": "1"}, {"type": "url_citation", "url": B}]
    reply = parser("xai_x")(response({"text": "x", "annotations": notes}, model="grok-4"))
    assert cites(reply) == [(A, None), (B, None)]
    assert reply.warnings == ("list_fallback",)
    assert [c.title for c in reply.citations] == [None, None]
    double = parser("xai_x")(response({"text": f"x[[1]]({A})[[2]]({B})"}, model="grok-4"))
    assert cites(double) == [(A, f"[[1]]({A})"), (B, f"[[2]]({B})")]


def test_tools_of_anthropic():
    """A tool's error, a result without its call, and a source without a result are told."""
    blocks = [
        {"type": "web_search_tool_result", "tool_use_id": "gone", "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}},
        {"type": "web_fetch_tool_result", "content": {"url": B}},
        {"type": "web_search_tool_result", "tool_use_id": "gone", "content": [{"url": "https://c.example/", "page_age": "2025-01-02"}]},
        {"type": "text", "text": "One. ", "citations": [{"type": "web_search_result_location", "url": A, "title": "A", "cited_text": "x"}]},
        {"type": "text", "text": "Two.", "citations": [{"type": "char_location", "document_index": 0}, {"type": "char_location", "document_index": 9}]},
    ]  # fmt: skip
    reply = parser("anthropic_x")({"type": "message", "stop_reason": "end_turn", "content": blocks})
    assert cites(reply) == [(A, "One. "), (B, "Two.")]
    assert set(reply.warnings) == {
        "tool_error:max_uses_exceeded",
        "orphan_tool_result",
        "document_index_mapped",
        "non_web_citation",
        "cited_url_not_in_results",
    }


def test_forms_of_gemini():
    """Snake case is read like camel case, thoughts are no answer, chunks without supports are a list."""
    value = {
        "candidates": [
            {
                "finish_reason": "STOP",
                "content": {"parts": [{"text": "hm", "thought": True}, {"text": "Café."}]},
                "grounding_metadata": {
                    "grounding_chunks": [{"web": {"uri": A, "title": "a"}}],
                    "grounding_supports": [
                        {
                            "segment": {"end_index": 6, "text": "Café."},
                            "grounding_chunk_indices": [0],
                        }
                    ],
                },
            }
        ]
    }
    reply = parser("gemini_x")(value)
    assert (reply.text, cites(reply)) == ("Café.", [(A, "Café.")])
    del value["candidates"][0]["grounding_metadata"]["grounding_supports"]
    reply = parser("gemini_x")(value)
    assert (cites(reply), reply.warnings) == ([(A, None)], ("list_fallback",))


def test_forms_of_searches():
    """Gaps in positions, the text "null" for no citations, and a deferred overview."""
    google = import_module("sourcebench.engines.google").parse
    rows = [
        {"link": B, "position": 7, "date": "3 days ago"},
        {"link": A, "position": 2, "title": "1"},
    ]
    reply = google({"searchParameters": {"q": "q"}, "organic": rows})
    assert [(c.rank, c.url, c.title, c.date) for c in reply.citations] == [
        (1, A, None, None),
        (2, B, None, None),
    ]
    deferred = google(
        {"search_metadata": {"status": "Success"}, "ai_overview": {"page_token": "t"}}
    )
    assert deferred.warnings == ("ai_overview_deferred",)
    exa = import_module("sourcebench.engines.exa").parse
    chunks = [
        {"choices": [{"delta": {"content": "Sa"}}], "citations": "null"},
        {"choices": [{"delta": {"content": "lt."}}]},
        {"choices": [], "citations": [{"url": A, "title": "A"}]},
    ]
    assert (exa(chunks).text, cites(exa(chunks))) == ("Salt.", [(A, None)])
    assert engine_of(chunks) == "exa"
    objects = exa({"requestId": "r", "answer": {"größe": 1}, "citations": []})
    assert (objects.text, objects.warnings) == ('{"größe": 1}', ("answer_is_object",))


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2025-03-04T23:30:00Z", "2025-03-04"),
        ("2025-03-04T08:00:00", "2025-03-04"),
        ("Fri, 18 Apr 2025 23:45:00 -0800", "2025-04-18"),
        ("March 4, 2025", "2025-03-04"),
        ("Mar 4, 2025", "2025-03-04"),
        ("2025-02-30", None),
        ("February 30, 2025", None),
        ("6 days ago", None),
        ("2025", None),
        ("", None),
        (20250304, None),
        (None, None),
    ],
)
def test_dates_are_cut_as_given(text, date):
    """The day is the one that is written, in no other time zone; what is no day is none."""
    assert iso_date(text) == date


NULLS = {
    "perplexity": ("perplexity", chat("x [2] [1]", citations=[None, B]), [(B, "[2]")], 1),
    "perplexity objects": ("perplexity", chat("x [2]", citations=[{"url": A}, {"url": B}]), [(B, "[2]")], 0),
    "perplexity results": ("perplexity", chat("x [2]", search_results=[None, {"url": B}]), [(B, "[2]")], 0),
    "you.com": ("youcom", {"answer": "x [2]", "citations": [None, {"source": B}]}, [(B, "[2]")], 0),
    "gemini": ("gemini", {"candidates": [{"content": {"parts": [{"text": "x y"}]}, "groundingMetadata": {"groundingChunks": [None, {"web": {"uri": B}}], "groundingSupports": [None, {"segment": {"startIndex": 2, "endIndex": 3}, "groundingChunkIndices": [1, None]}]}}]}, [(B, "y")], 0),
    "deepseek": ("deepseek", {"request": {"messages": [{"role": "tool", "content": json.dumps({"results": [{"title": "no address"}, {"url": B}]})}]}, "response": chat("x [2]")}, [(B, "[2]")], 0),
    "responses": ("openai", response({"text": "x", "annotations": [None, {"type": "url_citation"}, {"url": B}]}), [(B, None)], 1),
    "tavily": ("tavily", {"results": [None, {"title": "t"}, {"url": B}], "response_time": 1}, [(B, None)], 1),
    "mistral": ("mistral", {"outputs": [{"type": "message.output", "content": [{"type": "tool_reference", "url": B}, {"type": "text", "text": "x"}]}]}, [(B, None)], 0),
    "anthropic": ("anthropic", {"type": "message", "content": [{"type": "text", "text": "", "citations": [{"url": B}]}, {"type": "text", "text": "x", "citations": None}]}, [(B, None)], 0),
}  # fmt: skip


@pytest.mark.parametrize("case", NULLS)
def test_gaps_in_lists_keep_their_places(case):
    """A null among sources moves no other; one without an address is counted; no span is empty."""
    engine, value, found, nameless = NULLS[case]
    reply = import_module(f"sourcebench.engines.{engine}").parse(value)
    assert cites(reply) == found
    assert reply.without_address == nameless


BROKEN_OFF = {
    "chat": ("openai", [{"choices": [{"delta": {"content": "@"}}]}, {"error": {"message": "gone", "code": 502}}]),
    "perplexity": ("perplexity", [{"choices": [{"delta": {"content": "@"}}]}, {"error": {"message": "gone"}}]),
    "a choice": ("openrouter", {"choices": [{"error": {"message": "gone"}, "message": {"content": "@"}}]}),
    "gemini": ("gemini", [{"candidates": [{"content": {"parts": [{"text": "@"}]}}]}, {"error": {"message": "gone"}}]),
    "responses": ("openai", [{"type": "response.output_text.delta", "delta": "@"}, {"type": "error", "message": "gone"}]),
    "anthropic": ("anthropic", [{"type": "message_start", "message": {}}, {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "@"}}, {"type": "error", "error": {"message": "gone"}}]),
    "exa": ("exa", [{"choices": [{"delta": {"content": "@"}}], "citations": "null"}, {"error": "gone"}]),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN_OFF)
def test_an_error_in_the_middle_of_a_stream(case):
    """With no text before it the request has failed, and the reason stands; text that came is kept."""
    engine, value = BROKEN_OFF[case]
    parse = import_module(f"sourcebench.engines.{engine}").parse
    nothing, half = (parse(json.loads(json.dumps(value).replace("@", t))) for t in ("", "Half"))
    assert (nothing.outcome, nothing.text) == ("failed", "")
    assert nothing.reason.endswith("gone")
    assert half.text == "Half"


ERRORS = {
    "mistral": ("mistral", {"object": "error", "message": "Rate limit", "type": "x", "code": 429}, "Rate limit"),
    "cohere": ("cohere", {"message": "invalid api token"}, "invalid api token"),
    "a list of errors": ("youcom", {"errors": [{"message": "no credit"}]}, "no credit"),
    "gateway": ("openai", {"error": True, "message": "upstream is down"}, "upstream is down"),
    "aws": ("anthropic", {"Message": "Too many requests"}, "Too many requests"),
    "detail": ("perplexity", {"detail": "Unauthorized"}, "Unauthorized"),
    "gemini": ("gemini", {"error": {"code": 500, "message": "Internal"}}, "Internal"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_an_error_with_status_200_is_a_failure(case):
    """An error body is never an empty answer, whatever its shape and HTTP status."""
    engine, value, reason = ERRORS[case]
    exchange = Exchange("POST", "https://x/chat/completions", {}, 200, json.dumps(value).encode())
    reply = import_module(f"sourcebench.engines.{engine}").parse(exchange)
    assert (reply.outcome, reply.reason) == ("failed", reason)


def test_chat_and_gemini_streams_that_break_off():
    """Without a reason for the end, a stream was cut; what came is kept."""
    chunks = [{"choices": [{"delta": {"content": f"See [a]({A})"}}]}, {"choices": [{"delta": {}}]}]
    reply = parser("openai_x")(chunks)
    assert (reply.status, reply.reason, len(reply.citations)) == ("incomplete", "stream_cut", 1)
    chunks = [{"candidates": [{"content": {"parts": [{"text": "Half"}]}}]}]
    reply = parser("gemini_x")(chunks)
    assert (reply.status, reply.reason, reply.text) == ("incomplete", "stream_cut", "Half")


def test_a_cut_stream_keeps_messages_and_parts_apart():
    """Deltas of a second message, after one that ended, stay; annotations count within their part."""
    mark = f"([a]({A}))"
    note = {"type": "url_citation", "url": A, "start_index": 2, "end_index": 2 + len(mark)}
    first = response({"text": "One. "})["output"][0]
    events = [
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "One. "},
        {"type": "response.output_item.done", "output_index": 0, "item": first},
        {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "Two. "},
        {"type": "response.output_text.delta", "output_index": 1, "content_index": 1, "delta": f"x {mark}"},
        {"type": "response.output_text.annotation.added", "output_index": 1, "content_index": 1, "annotation": note},
    ]  # fmt: skip
    reply = parser("openai_x")(events)
    assert reply.text == f"One. Two. x {mark}"
    assert cites(reply) == [(A, mark)]


def test_events_without_blank_lines_between_are_read():
    """A recorder that drops blank lines loses nothing; a stream of nothing is refused."""
    lines = [json.dumps(event) for event in load("openai_responses_stream_events")]
    packed = "".join(f"data: {line}\n" for line in lines) + "data: [DONE]\n"
    expected = parser("openai_x")(load("openai_responses_stream_events"))
    assert parser("openai_x")(packed.encode()) == expected
    with pytest.raises(ValueError, match="holds no event that can be read"):
        parser("openai_x")(b'data: {"type": "respon')


def test_cohere_counts_within_the_part_it_names():
    """Places are code points, or UTF-16 units, of one part; the words decide, and find what moved."""
    parse = import_module("sourcebench.engines.cohere").parse
    source = [{"type": "document", "document": {"url": A}}]

    def spans(**cited):
        content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "One. "}, {"type": "text", "text": "🌊 Two."}]  # fmt: skip
        value = {"message": {"content": content, "citations": [{"sources": source, **cited}]}, "finish_reason": "COMPLETE"}  # fmt: skip
        reply = parse(value)
        return cites(reply)[0][1], reply.warnings

    assert spans(content_index=2, start=2, end=6, text="Two.") == ("Two.", ())
    assert spans(content_index=2, start=3, end=7, text="Two.") == ("Two.", ("offset_unit_utf16",))
    assert spans(content_index=1, start=0, end=4) == ("One.", ())
    assert spans(start=0, end=3, text="Two.") == ("Two.", ("span_reanchored",))
    assert spans(start=0, end=3, text="Six.") == (None, ("segment_text_differs",))
    assert spans(start=90, end=99) == (None, ("span_out_of_range",))
    assert spans(start=None, end=None) == (None, ())


def test_gemini_places_counted_in_code_points_are_told():
    """Where bytes do not give the segment's words but code points do, these are taken, and said."""
    value = {"candidates": [{"content": {"parts": [{"text": "Größe eins. Größe."}]}, "groundingMetadata": {"groundingChunks": [{"web": {"uri": A}}], "groundingSupports": [{"segment": {"startIndex": 12, "endIndex": 17, "text": "Größe"}, "groundingChunkIndices": [0]}]}}]}  # fmt: skip
    reply = parser("gemini_x")(value)
    assert [(c.start, c.end) for c in reply.citations] == [(12, 17)]
    assert reply.warnings == ("span_reanchored",)


@pytest.mark.parametrize("number", ["Infinity", "-Infinity", "NaN", "1e400", '"12"', "9" * 4000])
def test_numbers_of_any_kind_are_no_crash(number):
    """Offsets and counts that are no numbers of places are left out."""
    text = json.dumps(response({"text": "x", "annotations": [{"type": "url_citation", "url": A, "start_index": "@", "end_index": "@"}]}))  # fmt: skip
    reply = parser("openai_x")(text.replace('"@"', number).encode())
    assert cites(reply) == [(A, None)]
