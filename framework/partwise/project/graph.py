"""The graph of nodes by unique id: who reads whom, and in which order to build."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property


class Graph:
    """An acyclic graph. `parents` maps every node to what it reads, in the order in which nodes were found."""

    def __init__(self, parents: Mapping[str, tuple[str, ...]], order: Sequence[str] | None = None) -> None:
        self.parents = parents
        self._known_order = order

    @cached_property
    def children(self) -> dict[str, tuple[str, ...]]:
        """For every node the nodes that read it."""
        found: dict[str, list[str]] = {node: [] for node in self.parents}
        for node, parents in self.parents.items():
            for parent in parents:
                found[parent].append(node)
        return {node: tuple(children) for node, children in found.items()}

    @cached_property
    def order(self) -> tuple[str, ...]:
        """All nodes, each after what it reads; otherwise in the order given."""
        return topological(self.parents) if self._known_order is None else tuple(self._known_order)

    @cached_property
    def position(self) -> dict[str, int]:
        """The place of each node in `order`."""
        return {node: at for at, node in enumerate(self.order)}

    def sorted(self, nodes: Iterable[str]) -> tuple[str, ...]:
        """Some nodes in the order of building."""
        return tuple(sorted(set(nodes), key=self.position.__getitem__))

    def ancestors(self, nodes: Iterable[str], depth: int | None = None) -> set[str]:
        """What some nodes read, directly or through others, at most `depth` steps away; without the nodes themselves,
        unless one reads another."""
        return _reach(self.parents, nodes, depth)

    def descendants(self, nodes: Iterable[str], depth: int | None = None) -> set[str]:
        """What reads some nodes, directly or through others, at most `depth` steps away."""
        return _reach(self.children, nodes, depth)


class Parents(Mapping[str, tuple[str, ...]]):
    """Parents by position in a list of nodes, as a mapping by name: nothing is made before it is asked for."""

    def __init__(self, nodes: Sequence[str], rows: Sequence[Sequence[int]]) -> None:
        self._nodes = nodes
        self._rows = rows
        self._at: dict[str, int] | None = None

    def __getitem__(self, node: str) -> tuple[str, ...]:
        if self._at is None:
            self._at = {name: at for at, name in enumerate(self._nodes)}
        return tuple(map(self._nodes.__getitem__, self._rows[self._at[node]]))

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)


def _reach(links: Mapping[str, tuple[str, ...]], nodes: Iterable[str], depth: int | None) -> set[str]:
    found: set[str] = set()
    layer = list(nodes)
    steps = 0
    while layer and (depth is None or steps < depth):
        steps += 1
        ahead: list[str] = []
        for node in layer:
            for other in links[node]:
                if other not in found:
                    found.add(other)
                    ahead.append(other)
        layer = ahead
    return found


def topological(parents: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Nodes after what they read. Nodes on a cycle, or behind one, are left out."""
    waiting = {node: len(set(above)) for node, above in parents.items()}
    children: dict[str, list[str]] = {}
    for node, above in parents.items():
        for parent in set(above):
            children.setdefault(parent, []).append(node)
    ready = [node for node, count in waiting.items() if not count]
    order: list[str] = []
    for node in ready:  # grows while it is read
        order.append(node)
        for child in children.get(node, ()):
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    return tuple(order)


def cycles(parents: Mapping[str, tuple[str, ...]]) -> list[tuple[str, ...]]:
    """One cycle for each knot of nodes that read each other: every node in it reads the next, the last the first."""
    rest = set(parents) - set(topological(parents))
    found: list[tuple[str, ...]] = []
    seen: set[str] = set()
    for start in parents:
        if start not in rest or start in seen:
            continue
        path: list[str] = []
        at: dict[str, int] = {}
        node: str | None = start
        while node is not None and node not in at and node not in seen:
            at[node] = len(path)
            path.append(node)
            node = next((p for p in parents[node] if p in rest and p not in seen), None)
        if node is not None and node in at:
            found.append(tuple(path[at[node] :]))
        seen.update(path)
    return found
