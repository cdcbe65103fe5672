"""Every position in rendered text leads back to the line of the template it was written on."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import DictLoader
from jinja2.sandbox import SandboxedEnvironment

from partwise.rendering.linemap import Located, Location, edit, error_position, join, locate, locating

MACROS = """{% macro one(x) %}({{ x }}){% endmacro %}
{% macro two(x) -%}
  a /*macro:3*/,
  {{ one(x) }} /*macro:4*/
{%- endmacro %}"""

# Each piece is a template text; `@` becomes a comment that names the line it stands on.
PIECES = [
    "select a @\n",
    "  , b @\n\n",
    "{{ 'x' }} @\n",
    "{{ name }} @ {{ 1 + 1 }} @\n",
    "{% if true %}\n c @\n{% endif %}\n",
    "{%- if true -%}\n\n d @\n{%- endif -%}\n\n e @\n",
    "{# a\ncomment @@ #}\nf @\n",
    "{% for i in [1, 2] %}\n  g @\n{% endfor %}",
    "{% set kept %}\nh @\n{% endset %}\n{{ kept }}\n@ ",
    "{{ kept | default('') }}",
    "{{ m.two('y') }} @\n",
    "{{ m.one(\n 'z'\n) }} @\n",
    "{{ m.two(\n'y') | trim }}\n",
    "{% raw %}{{ not jinja }} @\n{% endraw %}",
    "-- last @",
]


def rendered(pieces: list[str]) -> tuple[str, Located]:
    template = "{% import 'macros.sql' as m %}" + "".join(pieces)
    lines = template.split("\n")
    template = "\n".join(
        re.sub("@+", lambda match, n=n: f"/*L{n}*/" if match[0] == "@" else "", line)
        for n, line in enumerate(lines, start=1)
    )
    environment = SandboxedEnvironment(loader=DictLoader({"model.sql": template, "macros.sql": MACROS}))
    locating(environment)
    made = environment.get_template("model.sql")
    text = environment.concat(made.root_render_func(made.new_context({"name": "col"})))
    assert isinstance(text, Located)
    plain = SandboxedEnvironment(loader=DictLoader({"model.sql": template, "macros.sql": MACROS}))
    assert str.__str__(text) == plain.get_template("model.sql").render({"name": "col"})
    return template, text


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_every_mark_is_found_on_its_line(pieces):
    _, text = rendered(pieces)
    for mark in re.finditer(r"/\*L(\d+)\*/", text):
        assert text.at(mark.start()) == Location("model.sql", int(mark[1]))
    for mark in re.finditer(r"/\*macro:(\d+)\*/", text):
        where = text.at(mark.start())
        assert (where.file, where.line) == ("macros.sql", int(mark[1]))
        assert where.caller is not None and where.caller[0] == "model.sql"


def test_a_macro_names_the_line_that_calls_it():
    _, text = rendered(["select\n", "{{ m.two('y') }}"])
    assert text.at(text.index("macro:3")) == Location("macros.sql", 3, ("model.sql", 2))
    assert str(text.at(text.index("macro:3"))) == "macros.sql:3, called at model.sql:2"
    assert text.at(text.index("(y)")) == Location("macros.sql", 1, ("model.sql", 2))


def test_located_text_is_text():
    one = locate("a b", Location("f", 1))
    assert one == "a b" and hash(one) == hash("a b") and f"{one}" == "a b" and one in {"a b"}
    assert (one + " c").at(4) == Location("f", 1)
    assert ("c " + one).at(2) == Location("f", 1)
    assert join(["", one.strip(), locate("x", Location("f", 9))]).at(3) == Location("f", 9)
    assert locate(" \n a", Location("f", 1), advancing=True).strip().at(0) == Location("f", 2)


@settings(deadline=None)
@given(st.data())
def test_edits_keep_the_lines_of_the_rest(data):
    text = locate("".join(data.draw(st.lists(st.sampled_from("ab\n"), max_size=30))), Location("f", 1), advancing=True)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    edits = [(a, b, data.draw(st.sampled_from(["", "XY"]))) for a, b in zip(cuts[::2], cuts[1::2], strict=False)]
    changed = edit(text, edits)
    at = 0
    shift = 0
    for start, stop, new in edits:
        for i in range(at, start):
            assert changed[i + shift] == text[i] and changed.at(i + shift) == text.at(i)
        at, shift = stop, shift + len(new) - (stop - start)
    for i in range(at, len(text)):
        assert changed[i + shift] == text[i] and changed.at(i + shift) == text.at(i)


STATEMENT = "insert into t\nselect a,\n  b + nowhere\nfrom t"


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("Binder Error: no\n\nLINE 3:   b + nowhere\n              ^", "nowhere"),
        ("Binder Error: no\n\nLINE 3: ... + nowhere\n              ^", "nowhere"),
        ("SQL compilation error: error line 3 at position 6\ninvalid identifier", "nowhere"),
        ("SQL compilation error:\nsyntax error line 2 at position 7 unexpected 'a'.", "a,"),
        ("error at line 4", "from t"),
        ("no line at all", None),
        ("LINE 99: b", None),
    ],
)
def test_positions_in_messages(message, found):
    position = error_position(message, STATEMENT)
    assert (None if position is None else STATEMENT[position:].startswith(found)) is (found and True)
