"""Small line charts as inline SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentworld_sim.report.html_page import Markup, tag

WIDTH, HEIGHT, LEFT, TOP = 340, 200, 32, 8
"""Of the picture and its two margins, in units of its view box."""

COLOURS = 6
"""Classes of the style sheet, `series-0` and so on; lines beyond them begin again."""

Line = Sequence[tuple[float, float]]


def chart(title: str, across: str, up: str, lines: Mapping[str, Line]) -> Markup:
    """A figure whose heights are percent.

    Args:
        title: Above it.
        across: What the widths are; they end at the widest point.
        up: What the heights are.
        lines: Legend to points.
    """
    most_x = max([x for points in lines.values() for x, _ in points], default=0) or 1

    def place(x: float, y: float) -> tuple[float, float]:
        return LEFT + (WIDTH - LEFT - 16) * x / most_x, TOP + (HEIGHT - 2 * TOP) * (1 - y / 100)

    def path(points: Line, kind: str) -> Markup:
        places = [(f"{x:.1f}", f"{y:.1f}") for x, y in (place(*point) for point in points)]
        line = tag("polyline", points=" ".join(map(",".join, places)))
        dots = [tag("circle", cx=x, cy=y, r="2.5") for x, y in places if "grid" not in kind]
        return tag("g", line, dots, class_=kind)

    def text(content: str, x: float, y: float, anchor: str) -> Markup:
        return tag("text", content, x=f"{x:.0f}", y=f"{y:.0f}", text_anchor=anchor)

    drawn: list[Markup] = []
    for share in (0, 25, 50, 75, 100):
        x, y = place(most_x * share / 100, share)
        drawn.append(path([(0, share), (most_x, share)], "grid"))
        drawn.append(text(f"{share}", LEFT - 5, y + 4, "end"))
        drawn.append(
            text(f"{most_x * share / 100:,.{2 * (most_x < 20)}f}", x, HEIGHT + 8, "middle")
        )
    kinds = [f"series-{number % COLOURS}" for number in range(len(lines))]
    drawn += [path(points, kind) for points, kind in zip(lines.values(), kinds, strict=True)]
    legend = [
        tag("li", tag("span", "━ ", class_=kind), name)
        for name, kind in zip(lines, kinds, strict=True)
    ]
    picture = tag(
        "svg",
        drawn,
        viewBox=f"0 0 {WIDTH} {HEIGHT + 12}",
        role="img",
        aria_label=f"{title}: {up}",
    )
    below, above = (tag("div", label, class_="soft") for label in (across, up))
    return tag("figure", tag("b", title), above, picture, below, tag("ul", legend, class_="legend"))
