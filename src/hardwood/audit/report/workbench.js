// --- the workbench ----------------------------------------------------------------------------

const SAID = { accept: "accepted", keep: "kept", other: "other class", unsure: "not sure" };
const HOW_TO_CHOOSE = "Choose a class with the arrow keys or its first letter. Enter confirms, Esc cancels.";

const at = (id) => document.getElementById(id);
const whole = new Intl.NumberFormat("en");
const times = (n, noun) => `${whole.format(n)} ${noun}${n === 1 ? "" : "s"}`;

function element(tag, className, ...content) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...content);
  return made;
}

// Text of the table that may be in any language and direction.
const own = (text, className = "") => element("bdi", className, text);

class Workbench {
  constructor(suspects, decisions, review) {
    this.suspects = suspects;
    this.decisions = decisions;
    this.review = review;
    this.sort = { key: "score", sign: -1 };
    this.shown = [];
    this.page = 0;
    this.current = 0; // place of the row on the card
    this.visited = []; // rows to go back to
    this.fields = ["given", "suggested", "state", "least", "text"];
    this.headers = [...document.querySelectorAll(".rows th[data-key]")];
    this.fillChoices();
    this.listen();
    this.curve = review.plan ? new Curve(review) : null;
    this.select();
    this.current = this.firstUndecided() ?? 0;
    this.render();
  }

  // --- state

  stateOf(i) {
    const decision = this.decisions.get(this.suspects.row(i));
    return decision === undefined ? "open" : decision.decision === "unsure" ? "unsure" : "decided";
  }

  firstUndecided(after = -1) {
    const start = this.shown.indexOf(after) + 1;
    const ahead = [...this.shown.slice(start), ...this.shown.slice(0, start)];
    return ahead.find((i) => this.stateOf(i) === "open");
  }

  select() {
    const filters = Object.fromEntries(this.fields.map((id) => [id, at(id).value]));
    this.shown = this.suspects.select(filters, this.sort, (i) => this.stateOf(i));
    this.page = 0;
  }

  decide(kind, label) {
    const i = this.current;
    const s = this.suspects;
    if (this.shown.length === 0) return;
    const decided = { accept: s.label("suggested", i), keep: s.label("given", i), other: label, unsure: "" }[kind];
    const stored = this.decisions.set(s.row(i), {
      row: s.row(i),
      id: s.id(i),
      given: s.label("given", i),
      decision: kind === "other" && decided === s.label("suggested", i) ? "accept" : kind === "other" && decided === s.label("given", i) ? "keep" : kind,
      label: decided,
      time: new Date().toISOString(),
    });
    this.visited.push(i);
    const next = this.firstUndecided(i);
    this.say(`Row ${s.row(i)}: ${SAID[this.decisions.get(s.row(i)).decision]}.` + (next === undefined ? " No row is left to decide here." : ""));
    if (next !== undefined) this.current = next;
    this.turnTo(this.current);
    this.render();
    stored.then(() => this.renderNotKept());
  }

  step(by) {
    const place = this.shown.indexOf(this.current) + by;
    if (place < 0 || place >= this.shown.length) return;
    this.open(this.shown[place]);
  }

  back() {
    const last = this.visited.pop();
    if (last === undefined) this.step(-1);
    else this.open(last);
  }

  clear() {
    this.decisions.set(this.suspects.row(this.current), null);
    this.say(`Row ${this.suspects.row(this.current)}: decision removed.`);
    this.render();
  }

  open(i) {
    this.current = i;
    this.turnTo(i);
    this.render();
  }

  turnTo(i) {
    const place = this.shown.indexOf(i);
    if (place >= 0) this.page = Math.floor(place / Number(at("size").value));
  }

  say(text) {
    at("said").textContent = text;
  }

  // --- what is shown

  render() {
    this.renderCard();
    this.renderTable();
    this.renderProgress();
  }

  renderCard() {
    const i = this.current;
    const s = this.suspects;
    const decision = this.decisions.get(s.row(i));
    at("card-row").replaceChildren(`Row ${whole.format(s.row(i))}`, ...(s.id(i) ? [" · ", own(s.id(i))] : []));
    at("card-score").textContent = `${s.percent(i)} likely to be wrong`;
    at("card-given").replaceChildren(own(s.shown("given", i)));
    at("card-suggested").replaceChildren(own(s.shown("suggested", i)));
    at("card-state").replaceChildren(...(decision ? this.inWords(decision) : ["not decided"]));
    at("clear").hidden = decision === undefined;
    for (const kind of ["accept", "keep", "unsure"]) at(kind).setAttribute("aria-pressed", decision?.decision === kind);
    at("other").value = decision?.decision === "other" ? String(s.labels.indexOf(decision.label)) : "";
    at("back").disabled = this.visited.length === 0 && this.shown.indexOf(i) <= 0;
    at("skip").disabled = this.shown.indexOf(i) === this.shown.length - 1;
    at("card-values").replaceChildren(...this.valueTable(i));
  }

