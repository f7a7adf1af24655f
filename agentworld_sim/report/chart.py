"""Small line charts as inline SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentworld_sim.report.html_page import Markup, tag

WIDTH, HEIGHT, MARGIN = 340, 240, 36
COLOURS = 6
"""Classes `series-0` and so on in the style sheet; lines beyond them begin again."""

Line = Sequence[tuple[float, float]]


def chart(
    title: str,
    labels: tuple[str, str],
    lines: Mapping[str, Line],
    *,
    most_x: float = 100,
    diagonal: bool = False,
) -> Markup:
    """A figure with a line for each series, over 0 to 100 in height.

    Args:
        title: Above it.
        labels: Of the two axes.
        lines: Legend to points.
        most_x: Where the axis of x ends.
        diagonal: Whether a line shows where both values are equal.
    """

    def place(x: float, y: float) -> tuple[float, float]:
        across = MARGIN + (WIDTH - MARGIN - 8) * x / (most_x or 1)
        return round(across, 1), round(8 + (HEIGHT - MARGIN - 8) * (1 - y / 100), 1)

    def path(points: Line, kind: str) -> Markup:
        written = " ".join(f"{x},{y}" for x, y in (place(*point) for point in points))
        return tag("polyline", points=written, class_=kind)

    def text(content: str, x: float, y: float, anchor: str) -> Markup:
        return tag("text", content, x=f"{x}", y=f"{y}", text_anchor=anchor)

    drawn: list[Markup] = []
    for share in (0, 25, 50, 75, 100):
        drawn.append(path([(0, share), (most_x, share)], "grid"))
        drawn.append(text(f"{share}", MARGIN - 5, place(0, share)[1] + 4, "end"))
        x = most_x * share / 100
        drawn.append(text(f"{x:,.0f}", place(x, 0)[0], HEIGHT - MARGIN + 14, "middle"))
    if diagonal:
        drawn.append(path([(0, 0), (100, 100)], "grid even"))
    drawn.append(text(labels[0], (MARGIN + WIDTH) / 2, HEIGHT - 6, "middle"))
    legend: list[Markup] = []
    for number, (name, points) in enumerate(lines.items()):
        kind = f"series-{number % COLOURS}"
        drawn.append(path(points, f"line {kind}"))
        drawn += [
            tag("circle", cx=f"{x}", cy=f"{y}", r="2.5", class_=kind)
            for x, y in (place(*point) for point in points)
            if len(points) <= 20
        ]
        legend.append(tag("li", tag("span", "━ ", class_=kind), name))
    picture = tag(
        "svg", drawn, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=f"{title}: {labels[1]}"
    )
    caption = tag("figcaption", tag("b", title), tag("div", labels[1], class_="soft"))
    return tag("figure", caption, picture, tag("ul", legend, class_="legend"))
