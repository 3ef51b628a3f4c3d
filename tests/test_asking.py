"""Each engine is asked as its documentation says, and its reply is kept byte for byte."""

import json
import logging
from importlib import import_module
from pathlib import Path

import pytest
import requests
from provider import Said, serving

from sourcebench.engines import ASKED, engine, key_names
from sourcebench.engines.presets import PRESETS, preset
from sourcebench.engines.wire import EngineError, Exchange

REPLIES = Path(__file__).parent / "data" / "replies"
KEY = "sk-secret-0123456789"
BEARER = {"authorization": f"Bearer {KEY}"}

# engine, settings, recorded reply, method, path, headers, what the body or the parameters hold
ASKS = {
    "openai responses": ("openai", {"model": "gpt-5"}, "openai_responses_web_search", "POST", "/responses", BEARER,
        {"model": "gpt-5", "input": "Q?", "tools": [{"type": "web_search"}], "include": ["web_search_call.action.sources"]}),
    "openai chat": ("openai", {"model": "gpt-4o-search-preview", "api": "chat"}, "openai_chat_search_preview", "POST", "/chat/completions", BEARER,
        {"model": "gpt-4o-search-preview", "messages": [{"role": "user", "content": "Q?"}], "web_search_options": {}}),
    "openai stream": ("openai", {"model": "gpt-5", "options": {"stream": True}}, "openai_responses_stream_events", "POST", "/responses", BEARER,
        {"stream": True}),
    "xai": ("xai", {"model": "grok-4-1-fast"}, "xai_responses_agent_tools", "POST", "/responses", BEARER,
        {"model": "grok-4-1-fast", "input": [{"role": "user", "content": "Q?"}], "tools": [{"type": "web_search"}]}),
    "gemini": ("gemini", {"model": "gemini-3-flash-preview"}, "gemini_generate_content_grounding", "POST", "/models/gemini-3-flash-preview:generateContent", {"x-goog-api-key": KEY},
        {"contents": [{"role": "user", "parts": [{"text": "Q?"}]}], "tools": [{"google_search": {}}]}),
    "gemini stream": ("gemini", {"model": "g", "stream": True}, "gemini_stream_chunks", "POST", "/models/g:streamGenerateContent", {"x-goog-api-key": KEY},
        {"tools": [{"google_search": {}}]}),
    "perplexity": ("perplexity", {"model": "sonar-pro"}, "perplexity_sonar_2025_06", "POST", "/chat/completions", BEARER,
        {"model": "sonar-pro", "messages": [{"role": "user", "content": "Q?"}]}),
    "perplexity stream": ("perplexity", {"model": "sonar", "options": {"stream": True}}, "perplexity_stream_chunks", "POST", "/chat/completions", BEARER,
        {"stream": True}),
    "perplexity agent": ("perplexity", {"model": "m", "api": "agent"}, "perplexity_agent_api", "POST", "/v1/agent", BEARER,
        {"model": "m", "input": "Q?", "tools": [{"type": "web_search"}]}),
    "anthropic": ("anthropic", {"model": "claude-sonnet-4-5"}, "anthropic_web_search_20250305", "POST", "/messages", {"x-api-key": KEY, "anthropic-version": "2023-06-01"},
        {"model": "claude-sonnet-4-5", "max_tokens": 4096, "messages": [{"role": "user", "content": "Q?"}], "tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": 5}]}),
    "anthropic stream": ("anthropic", {"model": "c", "options": {"stream": True}}, "anthropic_stream_events", "POST", "/messages", {"x-api-key": KEY},
        {"stream": True}),
    "deepseek alone": ("deepseek", {"model": "deepseek-reasoner"}, "deepseek_reasoner_no_search", "POST", "/chat/completions", BEARER,
        {"model": "deepseek-reasoner", "messages": [{"role": "user", "content": "Q?"}]}),
    "google custom": ("google", {"cx": "engine-1", "max_results": 50}, "google_custom_search", "GET", "/", {},
        {"cx": "engine-1", "q": "Q?", "num": "10", "key": KEY}),
    "google serpapi": ("google", {"api": "serpapi"}, "serpapi_google", "GET", "/", {},
        {"engine": "google", "q": "Q?", "api_key": KEY}),
    "google serper": ("google", {"api": "serper"}, "serper_search", "POST", "/", {"x-api-key": KEY},
        {"q": "Q?", "num": 10}),
    "exa": ("exa", {"max_results": 7}, "exa_search", "POST", "/search", {"x-api-key": KEY},
        {"query": "Q?", "numResults": 7}),
    "exa answer": ("exa", {"api": "answer"}, "exa_answer", "POST", "/answer", {"x-api-key": KEY},
        {"query": "Q?"}),
    "tavily": ("tavily", {"max_results": 5}, "tavily_search", "POST", "/search", BEARER,
        {"query": "Q?", "max_results": 5}),
    "gensee": ("gensee", {}, "gensee_search", "POST", "/search", BEARER,
        {"query": "Q?", "max_results": 10, "mode": "evidence"}),
    "chat": ("chat", {"model": "m", "key": "MINE_API_KEY"}, "openai_chat_search_preview", "POST", "/chat/completions", BEARER,
        {"model": "m"}),
    "chat without a prompt": ("chat", {"model": "m", "prompt": "", "options": {"seed": 1}}, "openrouter_web_plugin", "POST", "/chat/completions", {},
        {"model": "m", "messages": [{"role": "user", "content": "Q?"}], "seed": 1}),
    "brave": ("brave", {}, "brave_web_search", "GET", "/web/search", {"x-subscription-token": KEY},
        {"q": "Q?", "count": "10"}),
}  # fmt: skip