  inWords(decision) {
    if (decision.decision === "unsure") return ["not sure"];
    return [decision.decision === "keep" ? "label kept: " : "decided: ", own(this.suspects.shownLabel(decision.label))];
  }

  // The values of the row, next to those of similar rows.
  valueTable(i) {
    const s = this.suspects;
    const reasons = s.reasons(i);
    const others = s.others(i);
    const similar = s.similar(i);
    const parts = [];
    if (reasons.length || similar.length) {
      const table = element("table", "values");
      const head = element("tr", "", element("th", "", reasons.length ? "Main reasons" : ""), element("th", "", "this row"));
      for (const each of similar) {
        const th = element("th", "", `row ${whole.format(each.row)}`, document.createElement("br"), own(each.label, "label"));
        th.title = `In the same leaf in ${each.proximity} % of the trees that did not see either row`;
        head.append(th);
      }
      for (const th of head.children) th.scope = "col";
      const body = document.createElement("tbody");
      reasons.forEach(([name, value], k) => {
        const th = element("th", "", own(name));
        th.scope = "row";
        body.append(element("tr", "", th, element("td", "", own(value)), ...similar.map((each) => element("td", "", own(each.values[k] ?? "")))));
      });
      table.append(element("thead", "", head), body);
      const scroll = element("div", "scroll", table);
      if (similar.length) scroll.prepend(element("p", "caption", "This row and the most similar ones, with labels that the forest trusts"));
      parts.push(scroll);
    }
    if (others.length) {
      const list = element("dl", "others");
      for (const [name, value] of others) list.append(element("div", "", element("dt", "", own(name)), element("dd", "", own(value))));
      parts.push(list);
    }
    return parts;
  }

  cell(name, content, className) {
    const td = element("td", className, ...(content === null ? [] : [content]));
    td.setAttribute("role", "cell");
    if (name) td.dataset.name = name;
    return td;
  }

  line(i) {
    const s = this.suspects;
    const tr = document.createElement("tr");
    tr.setAttribute("role", "row");
    if (i === this.current) tr.setAttribute("aria-current", "true");
    const open = element("button", "link", own(whole.format(s.row(i))));
    open.type = "button";
    open.setAttribute("aria-label", `Decide row ${s.row(i)}`);
    open.addEventListener("click", () => {
      this.open(i);
      at("card").scrollIntoView({ block: "nearest" });
      at("card").focus({ preventScroll: true });
    });
    const row = this.cell("Row", open, "row");
    if (s.id(i)) row.append(" ", own(s.id(i), "id"));
    const decision = this.decisions.get(s.row(i));
    tr.append(
      row,
      this.cell("given", own(s.shown("given", i)), "given"),
      this.cell("suggested", own(s.shown("suggested", i)), "suggested"),
      this.cell("", own(s.percent(i)), "num score"),
      this.cell("", decision ? element("span", "", ...this.inWords(decision)) : null, "decision"),
    );
    if (s.data.reasons) {
      const why = this.cell("", null, "why");
      for (const [name, value] of s.reasons(i)) why.append(element("bdi", "", element("span", "name", `${name} = `), value), " ");
      tr.append(why);
    }
    return tr;
  }

  noLine() {
    const td = this.cell("", own("No rows match."), "empty");
    td.colSpan = this.suspects.data.reasons ? 6 : 5;
    const tr = element("tr", "", td);
    tr.setAttribute("role", "row");
    return tr;
  }

