"""Promises of keeping to robots.txt."""

import gzip

import pytest
from servers import play, redirect, reply, reset, silent, stream

from sourcebench.fetch.addresses import Failure
from sourcebench.fetch.robots import Robots
from sourcebench.fetch.web import Web

RULES = b"""User-agent: *
Disallow: /private
Crawl-delay: 3

User-agent: sourcebench
Disallow: /not-for-us
"""


@pytest.fixture
def robots_of():
    """Return a function that makes the rules of a script's servers, for one name."""
    webs = []

    def make(played, name="sourcebench/0.1 (research)"):
        web = Web(user_agent=name, max_bytes=1_000_000, resolver=played.resolver)
        webs.append(web)
        return Robots(web, name, deadline=0.3)

    yield make
    for web in webs:
        web.close()


def outcome(robots, url):
    """Return the outcome that the rules give an address; ok if it may be asked for."""
    try:
        robots.check(url)
    except Failure as failure:
        return failure.outcome
    return "ok"


def test_rules_for_our_name(robots_of):
    """The group with our name counts, else the one for all; they are read once."""
    with play({"https://example.org/robots.txt": reply(200, RULES)}) as played:
        ours, theirs = robots_of(played), robots_of(played, "other/1")
        assert outcome(ours, "https://example.org/not-for-us/x") == "not_allowed"
        assert outcome(ours, "https://example.org/private") == "ok"
        assert outcome(theirs, "https://example.org/private") == "not_allowed"
        assert outcome(theirs, "https://example.org/not-for-us") == "ok"
        assert (ours.delay("https://example.org/"), theirs.delay("https://example.org/x")) == (0, 3)
    assert played.asked == ["example.org/robots.txt"] * 2


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (reply(404), "ok"),
        (reply(403), "ok"),
        (reply(500), "not_allowed"),
        (reply(503), "not_allowed"),
        (reply(200, b"<html>no rules here"), "ok"),
        (reply(200, b"\xff\xfe\x00" * 100), "ok"),
        (reply(200, b"\xef\xbb\xbf" + RULES), "not_allowed"),
        (reply(200, gzip.compress(RULES), {"Content-Encoding": "gzip"}), "not_allowed"),
        (redirect("https://rules.example.org/"), "not_allowed"),
        (redirect("http://169.254.169.254/"), "not_allowed"),
        (redirect("/robots.txt"), "ok"),
        (stream(b"Disallow: /\n" * 10_000), "not_allowed"),
        (reset, "unreachable"),
        (silent, "timeout"),
    ],
)
def test_what_answers_mean(action, expected, robots_of):
    """No file allows all, a server fault forbids for now, and redirects are followed."""
    script = {
        "https://example.org/robots.txt": action,
        "https://rules.example.org/": reply(200, RULES),
    }
    with play(script) as played:
        assert outcome(robots_of(played), "https://example.org/not-for-us") == expected


def test_passing_faults_are_tried_again(robots_of):
    """A connection that broke while the rules were read does not stand for the whole run."""
    with play({"https://example.org/robots.txt": [reset, reply(200, RULES)]}) as played:
        robots = robots_of(played)
        assert outcome(robots, "https://example.org/x") == "unreachable"
        assert outcome(robots, "https://example.org/x") == "ok"
