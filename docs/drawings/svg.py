"""A few SVG shapes on a light card, so that drawings look the same on light and dark pages."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

INK = "#222222"
MUTED = "#6b6b6b"
LINE = "#d8d4c8"
CARD = "#fcfbf8"
GREEN = "#14532d"
LIGHT_GREEN = "#dcebdd"
AMBER = "#b45309"
LIGHT_AMBER = "#fbe6c8"

Point = tuple[float, float]


class Drawing:
    """A picture made of shapes, in the order in which they are drawn.

    Parameters
    ----------
    width, height : int
        Size in pixels.
    title : str
        Text alternative.
    """

    def __init__(self, width: int, height: int, title: str) -> None:
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img" '
            'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" '
            'font-size="14">',
            f"<title>{escape(title)}</title>",
        ]
        self.box(0.5, 0.5, width - 1, height - 1, fill=CARD, stroke=LINE, radius=10)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str = "none",
        stroke: str = "none",
        radius: float = 3,
    ) -> None:
        """Draw a rectangle."""
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius:g}" '
            f'fill="{fill}" stroke="{stroke}"/>'
        )

    def circle(self, x: float, y: float, radius: float, *, fill: str, stroke: str = "none") -> None:
        """Draw a filled circle."""
        self._parts.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{fill}" stroke="{stroke}"/>'
        )

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        fill: str = INK,
        anchor: str = "start",
        size: int = 14,
        bold: bool = False,
        mono: bool = False,
    ) -> None:
        """Write a line of text."""
        weight = ' font-weight="600"' if bold else ""
        family = ' font-family="ui-monospace, Menlo, Consolas, monospace"' if mono else ""
        self._parts.append(
            f'<text x="{x:g}" y="{y:g}" fill="{fill}" text-anchor="{anchor}" '
            f'font-size="{size}"{weight}{family}>{escape(words)}</text>'
        )

    def cell(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        words: str,
        *,
        fill: str = "#ffffff",
        ink: str = INK,
        size: int = 13,
    ) -> None:
        """Draw a rectangle with centered text."""
        self.box(x, y, width, height, fill=fill, stroke=LINE)
        self.text(
            x + width / 2,
            y + height / 2 + size * 0.36,
            words,
            fill=ink,
            anchor="middle",
            size=size,
            mono=True,
        )

    def line(
        self,
        points: Sequence[Point],
        *,
        stroke: str = MUTED,
        width: float = 1.5,
        dashes: str = "",
        arrow: bool = False,
    ) -> None:
        """Draw a line through points, with an arrowhead at the end if asked for."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        style = f' stroke-dasharray="{dashes}"' if dashes else ""
        self._parts.append(
            f'<polyline points="{path}" fill="none" stroke="{stroke}" '
            f'stroke-width="{width:g}" stroke-linejoin="round"{style}/>'
        )
        if arrow:
            self._head(points[-2], points[-1], stroke)

    def _head(self, start: Point, end: Point, fill: str) -> None:
        dx, dy = end[0] - start[0], end[1] - start[1]
        length = (dx * dx + dy * dy) ** 0.5
        ux, uy = dx / length, dy / length
        back_x, back_y = end[0] - 8 * ux, end[1] - 8 * uy
        corners = [
            end,
            (back_x - 4 * uy, back_y + 4 * ux),
            (back_x + 4 * uy, back_y - 4 * ux),
        ]
        path = " ".join(f"{x:g},{y:g}" for x, y in corners)
        self._parts.append(f'<polygon points="{path}" fill="{fill}"/>')

    def svg(self) -> str:
        """Return the picture as SVG."""
        return "\n".join([*self._parts, "</svg>"]) + "\n"

    def save(self, path: Path) -> None:
        """Write the picture to a file."""
        path.write_text(self.svg(), encoding="utf-8")