  renderTable() {
    const size = Number(at("size").value);
    const nPages = Math.max(1, Math.ceil(this.shown.length / size));
    this.page = Math.min(Math.max(this.page, 0), nPages - 1);
    const lines = this.shown.slice(this.page * size, (this.page + 1) * size).map((i) => this.line(i));
    at("body").replaceChildren(...(lines.length ? lines : [this.noLine()]));
    at("page").textContent = `Page ${whole.format(this.page + 1)} of ${whole.format(nPages)}`;
    at("count").textContent = `${whole.format(this.shown.length)} of ${times(this.suspects.length, "row")}`;
    at("first").disabled = at("previous").disabled = this.page === 0;
    at("next").disabled = at("last").disabled = this.page === nPages - 1;
    at("export-rows").disabled = this.shown.length === 0;
    at("card").hidden = this.shown.length === 0;
    for (const th of this.headers) {
      if (th.dataset.key !== this.sort.key) th.removeAttribute("aria-sort");
      else th.setAttribute("aria-sort", this.sort.sign > 0 ? "ascending" : "descending");
    }
  }

  renderProgress() {
    const all = [...this.decisions.byRow.values()];
    const decided = all.filter((each) => each.decision !== "unsure");
    const found = decided.filter((each) => each.label !== each.given).length;
    const nUnsure = all.length - decided.length;
    const parts = [`${whole.format(decided.length)} decided`, `${times(found, "wrong label")} found`];
    if (nUnsure) parts.push(`${whole.format(nUnsure)} not sure`);
    at("progress-text").textContent = parts.join(" · ");
    const goal = this.review.plan?.rows.at(-1) || this.suspects.length;
    at("progress").max = goal;
    at("progress").value = Math.min(decided.length, goal);
    at("export").disabled = all.length === 0;
    this.renderNotKept();
    this.curve?.show(decided.map((each) => each.label !== each.given));
  }

  renderNotKept() {
    at("not-kept").hidden = this.decisions.isKept;
  }

  // --- what people do

  fillChoices() {
    const { data } = this.suspects;
    for (const key of ["given", "suggested"]) {
      const places = [...new Set(data[key])].sort((a, b) => a - b);
      at(key).append(new Option("any", ""), ...places.map((place) => new Option(data.classes[place], place)));
    }
    at("other").append(new Option("another class …", ""), ...data.classes.map((name, place) => new Option(name, place)));
  }

  listen() {
    const reselect = () => {
      this.select();
      if (!this.shown.includes(this.current)) this.current = this.firstUndecided() ?? this.shown[0] ?? this.current;
      this.turnTo(this.current);
      this.page = 0;
      this.render();
    };
    for (const id of this.fields) at(id).addEventListener("input", reselect);
    at("filters").addEventListener("submit", (event) => event.preventDefault());
    at("filters").addEventListener("reset", () => setTimeout(reselect)); // once the fields have been cleared
    for (const th of this.headers)
      th.querySelector("button").addEventListener("click", () => {
        const key = th.dataset.key;
        this.sort.sign = this.sort.key === key ? -this.sort.sign : key === "score" ? -1 : 1;
        this.sort.key = key;
        reselect();
      });
    const turns = { first: () => 0, previous: () => this.page - 1, next: () => this.page + 1, last: () => Infinity };
    for (const [id, turn] of Object.entries(turns))
      at(id).addEventListener("click", () => {
        this.page = turn();
        this.renderTable();
      });
    at("size").addEventListener("change", () => {
      this.page = 0;
      this.renderTable();
    });
    for (const button of document.querySelectorAll("button[data-given]"))
      button.addEventListener("click", () => {
        at("filters").reset();
        at("given").value = button.dataset.given;
        at("suggested").value = button.dataset.suggested;
        reselect();
        at("rows").scrollIntoView();
        at("card").focus({ preventScroll: true });
      });
    for (const kind of ["accept", "keep", "unsure"]) at(kind).addEventListener("click", () => this.decide(kind));
    at("back").addEventListener("click", () => this.back());
    at("skip").addEventListener("click", () => this.step(1));
    at("clear").addEventListener("click", () => this.clear());
    // A key may run through the options, so only Enter or leaving the field decides.
    const other = at("other");
    const choose = () => {
      if (other.value === "") return;
      this.decide("other", this.suspects.labels[Number(other.value)]);
      at("card").focus({ preventScroll: true });
    };
    let byKey = false;
    other.addEventListener("keydown", (event) => {
      byKey = event.key !== "Enter";
      if (event.key === "Enter") {
        event.preventDefault();
        if (other.value === "") this.say(HOW_TO_CHOOSE);
        else choose();
      } else if (event.key === "Escape") {
        at("card").focus({ preventScroll: true });
        this.say("");
        this.renderCard();
      }
    });
    other.addEventListener("pointerdown", () => (byKey = false));
    other.addEventListener("change", () => byKey || choose());
    this.listenToKeys();
    this.decisions.onStored(() => this.render());
    at("export").addEventListener("click", () => download("decisions.csv", this.decisions.asCsv()));
    at("export-rows").addEventListener("click", () => this.exportRows());
    at("import").addEventListener("click", () => at("import-file").click());
    at("import-file").addEventListener("change", async () => {
      const [file] = at("import-file").files;
      if (!file) return;
      try {
        const n = this.decisions.read(await file.text(), this.suspects);
        this.say(`${times(n, "decision")} imported.`);
        this.current = this.firstUndecided() ?? this.current;
      } catch (error) {
        this.say(`Nothing was imported. ${error.message}`);
      }
      at("import-file").value = "";
      this.turnTo(this.current);
      this.render();
    });
  }

