"""The impurity of two classes as a table for the engine: linear and cubic pieces, kinks between.

Growth stops where nothing is gained, so a table must be more than close to the impurity. Where the
impurity is linear, so is the table, in one piece, and a split gains nothing there; where it is
curved, the pieces are cubic and curved alike, and the smallest difference gains. Knots are as dense
near 0 and 1 as their distance to them asks for, and lie at kinks. ``cpp/include/hardwood/criteria/
from_loss.hpp`` tells how the engine finds the piece for a share.
"""

import hashlib
import threading
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

Array = NDArray[np.float64]
Impurity = Callable[[Array], Array]

# How far a table may be from the impurity, relative to it, half way between two knots.
_ACCURACY = 1e-8
# Beyond this, an impurity cannot be tabulated.
_LEAST_ACCURACY = 1e-6
# A stretch is linear if it is within this of a line, relative to the impurity.
_LINEAR = 1e-11
# What functions that round at the scale of their maximum round by, even where they are small:
# 1 − max p near p = 0.
_ROUNDING = 2e-15

# Shares below 2^-40 are nobody's: the impurity is linear there.
_OCTAVES = 40
_COARSE_BITS = 3  # there are 2^3 knots between p and 2p at first
_KINK_BITS = 6  # intervals this narrow that are still inaccurate are searched for a kink
_FINEST_BITS = 9
_MOST_CELL_BITS = 9
# Rounding noise is full of kinks. An impurity with more than these is not worth a search.
_MOST_KINKS = 1000
# The same for impurities in single precision: the shares that are linear, and how much more all
# tolerances allow, in steps of the precision.
_SINGLE_OCTAVES = 16
_STEPS = 4


class ImpurityTable(NamedTuple):
    """What the engine's `FromLoss` takes."""

    bits: int
    octaves: int
    pieces: Array  # [lighter class, cell][a, b, c, d]
    kinks: Array  # rows of lighter class, cell, share, and the piece above


class _Pieces(NamedTuple):
    """A function on [0, 1], from start[i] to start[i + 1] a line or a cubic.

    A line is a + b share, in the shares of the second and of the first class: line[i, 0] and
    line[i, 1] are (a, b). For a cubic, Σ power[i, j] (p − start[i])^j, they are NaN.
    """

    start: Array  # and the end of the last one
    power: Array
    line: Array

    def __call__(self, p: Array) -> Array:
        i = np.searchsorted(self.start, p, side="right") - 1
        c, u = self.power[i].T, p - self.start[i]
        # Lines are long: from the end where the impurity is small, for the least rounding.
        first_lighter = p > 0.5
        a, b = self.line[i, first_lighter.astype(int)].T
        straight = a + b * np.where(first_lighter, 1 - p, p)
        curved = c[0] + u * (c[1] + u * (c[2] + u * c[3]))
        return np.asarray(np.where(np.isnan(a), curved, straight))


def tabulate(impurity: Impurity, kinks: Array, name: str) -> ImpurityTable:
    """Tabulate a function of the probability of the second class.

    Parameters
    ----------
    impurity : callable
        From an array of probabilities to their impurities, continuous.
    kinks : ndarray
        Where its slope is known to jump; other jumps are found.
    name : str
        What to call the function in an error.

    Returns
    -------
    table : ImpurityTable
        The table.
    """
    sampler = _Sampler(impurity)
    key = sampler.digest(kinks)
    table = _recent.get(key)
    if table is None:
        if precision := precision_of(impurity(_PROBES)):
            sampler = _Sampler(impurity, precision)
        is_symmetric = sampler.is_symmetric()
        table = _table_of(sampler.fit(kinks, name), is_symmetric)
        with _recent_lock:
            while len(_recent) >= _MOST_RECENT:
                del _recent[next(iter(_recent))]
            _recent[key] = table
    return table


