"""Promises of the order in which hosts are visited."""

from hypothesis import given
from hypothesis import strategies as st

from sourcebench.fetch.turns import Turns


def test_one_at_a_time_and_a_pause():
    """A host is visited by one at a time, and only after its pause."""
    turns = Turns(per_host=1)
    turns.add("a", 1)
    turns.add("a", 2)
    assert (turns.take(0.0), turns.take(0.0), turns.next_at()) == (1, None, None)
    turns.done("a", free_at=5.0)
    assert (turns.take(4.9), turns.next_at()) == (None, 5.0)
    assert turns.take(5.0) == 2


def test_hosts_do_not_wait_for_each_other():
    """While one host pauses, another is visited."""
    turns = Turns(per_host=1)
    for item in ("a1", "a2", "b1"):
        turns.add(item[0], item)
    assert turns.take(0.0) == "a1"
    turns.done("a", free_at=100.0)
    assert turns.take(0.0) == "b1"
    assert turns.next_at() == 100.0


def test_first_and_drain():
    """A visit that goes on stands before the others; a host that is given up is emptied."""
    turns = Turns(per_host=2)
    for item in (1, 2, 3):
        turns.add("a", item)
    turns.add("a", 0, first=True)
    assert [turns.take(0.0), turns.take(0.0), turns.take(0.0)] == [0, 1, None]
    assert turns.drain("a") == [2, 3]
    turns.done("a", 0.0)
    assert (turns.take(0.0), turns.next_at()) == (None, None)


@given(st.lists(st.sampled_from("abc"), max_size=30), st.integers(1, 3), st.integers(0, 3))
def test_everything_gets_its_turn(hosts, per_host, pause):
    """Whatever waits is visited once, never more than allowed at a host, never before its pause."""
    turns, now, visited, inside, ended = Turns(per_host), 0.0, [], [], {}
    for number, host in enumerate(hosts):
        turns.add(host, (host, number))
    while turns.next_at() is not None or inside:
        while item := turns.take(now):
            assert now >= ended.get(item[0], 0.0)
            inside.append(item)
            visited.append(item)
            assert sum(host == item[0] for host, _ in inside) <= per_host
        if inside:
            host, _ = inside.pop(0)
            ended[host] = now + pause
            turns.done(host, now + pause)
        now += 0.5
    assert sorted(visited) == sorted((host, number) for number, host in enumerate(hosts))