@pytest.fixture
def http():
    """Return a session, closed after use."""
    with requests.Session() as session:
        yield session


def body_of(name: str) -> bytes:
    """Return a recorded reply as the wire has it: a stream as events, anything else as it is."""
    data = (REPLIES / f"{name}.json").read_bytes()
    value = json.loads(data)
    if not isinstance(value, list):
        return data
    lines = (json.dumps(event, ensure_ascii=False) for event in value)
    return "".join(f"data: {line}\n\n" for line in lines).encode()


@pytest.mark.parametrize("case", ASKS)
def test_request_and_reply_of_every_engine(case, http):
    """Path, headers and body are as documented; what comes back is kept, and read as expected."""
    name, settings, recorded, method, path, headers, holds = ASKS[case]
    module, sent_back = engine(name), body_of(recorded)
    with serving(lambda _: Said(sent_back)) as provider:
        base = provider.url + ("/" if path == "/" else "")
        exchanges = module.ask("Q?", settings={**settings, "base_url": base}, http=http, key=KEY)
    asked = provider.asked[0]
    assert (asked.method, asked.path) == (method, path)
    assert headers.items() <= asked.headers.items()
    sent = asked.json if asked.json is not None else asked.params
    assert holds.items() <= sent.items()
    assert exchanges[0].body == sent_back
    expected = json.loads((REPLIES / f"{recorded}.expected.json").read_text(encoding="utf-8"))
    reply = module.parse(exchanges)
    assert reply.text == expected["answer_text"]
    assert [c.url for c in reply.citations] == [c["url"] for c in expected["citations"]]


@pytest.mark.parametrize("case", ASKS)
def test_no_key_is_kept(case, http):
    """The key is in no record, even where the provider repeats it; a record reads back the same."""
    name, settings, *_ = ASKS[case]
    body = json.dumps({"error": {"message": f"bad key {KEY}"}}).encode()
    with serving(lambda _: Said(body, 400, {"X-Request-Id": KEY})) as provider:
        exchanges = engine(name).ask(
            "Q?", settings={**settings, "base_url": provider.url}, http=http, key=KEY
        )
    for exchange in exchanges:
        row = exchange.to_dict()
        assert KEY not in json.dumps(row)
        assert Exchange.from_dict(json.loads(json.dumps(row))) == exchange
    reply = engine(name).parse(exchanges)
    assert (reply.outcome, reply.reason) == ("failed", "HTTP 400: bad key [key]")


@pytest.mark.parametrize("case", ["google custom", "google serpapi", "openai responses"])
def test_no_key_is_in_an_exception(case, http):
    """A connection that fails names no address, since that may hold the key."""
    name, settings, *_ = ASKS[case]
    with serving(lambda _: Said(b"{}")) as provider:
        gone = provider.url
    with pytest.raises(EngineError, match="no reply: could not connect") as caught:
        engine(name).ask("Q?", settings={**settings, "base_url": gone}, http=http, key=KEY)
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None
    assert KEY not in str(error)