def precision_of(values: Array) -> float:
    """Return the distance from 1 to the next number in the precision that values have.

    This is 0 for double precision, which needs no allowance.
    """
    with np.errstate(over="ignore"):
        is_single = np.array_equal(values.astype(np.float32), values)
    return float(np.finfo(np.float32).eps) if is_single else 0.0


# Shares of many digits. Where the function is 1 − max p, it has few digits only if it is rounded.
_PROBES = np.modf(np.arange(1, 65) * np.sqrt(2))[0]

# Tables of recent fits, by the values of the impurity at the first knots: two continuous functions
# that agree in all these thousand numbers, to the last bit, are the same function.
_recent: dict[bytes, ImpurityTable] = {}
_recent_lock = threading.Lock()
_MOST_RECENT = 16


class _Sampler:
    """Knots, added until the pieces between them are close to the impurity."""

    def __init__(self, impurity: Impurity, precision: float = 0.0) -> None:
        self.impurity = impurity
        self.noise = _STEPS * precision
        octave = 1 + np.arange(2**_COARSE_BITS) / 2**_COARSE_BITS
        octaves = _SINGLE_OCTAVES if precision else _OCTAVES
        low = np.ldexp(octave, np.arange(-octaves, -1)[:, np.newaxis]).ravel()
        self.x = np.concatenate([[0.0], low, [0.5], 1 - low[::-1], [1.0]])
        self.y = impurity(self.x)
        self.middle = (self.x[:-1] + self.x[1:]) / 2
        self.at_middle = impurity(self.middle)
        self.kinks = np.empty(0)
        self.largest = float(self.y.max())

    def digest(self, known_kinks: Array) -> bytes:
        """Return what tells this impurity from others."""
        parts = (self.y, self.at_middle, known_kinks)
        return hashlib.sha256(b"".join(part.tobytes() for part in parts)).digest()

    def is_symmetric(self) -> bool:
        """Return whether the impurity is the same for p and 1 − p."""
        return all(
            np.allclose(y, y[::-1], rtol=1e-14 + self.noise, atol=self.rounding)
            for y in (self.y, self.at_middle)
        )

    def fit(self, known_kinks: Array, name: str) -> _Pieces:
        """Return pieces that are close to the impurity everywhere."""
        if len(known_kinks):
            around = 1e-6 * np.minimum(known_kinks, 1 - known_kinks)
            self._add_kinks(known_kinks - around, known_kinks + around)
        accuracy = _ACCURACY + self.noise
        for _ in range(100):
            pieces = self._pieces()
            inaccurate = self._error(pieces) > accuracy
            width = self._relative_width()
            searched = inaccurate & (width < 2.0**-_KINK_BITS)
            found = searched.any() and self._add_kinks(self.x[:-1][searched], self.x[1:][searched])
            split = inaccurate & (width > 2.0**-_FINEST_BITS)
            if len(self.kinks) > _MOST_KINKS + len(known_kinks):
                break
            if found:
                continue
            if not split.any():  # all is well half way between the knots: look elsewhere, too
                split = self._error_between(pieces) > accuracy
                split &= ~inaccurate & (width > 2.0**-_FINEST_BITS)
            if not split.any():
                break
            self._add(self.middle[split], self.at_middle[split])
        error = np.maximum(self._error(pieces), self._error_between(pieces))
        worst = int(np.argmax(error))
        least_accuracy = _LEAST_ACCURACY + 10 * self.noise
        if error[worst] > least_accuracy:
            raise ValueError(
                f"{name} must be continuous, with at most a kink here and there, but near "
                f"p = {self.middle[worst]:.6g} it jumps or has many kinks: no table comes within "
                f"{least_accuracy:.3g} of it."
            )
        return pieces

    @cached_property
    def rounding(self) -> float:
        """How far the impurity is from a smooth curve close to 0 and 1, rounding at most."""
        share = self.x[1 : 5 * 2**_COARSE_BITS]
        # Shares of many digits: the knots have few, and rounding may spare them.
        between = share[2:-3] + 0.3 * np.diff(share)[2:-2]
        mirrored = 1 - between
        rough = [
            CubicSpline(share, self.impurity(share))(between) - self.impurity(between),
            CubicSpline(share, self.impurity(1 - share))(1 - mirrored) - self.impurity(mirrored),
        ]
        return min((_ROUNDING + self.noise) * self.largest, float(np.abs(rough).max()))

    def _relative_width(self) -> Array:
        """Return the intervals' widths relative to their distance from 0 or 1; 0 for the ends."""
        width: Array = np.diff(self.x) / np.minimum(self.middle, 1 - self.middle)
        width[[0, -1]] = 0
        return width

    def _error(self, pieces: _Pieces) -> Array:
        """Return the relative errors half way between the knots."""
        return self._relative_error(pieces, self.middle, self.at_middle)

    def _error_between(self, pieces: _Pieces) -> Array:
        """Return the larger of the relative errors at a quarter and three quarters of the way."""
        places = [self.x[:-1] + share * np.diff(self.x) for share in (0.25, 0.75)]
        errors = [self._relative_error(pieces, p, self.impurity(p)) for p in places]
        return np.maximum(*errors)

    def _relative_error(self, pieces: _Pieces, p: Array, y: Array) -> Array:
        error = np.maximum(np.abs(pieces(p) - y) - self.rounding, 0)
        error[[0, -1]] = 0
        # Relative to the impurity, or to a floor where it is none.
        floor = 1e-6 * self.largest * np.minimum(p, 1 - p) + 1e-300
        relative: Array = error / np.maximum(y, floor)
        return relative

    def _add(self, x: Array, y: Array) -> None:
        """Add knots."""
        places = np.searchsorted(self.x, x)
        self.x = np.insert(self.x, places, x)
        self.y = np.insert(self.y, places, y)
        middle = (self.x[:-1] + self.x[1:]) / 2
        old = np.searchsorted(self.middle, middle)
        old[old == len(self.middle)] = 0
        known = self.middle[old] == middle
        at_middle = np.empty_like(middle)
        at_middle[known] = self.at_middle[old[known]]
        at_middle[~known] = self.impurity(middle[~known])
        self.middle, self.at_middle = middle, at_middle

    def _add_kinks(self, low: Array, high: Array) -> bool:
        """Look for a kink in each interval; knots are added there. Return whether one is new."""
        x = self._locate(low, high)
        # Where there is a kink, the slope falls as much near it as farther away.
        near = 1e-5 * np.minimum(x, 1 - x)
        points = x[:, np.newaxis] + near[:, np.newaxis] * np.array([-4, -1, 0, 1, 4])
        y = self.impurity(points.ravel()).reshape(points.shape)
        fall_near = y[:, 2] - (y[:, 1] + y[:, 3]) / 2
        fall_far = y[:, 2] - (y[:, 0] + y[:, 4]) / 2
        real = fall_near * 4 > 0.6 * fall_far
        real &= fall_far > (1e-9 + 4 * self.noise) * y[:, 2]
        x, y = x[real], y[real, 2]
        distance = np.abs(x[:, np.newaxis] - self.kinks).min(axis=1, initial=1.0)
        new = distance > 1e-9 * np.minimum(x, 1 - x)
        new[1:] &= np.diff(x) > 1e-9 * np.minimum(x, 1 - x)[1:]  # one between two intervals
        x, y = x[new], y[new]
        if not len(x):
            return False
        self.kinks = np.sort(np.concatenate([self.kinks, x]))
        # No other knot so near that the slope to it would be rounding.
        crowded = np.abs(self.x[:, np.newaxis] - x).min(axis=1) < 1e-9 * np.minimum(
            self.x, 1 - self.x
        )
        crowded &= ~np.isin(self.x, self.kinks)
        self.x, self.y = self.x[~crowded], self.y[~crowded]
        self._add(x, y)
        return True

    def _locate(self, low: Array, high: Array) -> Array:
        """Return where in each interval the slope falls most sharply."""
        low, high = low.copy(), high.copy()
        steps = np.arange(9) / 8
        for _ in range(40):
            width = high - low
            least = np.maximum(2e-13 * np.minimum(low, 1 - high), 16 * np.spacing(high))
            least += 16 * self.noise * np.minimum(low, 1 - high)
            wide = np.flatnonzero(width > least)
            if not len(wide):
                break
            x = low[wide, np.newaxis] + width[wide, np.newaxis] * steps
            slope = np.diff(self.impurity(x.ravel()).reshape(x.shape)) / np.diff(x)
            sharpest = np.argmax(slope[:, :-1] - slope[:, 1:], axis=1)
            rows = np.arange(len(x))
            low[wide], high[wide] = x[rows, sharpest], x[rows, sharpest + 2]
        return (low + high) / 2

    # --- pieces between the knots ---------------------------------------------------------------

    def _pieces(self) -> _Pieces:
        """Return lines where the impurity is linear, and a cubic spline on each stretch between."""
        starts, powers, lines = [], [], []
        for first, last, is_linear in self._stretches():
            if is_linear:
                starts.append(self.x[first : first + 1])
                powers.append(np.zeros((1, 4)))
                lines.append(self._line(first, last)[np.newaxis])
            else:
                spline = CubicSpline(self.x[first : last + 1], self.y[first : last + 1])
                starts.append(self.x[first:last])
                powers.append(spline.c[::-1].T)
                lines.append(np.full((last - first, 2, 2), np.nan))
        start, line = np.concatenate([*starts, [1.0]]), np.concatenate(lines)
        start = _where_lines_meet(start, line, 1e-9 + 64 * self.noise)
        return _Pieces(start, np.concatenate(powers), line)

    def _stretches(self) -> list[tuple[int, int, bool]]:
        """Return the stretches, from knot to knot, and whether they are linear."""
        n = len(self.x) - 1
        is_kink = np.isin(self.x, self.kinks)
        linear = np.abs(self.at_middle - (self.y[:-1] + self.y[1:]) / 2) <= self._slack(
            self.at_middle
        )
        linear[[0, -1]] = True
        stretches = []
        first = 0
        while first < n:
            # As far as the intervals are all linear, or all curved, and no kink is between.
            others = np.flatnonzero((linear[first + 1 :] != linear[first]) | is_kink[first + 1 : n])
            last = first + 1 + int(others[0]) if len(others) else n
            if linear[first]:
                last = self._end_of_line(first, last)
            stretches.append((first, last, bool(linear[first])))
            first = last
        return stretches

    def _slack(self, y: Array) -> Array:
        return (_LINEAR + self.noise) * y + self.rounding

    def _end_of_line(self, first: int, last: int) -> int:
        """Return how far a line goes from the first knot, up to the last one."""

        def fits(end: int) -> bool:
            x = np.concatenate([self.x[first : end + 1], self.middle[first:end]])
            y = np.concatenate([self.y[first : end + 1], self.at_middle[first:end]])
            from_first, from_end = x - self.x[first], x - self.x[end]
            slope = (self.y[end] - self.y[first]) / (self.x[end] - self.x[first])
            chord = np.where(  # from the nearer end, as the impurity may be small there
                from_first < -from_end,
                self.y[first] + slope * from_first,
                self.y[end] + slope * from_end,
            )
            return bool(np.all(np.abs(y - chord) <= self._slack(y)))

        if fits(last):
            return last
        good, bad = first + 1, last
        while bad - good > 1:
            between = (good + bad) // 2
            good, bad = (between, bad) if fits(between) else (good, between)
        return good

    def _line(self, first: int, last: int) -> Array:
        """Return (a, b) of a linear stretch for the shares of the second and of the first class.

        Kinks are known less exactly than the impurity between them, so other knots are preferred.
        """
        if last - first > 2:
            first += self.x[first] in self.kinks
            last -= self.x[last] in self.kinks
        slope = (self.y[last] - self.y[first]) / (self.x[last] - self.x[first])
        return np.array(
            [
                [self.y[first] - slope * self.x[first], slope],
                [self.y[last] + slope * (1 - self.x[last]), -slope],
            ]
        )