  listenToKeys() {
    const actions = {
      a: () => this.decide("accept"),
      k: () => this.decide("keep"),
      u: () => this.decide("unsure"),
      o: () => {
        at("other").focus();
        this.say(HOW_TO_CHOOSE);
      },
      b: () => this.back(),
      n: () => this.step(1),
    };
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
      const action = actions[event.key.toLowerCase()];
      if (!action || at("card").hidden) return;
      event.preventDefault();
      if (this.cardIsInView()) action();
      else this.showCard(); // nobody decides a row unseen
    });
  }

  cardIsInView() {
    const { top, bottom } = at("card").getBoundingClientRect();
    return top < window.innerHeight - 100 && bottom > 100;
  }

  showCard() {
    at("card").scrollIntoView({ block: "nearest", behavior: "instant" });
    at("card").focus({ preventScroll: true });
    this.say("Press the key again to decide this row.");
  }

  exportRows() {
    const s = this.suspects;
    const head = ["row", "given", "suggested", "score"].concat(s.data.reasons ? ["reasons"] : []);
    const lines = this.shown.map((i) =>
      [s.row(i), s.label("given", i), s.label("suggested", i), s.score(i)].concat(s.data.reasons ? [s.reasonsText(i)] : []),
    );
    download("suspect-rows.csv", csv([head, ...lines]));
  }
}

// The plan: wrong labels left against rows reviewed, and what the review has found so far.
class Curve {
  constructor(review) {
    this.plan = review.plan;
    const view = at("curve").viewBox.baseVal;
    this.left = 44;
    this.bottom = view.height - 28;
    this.maxX = Math.max(this.plan.rows.at(-1), 1);
    this.maxY = Math.max(...this.plan.left_high, 1);
    this.width = view.width - this.left - 8;
    this.height = this.bottom - 8;
    const band = [...this.points(this.plan.left_high), ...this.points(this.plan.left_low).reverse()];
    at("curve-band").setAttribute("d", this.path(band) + "Z");
    at("curve-line").setAttribute("d", this.path(this.points(this.plan.left)));
    const target = this.y(review.target * review.nRows).toFixed(1);
    at("curve-target").setAttribute("y1", target);
    at("curve-target").setAttribute("y2", target);
    at("curve-max-x").textContent = whole.format(this.plan.rows.at(-1));
    at("curve-max-y").textContent = whole.format(Math.round(this.maxY));
  }

  x(rows) {
    return this.left + (this.width * Math.min(rows, this.maxX)) / this.maxX;
  }

  y(left) {
    return this.bottom - (this.height * Math.min(Math.max(left, 0), this.maxY)) / this.maxY;
  }

  points(values) {
    return values.map((value, k) => [this.x(this.plan.rows[k]), this.y(value)]);
  }

  path(points) {
    return "M" + points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L");
  }

  // areWrong: for each decision in turn, whether it found a wrong label
  show(areWrong) {
    let left = this.plan.left[0];
    const points = [[this.x(0), this.y(left)]];
    areWrong.forEach((isWrong, k) => {
      left -= isWrong;
      points.push([this.x(k + 1), this.y(left)]);
    });
    const [x, y] = points.at(-1);
    at("curve-done").setAttribute("d", this.path(points));
    at("curve-now").setAttribute("cx", x.toFixed(1));
    at("curve-now").setAttribute("cy", y.toFixed(1));
    const n = areWrong.length;
    const after = n === 0 ? "" : ` after ${times(n, "decision")}`;
    at("curve-title").textContent = `Wrong labels left${after}: about ${whole.format(Math.max(0, Math.round(left)))}.`;
    at("curve-words").textContent = at("curve-title").textContent;
  }
}
