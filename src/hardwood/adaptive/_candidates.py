"""The forests to mix: how they cut, how they grow in stages, and what is chosen of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hardwood._core.compact import CompactForest
from hardwood.adaptive._choice import Choice, Terms, choose, decide, nothing_chosen, pick
from hardwood.adaptive._judged import Judged
from hardwood.adaptive._mixing import apportioned
from hardwood.adaptive._out_of_bag import Voting, is_easy, out_of_bag
from hardwood.adaptive._parts import Part
from hardwood.adaptive._settings import Cuts

# Up to this many rows, random cuts of twice as many features are tried as well. A large table tells which
# cuts are better, and another forest would cost time.
_MOST_ROWS_FOR_TWICE = 10_000
# Up to this many rows, or with fewer trees than this, forests grow at once. In a larger table, those that
# mixtures do without stop halfway.
_MOST_ROWS_AT_ONCE = 5_000
_FEWEST_IN_STAGES = 4

Grow = Callable[[Cuts, int, int], CompactForest]
"""Grows trees that cut in this way, from the first number given, and so many."""


def cuts_to_try(splitter: str, n_features: int, n_given: int, n_rows: int) -> list[Cuts]:
    """Return how the forests to mix cut.

    Parameters
    ----------
    splitter : {"auto", "best", "random"}
        How the user wants trees to cut.
    n_features, n_given : int
        How many features a node looks at, and how many there are.
    n_rows : int
        Number of rows.
    """
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
        The trees that there are, from number 0 on.
    rows : ndarray of uint32 or None
        The rows on which the trees vote. None to choose a sample.
    """

    grow: Grow
    n_trees: int
    judged: Judged
    seed: int
    forests: dict[Cuts, CompactForest] = field(default_factory=dict)
    rows: NDArray[np.uint32] | None = None

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
            self._grow_to(own, self.n_trees)
        return choose(out_of_bag(self.forests, self.judged, self.seed, self._voting()), terms)

    def _choose_in_stages(
        self, cuts: Sequence[Cuts], terms: Terms, is_final: Callable[[Choice], bool]
    ) -> Choice:
        """Grow half of the trees, and go on only with forests that have a share by then.

        If the first forest makes no error halfway, the others are not grown. If forests halfway are best as
        they are, which few votes hardly ever say, more trees would say so, too.
        """
        forests, half = self.forests, self.n_trees // 2
        self._grow_to(cuts[0], half)
        if not is_easy(forests[cuts[0]], self.judged, self.seed):
            for own in cuts[1:]:
                self._grow_to(own, half)
        voting = self._voting()
        votes = {
            own: (voting.votes(forest, 0, half // 2), voting.votes(forest, half // 2, half))
            for own, forest in forests.items()
        }
        halfway, going_on = None, list(forests)
        evidence = voting.evidence(votes)
        if len(evidence) > 0:
            halfway = pick(evidence, terms, looks_ahead=True)
            if all(setting.family == "plain" for setting, _ in halfway.parts):
                choice = decide(halfway, terms)
                if is_final(choice):
                    return choice
            if terms.is_likelihood:
                going_on = [setting.cuts for setting, _ in halfway.parts]
        for own in going_on:
            self._grow_to(own, self.n_trees)
            (first, n_first), (second, n_second) = votes[own]
            so_far = first + second, n_first + n_second
            votes[own] = so_far, voting.votes(forests[own], half, self.n_trees)
        evidence = voting.evidence({own: votes[own] for own in going_on})
        if len(evidence) == 0:
            return nothing_chosen(evidence)
        return decide(pick(evidence, terms, looks_ahead=True), terms, halfway)

    def _voting(self) -> Voting:
        if self.rows is None:
            self.rows = Voting.of(self.forests, self.judged, self.seed).rows
        return Voting(self.judged, self.rows)

    def _grow_to(self, cuts: Cuts, n_trees: int) -> None:
        """Grow a forest until it has at least so many trees."""
        there = self.forests.get(cuts)
        n_there = 0 if there is None else len(there)
        if n_there < n_trees:
            more = self.grow(cuts, n_there, n_trees - n_there)
            self.forests[cuts] = more if there is None else CompactForest.joined([there, more])

    def mixed(self, choice: Choice, n_trees: int) -> list[Part]:
        """Return so many trees of several forests in the shares that were chosen.

        Trees with the same number draw the same rows, so each number is taken once.
        """
        numbers = apportioned(np.array([share for _, share in choice.parts]), n_trees)
        lasts = np.cumsum(numbers)
        parts = []
        for (setting, _), number, last in zip(choice.parts, numbers, lasts, strict=True):
            if number:
                self._grow_to(setting.cuts, int(last))
                trees = self.forests[setting.cuts].trees(int(last - number), int(last))
                parts.append((setting, trees))
        return parts
