"""The forests to mix: how they cut, how they grow in stages, and what is chosen of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from hardwood._core.compact import CompactForest
from hardwood.adaptive._choice import (
    Choice,
    Terms,
    choose,
    decide,
    nothing_chosen,
    pick,
)
from hardwood.adaptive._judged import Judged
from hardwood.adaptive._mixing import apportioned
from hardwood.adaptive._out_of_bag import Votes, Voting, add_votes, is_easy, out_of_bag
from hardwood.adaptive._parts import Part
from hardwood.adaptive._settings import Cuts, Setting

# Up to this many rows, random cuts of twice as many features are tried as well. A large table tells which
# cuts are better, and another forest would cost time.
_MOST_ROWS_FOR_TWICE = 10_000
# Up to this many rows, or with fewer trees than this, forests grow at once. In a larger table, those that
# mixtures do without stop halfway.
_MOST_ROWS_AT_ONCE = 5_000
_FEWEST_IN_STAGES = 4
# If several forests go on, this share of the trees is enough to judge each of them.
_ENOUGH = 2 / 3
# With at most this share of wrong labels, forests that are about as good without smoothing stay as they are.
# The model then grows from all rows, which smaller tables lose by.
_HARDLY_ANY_NOISE, _FEWEST_ROWS_LEFT_PLAIN = 0.025, 10_000

Grow = Callable[[Cuts, int, int], CompactForest]
"""Grows trees that cut in this way, from the first number given, and so many."""

Begun = dict[Cuts, CompactForest]
"""The first trees of some of the forests."""

Piece = tuple[CompactForest, int]
"""Trees, and the number of the first of them."""


def cuts_to_try(
    splitter: str, n_features: int, n_given: int, n_rows: int, are_joined: bool = False
) -> list[Cuts]:
    """Return how the forests to mix cut.

    Parameters
    ----------
    splitter : {"auto", "best", "random"}
        How the user wants trees to cut.
    n_features, n_given : int
        How many features a node looks at, and how many there are.
    n_rows : int
        Number of rows.
    are_joined : bool, default=False
        Whether columns of categories are joined in pairs.
    """
    if splitter == "auto" and are_joined and n_rows > _MOST_ROWS_AT_ONCE:
        # Random sets of many joint categories hardly help, and more forests would cost time.
        return [Cuts("best", n_features)]
    if splitter != "auto":
        return [Cuts(splitter, n_features)]
    tried = [Cuts("best", n_features), Cuts("random", n_features)]
    twice = min(2 * n_features, n_given)
    if twice > n_features and n_rows <= _MOST_ROWS_FOR_TWICE:
        tried.append(Cuts("random", twice))
    return tried


@dataclass
class Candidates:
    """The forests to mix, as far as they are grown.

    Attributes
    ----------
    grow : callable
        Grows more trees of one of them.
    n_trees : int
        Number of trees that judge a forest.
    judged : Judged
        The rows that they judge it by.
    seed : int
        The seed of the model.
    forests : dict of Cuts to CompactForest
        The trees that there are. If some are given, they are the first ones of their forest, and no
        more than it has halfway.
    """

    grow: Grow
    n_trees: int
    judged: Judged
    seed: int
    forests: Begun = field(default_factory=dict)
    firsts: dict[Cuts, int] = field(init=False)

    def __post_init__(self) -> None:
        # The number of the first tree of each. Trees with the same number draw the same rows.
        self.firsts = dict.fromkeys(self.forests, 0)

    def choose(
        self, cuts: Sequence[Cuts], terms: Terms, is_final: Callable[[Choice], bool]
    ) -> Choice:
        """Grow the forests, and choose how to smooth and to mix them.

        Parameters
        ----------
        cuts : sequence of Cuts
            How the forests cut.
        terms : Terms
            On what terms to choose.
        is_final : callable
            Whether a choice of plain forests would stay if they grew further.
        """
        if self.judged.n_rows > _MOST_ROWS_AT_ONCE and self.n_trees >= _FEWEST_IN_STAGES:
            return self._choose_in_stages(cuts, terms, is_final)
        for own in cuts:
            self._grow_to(own, 0, self.n_trees)
        return choose(out_of_bag(self.forests, self.judged, self.seed), terms)

    def _choose_in_stages(
        self, cuts: Sequence[Cuts], terms: Terms, is_final: Callable[[Choice], bool]
    ) -> Choice:
        """Grow half of the trees, and go on only as far as the forests have a share by then.

        If the first forest makes no error halfway, the others are not grown. Few votes need more smoothing
        than many. So if forests halfway are best as they are, more trees would say so, too. If hardly
        any label is wrong, it is enough that they are about as good.
        """
        half = self.n_trees // 2
        self._grow_to(cuts[0], 0, half)
        if not is_easy(self.forests[cuts[0]], self.judged, self.seed):
            for own, start in zip(cuts[1:], self._starts(len(cuts), half)[1:], strict=True):
                self._grow_to(own, start, start + half)
        voting = Voting.of(self.forests, self.judged, self.seed)
        votes = {
            own: _votes_of_halves(forest, self.firsts[own], voting)
            for own, forest in self.forests.items()
        }
        halfway, going_on = None, list(self.forests)
        evidence = voting.evidence(votes)
        if len(evidence) > 0:
            halfway = pick(evidence, terms, looks_ahead=True)
            plain = halfway.as_they_are() if terms.scoring == "auto" else halfway
            may_stay = halfway.is_plain or self.judged.n_rows > _FEWEST_ROWS_LEFT_PLAIN
            if plain.is_plain and may_stay:
                choice = decide(plain, terms)
                is_clean = choice.labels.noise_rate <= _HARDLY_ANY_NOISE
                if is_final(choice) and (halfway.is_plain or is_clean):
                    return choice
            if terms.is_likelihood:
                going_on = [setting.cuts for setting, _ in halfway.parts]
        n_trees = self.n_trees if len(going_on) == 1 else round(_ENOUGH * self.n_trees)
        for own, start in zip(going_on, self._starts(len(going_on), n_trees), strict=True):
            for trees, first in self._grow_to(own, start, start + n_trees):
                add_votes(votes[own], _votes_of_halves(trees, first, voting))
        evidence = voting.evidence({own: votes[own] for own in going_on})
        if len(evidence) == 0:
            return nothing_chosen(evidence)
        return decide(pick(evidence, terms, looks_ahead=True), terms, halfway)

    def _starts(self, n_forests: int, n_trees: int) -> list[int]:
        """Return the number of the first tree of each forest, if each has so many of the trees.

        In the model, each number is taken once: the first forest has the first ones, and so on.
        """
        starts: list[int] = np.linspace(0, self.n_trees - n_trees, n_forests).astype(int).tolist()
        return starts

    def _grow_to(self, cuts: Cuts, first: int, last: int) -> list[Piece]:
        """Grow a forest until it has these trees and those between, and return the new ones."""
        if cuts not in self.forests:
            pieces = [(self.grow(cuts, first, last - first), first)]
            self.forests[cuts], self.firsts[cuts] = pieces[0]
            return pieces
        start, there = self.firsts[cuts], self.forests[cuts]
        end = start + len(there)
        before = [(self.grow(cuts, first, start - first), first)] if first < start else []
        after = [(self.grow(cuts, end, last - end), end)] if last > end else []
        parts = [*before, (there, start), *after]
        self.forests[cuts] = CompactForest.joined([trees for trees, _ in parts])
        self.firsts[cuts] = parts[0][1]
        return [*before, *after]

    def mixed(self, choice: Choice, n_trees: int) -> list[Part]:
        """Return so many trees of several forests in the shares that were chosen.

        Trees with the same number draw the same rows, so each number is taken once.
        """
        parts = []
        for setting, first, last in _numbers(choice.parts, n_trees):
            if first < last:
                self._grow_to(setting.cuts, first, last)
                start = self.firsts[setting.cuts]
                trees = self.forests[setting.cuts].trees(first - start, last - start)
                parts.append((setting, trees))
        return parts


def _numbers(parts: list[tuple[Setting, float]], n_trees: int) -> list[tuple[Setting, int, int]]:
    """Return the numbers of the trees of each part, from the first to before the last."""
    numbers = apportioned(np.array([share for _, share in parts]), n_trees)
    lasts = np.cumsum(numbers)
    return [
        (setting, int(last - number), int(last))
        for (setting, _), number, last in zip(parts, numbers, lasts, strict=True)
    ]


def _votes_of_halves(trees: CompactForest, first: int, voting: Voting) -> tuple[Votes, Votes]:
    """Return the votes of each half of some trees, the first of which has this number."""
    half = len(trees) // 2
    return (
        voting.votes(trees.trees(0, half), first),
        voting.votes(trees.trees(half, len(trees)), first + half),
    )