def _where_lines_meet(start: Array, line: Array, near_by: float) -> Array:
    """Return the starts of the pieces, those between two lines put where the lines meet."""
    a, b = line[:, 0].T
    with np.errstate(invalid="ignore", divide="ignore"):
        meet = (a[1:] - a[:-1]) / (b[:-1] - b[1:])
    near = np.abs(meet - start[1:-1]) < near_by * np.minimum(start[1:-1], 1 - start[1:-1])
    return np.concatenate([start[:1], np.where(near, meet, start[1:-1]), start[-1:]])


# --- from pieces to cells ------------------------------------------------------------------------


def _table_of(pieces: _Pieces, is_symmetric: bool) -> ImpurityTable:
    """Find the piece of each cell. A symmetric impurity gets a table symmetric to the last bit.

    Splits that are mirror images of one another then gain the same.
    """
    breaks = pieces.start[1:-1]
    shares = [breaks[breaks < 0.5], 1 - breaks[breaks > 0.5][::-1]]
    side = [0, 0 if is_symmetric else 1]
    lowest = min((share[0] for share in shares if len(share)), default=0.5)
    octaves = max(1, int(np.ceil(-np.log2(lowest))))
    bits = 0
    while bits < _MOST_CELL_BITS and any(_crowded(share, bits, octaves) for share in shares):
        bits += 1
    cells = _cell_starts(bits, octaves)
    table, kinks = [], []
    for lighter in (0, 1):
        table.append(_expand(pieces, side[lighter], cells, cells))
        share = shares[side[lighter]]
        cell, inside = _cell_of(share, bits, octaves)
        cell, at = cell[inside], share[inside]
        above = _expand(pieces, side[lighter], at, cells[cell])
        kinks.append(np.column_stack([np.full(len(at), float(lighter)), cell, at, above]))
    return ImpurityTable(bits, octaves, np.concatenate(table), np.concatenate(kinks))