@pytest.mark.parametrize("case", ["google custom", "google serpapi", "tavily"])
def test_no_key_is_in_a_log(case, http, caplog):
    """Even with every library logging in full, no line holds the key."""
    caplog.set_level(logging.DEBUG)
    name, settings, recorded, *_ = ASKS[case]
    with serving(lambda _: Said(body_of(recorded))) as provider:
        engine(name).ask("Q?", settings={**settings, "base_url": provider.url}, http=http, key=KEY)
    assert provider.asked
    assert KEY not in caplog.text


def test_a_connection_that_breaks_off_is_told(http):
    """Half a body is no reply."""
    with serving(lambda _: Said(b"{" + b" " * 50000 + b"}", cut=True)) as provider:
        settings = {"base_url": provider.url}
        with pytest.raises(EngineError, match="the connection broke off"):
            engine("tavily").ask("Q?", settings=settings, http=http, key=KEY)


def test_a_reply_without_bound_is_cut_short(http, monkeypatch):
    """A body over the bound is refused, whatever it holds."""
    monkeypatch.setattr("sourcebench.engines.wire.MAX_BYTES", 1000)
    with (
        serving(lambda _: Said(b"x" * 5000)) as provider,
        pytest.raises(EngineError, match="longer than 1000 bytes") as caught,
    ):
        engine("tavily").ask("Q?", settings={"base_url": provider.url}, http=http, key=KEY)
    assert caught.value.kind == "too_large"


def test_a_page_of_a_gateway_is_a_failed_reply(http):
    """HTML in place of JSON is a failure with its status."""
    with serving(lambda _: Said(b"<html>Bad gateway</html>", 502)) as provider:
        exchanges = engine("openai").ask(
            "Q?", settings={"model": "m", "base_url": provider.url}, http=http, key=KEY
        )
    reply = engine("openai").parse(exchanges)
    assert (reply.outcome, reply.reason[:8]) == ("failed", "HTTP 502")


