"""Definitions and policies as text, both ways."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise import partitions
from partwise.errors import PartitionError
from partwise.partitions import Definition, SimpleDefinition
from partwise.project import constructors
from partwise.project.calls import DEFINITIONS, call_text
from partwise.project.config import OWN
from partwise.project.configdocs import ABOUT
from partwise.project.constructors import definition_from, definition_from_text, definition_text

KEYS = st.lists(st.sampled_from(["US", "NO", "a'b", 'q"', "007", "ä|b", "\\", " "]), min_size=1, max_size=4, unique=True)
COMMON = {
    "timezone": st.sampled_from(["UTC", "America/New_York", "Asia/Kathmandu"]),
    "minute_offset": st.integers(0, 59),
    "end_offset": st.integers(-3, 3),
    "end": st.sampled_from(["2025-01-01", "2025-06-01"]),
}


def time(kind: str, **more: st.SearchStrategy[object]) -> st.SearchStrategy[SimpleDefinition]:
    optional = {**COMMON, **more}
    return st.fixed_dictionaries({"start": st.just("2024-01-01")}, optional=optional).map(
        lambda given: getattr(partitions, kind)(**given)
    )


SIMPLE = st.one_of(
    time("hourly"),
    time("daily", hour_offset=st.integers(0, 23), exclude=st.just(["0 0 * * 6,0"])),
    time("weekly", day_offset=st.integers(0, 6)),
    time("monthly", day_offset=st.integers(1, 31)),
    time("yearly"),
    st.just(partitions.cron("*/30 9-17 * * 1-5", "2024-01-01")),
    KEYS.map(partitions.static),
    st.sampled_from([partitions.dynamic("d"), partitions.dynamic("d", shared=True, discover="select 1")]),
)
ANY = st.one_of(SIMPLE, st.dictionaries(st.sampled_from("abc"), SIMPLE, min_size=2).map(partitions.multi))


@given(ANY)
def test_text_makes_the_same_definition(definition: Definition) -> None:
    text = definition_text(definition)
    again = definition_from_text(text)
    assert definition_text(again) == text
    assert again.id == definition.id and again.axes == definition.axes


def test_every_constructor_is_known_by_name() -> None:
    assert {name for name in DEFINITIONS if callable(getattr(partitions, name))} == set(constructors.DEFINITIONS)


@given(KEYS)
def test_calls_in_templates_make_the_same(keys: list[str]) -> None:
    inner = {"r": call_text("static", (keys,), {}), "d": call_text("daily", (), {"start": "2024-01-01"})}
    wanted = partitions.multi(r=partitions.static(keys), d=partitions.daily("2024-01-01"))
    assert definition_from(str(call_text("multi", (), inner)), {}) == wanted


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("daily(start=__import__('os').getcwd())", "no `__import__('os').getcwd()`"),
        ("daily(start=[x for x in 'a'])", "cannot be used here"),
        ("daily(start='a' + 'b')", "cannot be used here"),
        ("daily(*['2024-01-01'])", "cannot be used here"),
        ("daily(**{})", "cannot be used here"),
        ("daily", "no partition definition `daily`"),
        ("'daily'", "no partition definition"),
        ("daily(", "cannot be read"),
        ("", "cannot be read"),
        ("identity()", "no `identity()`"),
        (7, "`7` is no partition definition"),
        ([], "no partition definition"),
        ({}, "one kind, not 0"),
        ({"daily": {"start": "2024-01-01"}, "static": ["a"]}, "one kind, not 2"),
        ({"static": "US"}, "static() takes a list"),
        ({"static": None}, "static is given None"),
        ({"static": ["a", None]}, "empty entry"),
        ({"static": ["a", "a"]}, "given twice"),
        ({"multi": ["a"]}, "a definition per dimension"),
        ({"multi": {"a": {"static": ["x"]}}}, "two dimensions or more"),
        ({"daily": {"start": "2024-01-01", "hour_offset": "x"}}, "`hour_offset`"),
        ({"monthly": {"start": "2024-01-01", "week_start": "monday"}}, "no argument `week_start`"),
    ],
)
def test_refused(value: object, words: str) -> None:
    with pytest.raises(PartitionError) as caught:
        definition_from(value, {})
    assert words in str(caught.value)


def test_every_config_key_is_described() -> None:
    assert list(ABOUT) == list(OWN)
