// --- decisions --------------------------------------------------------------------------------

const DECISION_COLUMNS = ["row", "id", "given", "decision", "label", "time"];
const KINDS = ["accept", "keep", "other", "unsure"];

// A place in the browser for one value under each key. In IndexedDB, whose writes are confirmed: Chromium
// may drop, in silence, what a page of a local file writes to localStorage if it read from it while loading.
class Store {
  static async open() {
    const request = indexedDB.open("hardwood", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("decisions");
    return new Store(await done(request));
  }

  constructor(database) {
    this.database = database;
  }

  get(key) {
    return done(this.database.transaction("decisions").objectStore("decisions").get(key));
  }

  set(key, value) {
    return done(this.database.transaction("decisions", "readwrite").objectStore("decisions").put(value, key));
  }
}

function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

// The decisions on the rows of one table, by row. They stay in the browser under the report's id.
class Decisions {
  static async open(reportId) {
    const decisions = new Decisions(reportId);
    try {
      decisions.store = await Store.open();
      await decisions.load();
      decisions.isKept = true;
    } catch {
      // some browsers store nothing for local files
    }
    return decisions;
  }

  constructor(reportId) {
    this.key = reportId;
    this.byRow = new Map();
    this.isKept = false; // whether the browser stores them
    this.tabs = new BroadcastChannel("hardwood-decisions-" + reportId);
  }

  async load() {
    const kept = (await this.store.get(this.key)) ?? [];
    this.byRow = new Map(kept.map((decision) => [decision.row, decision]));
  }

  // Calls back after the same report in another tab has stored decisions. Without that, the next
  // decision here would overwrite them.
  onStored(callback) {
    this.tabs.onmessage = () => this.load().then(callback, () => {});
  }

  get(row) {
    return this.byRow.get(row);
  }

  set(row, decision) {
    this.byRow.delete(row); // the latest decision is the last line
    if (decision) this.byRow.set(row, decision);
    return this.save();
  }

  async save() {
    try {
      await this.store.set(this.key, [...this.byRow.values()]);
      this.tabs.postMessage("stored");
    } catch {
      this.isKept = false;
    }
  }

  asCsv() {
    const lines = [...this.byRow.values()].map((decision) => DECISION_COLUMNS.map((name) => decision[name] ?? ""));
    return csv([DECISION_COLUMNS, ...lines]);
  }

  // Take in a file; throws an Error that says what is wrong with it, and then changes nothing.
  read(text, table) {
    const [head, ...lines] = parseCsv(text);
    const place = Object.fromEntries(DECISION_COLUMNS.map((name) => [name, (head ?? []).indexOf(name)]));
    for (const name of ["row", "label"]) if (place[name] < 0) throw new Error(`The file has no column "${name}".`);
    const known = new Set(table.labels);
    const found = lines.map((cells, i) => {
      const at = (name) => (place[name] < 0 ? "" : (cells[place[name]] ?? ""));
      const fail = (what) => {
        throw new Error(`Line ${i + 2}: ${what}`);
      };
      const row = Number(at("row"));
      if (!/^\d+$/.test(at("row")) || row >= table.nRows) fail(`there is no row "${at("row")}" in this table.`);
      const label = at("label");
      if (label !== "" && !known.has(label)) fail(`the label "${label}" is not one of the classes.`);
      const given = at("given") || table.givenOf(row) || "";
      const here = table.givenOf(row);
      if ((given !== "" && !known.has(given)) || (here !== undefined && given !== here))
        fail(`row ${row} was labelled "${given}" when it was decided. Are these the decisions of another table?`);
      const kind = KINDS.includes(at("decision")) ? at("decision") : label === "" ? "unsure" : label === given ? "keep" : "other";
      return { row, id: at("id"), given, decision: kind, label, time: at("time") };
    });
    for (const decision of found) {
      this.byRow.delete(decision.row);
      this.byRow.set(decision.row, decision);
    }
    this.save();
    return found.length;
  }
}
