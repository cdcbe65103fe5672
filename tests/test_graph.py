"""The graph: order, reach and cycles."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from partwise.project.graph import Graph, cycles, topological

DIAMOND = {"d": ("b", "c"), "b": ("a",), "c": ("a",), "a": (), "e": ("d",), "x": ()}


def test_order_puts_parents_first() -> None:
    order = Graph(DIAMOND).order
    assert sorted(order) == sorted(DIAMOND)
    assert all(order.index(parent) < order.index(node) for node, above in DIAMOND.items() for parent in above)


def test_reach() -> None:
    graph = Graph(DIAMOND)
    assert graph.ancestors(["d"]) == {"a", "b", "c"}
    assert graph.ancestors(["d"], 1) == {"b", "c"}
    assert graph.ancestors(["e"], 2) == {"d", "b", "c"}
    assert graph.descendants(["a"]) == {"b", "c", "d", "e"}
    assert graph.descendants(["a"], 0) == set()
    assert graph.ancestors(["b", "d"]) == {"a", "b", "c"}
    assert graph.ancestors(["x"]) == graph.descendants(["x"]) == set()


def test_cycles_name_their_nodes_in_reading_order() -> None:
    assert cycles(DIAMOND) == []
    assert cycles({"a": ("b",), "b": ("c",), "c": ("a",), "z": ("a",)}) == [("a", "b", "c")]
    assert cycles({"z": ("a",), "a": ("b",), "b": ("a",), "p": ("q",), "q": ("p",)}) == [("a", "b"), ("p", "q")]


@given(st.dictionaries(st.integers(0, 8), st.lists(st.integers(0, 8), max_size=3), max_size=9))
def test_topological_order_or_a_cycle(given_edges: dict[int, list[int]]) -> None:
    parents = {str(n): tuple(str(p) for p in above if p in given_edges) for n, above in given_edges.items()}
    order = topological(parents)
    at = {node: i for i, node in enumerate(order)}
    assert all(at[p] < at[n] for n in order for p in parents[n])
    rings = cycles(parents)
    assert bool(rings) == (len(order) < len(parents))
    for ring in rings:
        assert all(ring[(i + 1) % len(ring)] in parents[node] for i, node in enumerate(ring))