def test_netrc_does_not_take_the_place_of_the_key(http, tmp_path, monkeypatch):
    """A password that the user keeps for a host is not sent instead of the key."""
    netrc = tmp_path / "netrc"
    netrc.write_text("default login someone password other\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(netrc))
    with serving(lambda _: Said(body_of("tavily_search"))) as provider:
        engine("tavily").ask("Q?", settings={"base_url": provider.url}, http=http, key=KEY)
    assert provider.asked[0].headers["authorization"] == f"Bearer {KEY}"


def test_gemini_records_where_its_redirects_lead(http, monkeypatch):
    """Short-lived redirects are asked for their target at once; a dead one stays as it is."""

    def answer(asked):
        if asked.method == "HEAD":
            to = {"/A": "https://transit.example.org/line-11", "/B": "https://fares.example.com/"}
            location = to.get(asked.path.removeprefix("/r"))
            return Said(b"", 302 if location else 404, {"Location": location} if location else {})
        return Said(reply_body)

    with serving(answer) as provider:
        host = provider.url.removeprefix("http://")
        monkeypatch.setattr("sourcebench.engines.gemini.REDIRECTOR", host)
        old = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/EXAMPLE-"
        reply_body = body_of("gemini_generate_content_grounding").replace(
            old.encode(), f"{provider.url}/r/".encode()
        )
        settings = {"model": "g", "base_url": provider.url}
        exchanges = engine("gemini").ask("Q?", settings=settings, http=http, key=KEY)
        reply = engine("gemini").parse(exchanges)
    assert [c.url for c in reply.citations] == [
        "https://transit.example.org/line-11",
        "https://fares.example.com/",
        "https://transit.example.org/line-11",
    ]
    assert [c.url for c in reply.uncited] == [f"{provider.url}/r/C"]
    assert "x-goog-api-key" not in provider.asked[1].headers


def test_anthropic_continues_a_turn_that_pauses(http):
    """A paused turn goes on with what was said so far, and all its messages are one answer."""
    first = {
        "type": "message",
        "stop_reason": "pause_turn",
        "content": [{"type": "text", "text": "Let me look. "}],
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }
    bodies = [json.dumps(first).encode(), body_of("anthropic_web_search_20250305")]
    with serving(lambda _: Said(bodies.pop(0))) as provider:
        exchanges = engine("anthropic").ask(
            "Q?", settings={"model": "c", "base_url": provider.url}, http=http, key=KEY
        )
    assert provider.asked[1].json["messages"][1] == {
        "role": "assistant",
        "content": first["content"],
    }
    reply = engine("anthropic").parse(exchanges)
    assert reply.text.startswith("Let me look. Here is what I found:")
    assert reply.text[slice(reply.citations[0].start, reply.citations[0].end)].startswith(
        "The museum is open"
    )
    assert reply.usage == {"input": 6130, "output": 245, "total": 6375}


@pytest.mark.parametrize("model", ["deepseek-chat", "deepseek-reasoner"])
@pytest.mark.parametrize("tool", ["tavily", "gensee"])
def test_deepseek_is_joined_with_a_search_tool(model, tool, http):
    """The tool's results reach the model as numbered pages, and its marks refer to them."""
    answer = {"choices": [{"message": {"content": "So it is[citation:2]."}}], "model": model}

    def reply(asked):
        chat = asked.path == "/chat/completions"
        return Said(json.dumps(answer).encode() if chat else body_of(f"{tool}_search"))

    with serving(reply) as provider:
        settings = {
            "model": model,
            "tool": tool,
            "base_url": provider.url,
            "tool_settings": {"base_url": provider.url, "max_results": 3},
        }
        exchanges = engine("deepseek").ask("Q?", settings=settings, http=http, key=(KEY, "other"))
    search, chat = provider.asked
    assert search.headers["authorization"] == "Bearer other"
    assert search.json["max_results"] == 3
    assert chat.headers["authorization"] == f"Bearer {KEY}"
    prompt = chat.json["messages"][0]["content"]
    assert "[webpage 2 begin]" in prompt
    assert prompt.endswith("Q?")
    second = {
        "tavily": "https://news.example.com/hp",
        "gensee": "https://grid.example.com/notes",
    }[tool]
    parsed = engine("deepseek").parse(exchanges)
    assert [c.url for c in parsed.citations] == [second]
    assert parsed.queries == ("Q?",)


def test_deepseek_does_not_ask_after_a_failed_search(http):
    """Without results there is no answer, and the reason names the search."""
    body = json.dumps({"detail": {"error": "plan limit"}}).encode()
    with serving(lambda _: Said(body, 432)) as provider:
        settings = {"model": "m", "tool": "tavily", "tool_settings": {"base_url": provider.url}}
        exchanges = engine("deepseek").ask("Q?", settings=settings, http=http, key=(KEY, KEY))
    assert len(provider.asked) == 1
    reply = engine("deepseek").parse(exchanges)
    assert (reply.outcome, reply.reason) == ("failed", "search: HTTP 432: plan limit")


def test_google_custom_search_needs_an_engine_id(http):
    """A missing setting is named before anything is sent."""
    with pytest.raises(ValueError, match="needs `cx`"):
        engine("google").ask("Q?", settings={}, http=http, key=KEY)


def test_presets_cover_the_systems_of_the_paper():
    """Every system of Tables 4 to 9 has settings, and names the keys it needs."""
    assert list(PRESETS) == [
        "GPT-5", "GPT-4o", "Grok-4.1-Fast", "Claude-Sonnet-4.5", "Gemini-3-Pro", "Gemini-3-Flash",
        "Gemini-2.5-Flash", "Perplexity-Sonar-Pro", "Google", "Exa", "Tavily", "Gensee",
        "DS-Chat-Tavily", "DS-Chat-Gensee", "DS-Reasoning-Tavily", "DS-Reasoning-Gensee",
    ]  # fmt: skip
    for name in PRESETS:
        settings = preset(name)
        assert settings["engine"] in ASKED
        assert all(key.endswith("_API_KEY") for key in key_names(settings))
    assert key_names(preset("DS-Chat-Gensee")) == ("DEEPSEEK_API_KEY", "GENSEE_API_KEY")
    assert key_names({**preset("GPT-5"), "key": "MY_API_KEY"}) == ("MY_API_KEY",)
    with pytest.raises(ValueError, match="no preset 'Bing'"):
        preset("Bing")


def test_every_engine_has_the_same_two_functions():
    """An engine is a module with `ask`, `parse`, an address and the names of its keys."""
    for name in ASKED:
        module = import_module(f"sourcebench.engines.{name}")
        assert callable(module.ask)
        assert callable(module.parse)
        assert module.KEYS or name == "chat"  # an endpoint of one's own may do without