def _cell_starts(bits: int, octaves: int) -> Array:
    octave = 1 + np.arange(2**bits) / 2**bits
    starts = np.ldexp(octave, np.arange(-octaves, -1)[:, np.newaxis]).ravel()
    return np.concatenate([[0.0], starts, [0.5]])


def _cell_of(share: Array, bits: int, octaves: int) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the shares' cells, and whether the shares are inside rather than at the start."""
    starts = _cell_starts(bits, octaves)
    cell = np.searchsorted(starts, share, side="right") - 1
    return cell, starts[cell] != share


def _crowded(share: Array, bits: int, octaves: int) -> bool:
    cell, inside = _cell_of(share, bits, octaves)
    return len(np.unique(cell[inside])) < int(np.count_nonzero(inside))


def _expand(pieces: _Pieces, lighter: int, share: Array, origin: Array) -> Array:
    """Return the pieces that begin at or before the shares, as a + b q + c t² + d t³.

    q is the lighter class's share and t = q − origin. If the lighter one is the first class, its
    shares rise as p falls, and so t = −(p − (1 − origin)).
    """
    if lighter == 0:
        i = np.searchsorted(pieces.start[1:-1], share, side="right")
        u, sign = origin - pieces.start[i], 1.0
    else:
        i = np.searchsorted(pieces.start[1:-1], 1 - share, side="left")
        u, sign = (1 - origin) - pieces.start[i], -1.0
    c0, c1, c2, c3 = pieces.power[i].T
    value = c0 + u * (c1 + u * (c2 + u * c3))
    slope = sign * (c1 + u * (2 * c2 + u * 3 * c3))
    curved = np.column_stack([value - slope * origin, slope, c2 + 3 * c3 * u, sign * c3])
    line = pieces.line[i, lighter]
    straight = np.column_stack([line, np.zeros_like(line)])
    return np.where(np.isnan(line[:, :1]), curved, straight)
