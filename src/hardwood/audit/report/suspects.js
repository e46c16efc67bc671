// --- the rows ---------------------------------------------------------------------------------

// The suspect rows of the page, by their place: the most suspect first.
class Suspects {
  constructor(data, review) {
    this.data = data;
    this.length = data.row.length;
    this.nRows = review.nRows;
    this.labels = data.classes.map((shown, k) => data.labels[k] ?? shown); // as files have them
    this.placeOfRow = new Map(data.row.map((row, i) => [row, i]));
    this.haystacks = null;
  }

  row(i) {
    return this.data.row[i];
  }

  id(i) {
    return this.data.ids?.[i] ?? "";
  }

  shown(key, i) {
    return this.data.classes[this.data[key][i]];
  }

  label(key, i) {
    return this.labels[this.data[key][i]];
  }

  shownLabel(label) {
    const k = this.labels.indexOf(label);
    return k < 0 ? label : this.data.classes[k];
  }

  givenOf(row) {
    const i = this.placeOfRow.get(row);
    return i === undefined ? undefined : this.label("given", i);
  }

  score(i) {
    return this.data.score[i] / this.data.scoreUnit;
  }

  percent(i) {
    const share = 100 * this.score(i);
    return share > 99.9 ? "> 99.9\u00a0%" : `${share.toFixed(1)}\u00a0%`;
  }

  pairs(places) {
    const pairs = [];
    for (let k = 0; k < places.length; k += 2) pairs.push([this.data.features[places[k]], this.data.values[places[k + 1]]]);
    return pairs;
  }

  reasons(i) {
    return this.pairs(this.data.reasons?.[i] ?? []);
  }

  others(i) {
    return this.pairs(this.data.others[i]);
  }

  similar(i) {
    return this.data.similar[i].map(([row, label, proximity, ...values]) => ({
      row,
      label: this.data.classes[label],
      proximity,
      values: values.map((place) => this.data.values[place]),
    }));
  }

  reasonsText(i) {
    return this.reasons(i)
      .map(([name, value]) => `${name} = ${value}`)
      .join("; ");
  }

  // The text that a search looks through, made on the first search.
  haystack(i) {
    this.haystacks ??= this.data.row.map((row, j) => {
      const values = [...this.reasons(j), ...this.others(j)].map(([name, value]) => `${name} = ${value}`);
      return [row, this.id(j), this.shown("given", j), this.shown("suggested", j), ...values].join("\n").toLowerCase();
    });
    return this.haystacks[i];
  }

  // Places of the rows that match, in order.
  select(filters, sort, stateOf) {
    const words = filters.text.trim().toLowerCase();
    const least = (Number(filters.least) / 100) * this.data.scoreUnit;
    const found = [];
    for (let i = 0; i < this.length; i++)
      if (
        (filters.given === "" || this.data.given[i] === Number(filters.given)) &&
        (filters.suggested === "" || this.data.suggested[i] === Number(filters.suggested)) &&
        (filters.state === "" || stateOf(i) === filters.state) &&
        this.data.score[i] >= least &&
        (words === "" || this.haystack(i).includes(words))
      )
        found.push(i);
    const column = this.data[sort.key];
    // Ties: the most suspect first.
    return found.sort((a, b) => sort.sign * (column[a] - column[b]) || a - b);
  }
}
