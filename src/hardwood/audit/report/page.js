"use strict";

// --- light and dark ---------------------------------------------------------------------------

const THEME = "hardwood-theme";

function storedTheme() {
  try {
    return localStorage.getItem(THEME);
  } catch {
    return null; // some browsers store nothing for local files
  }
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem(THEME, theme);
  } catch {
    // the theme then lasts as long as the page
  }
}

// Before the first paint.
if (["light", "dark"].includes(storedTheme())) document.documentElement.dataset.theme = storedTheme();

function startTheme() {
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const show = () => button.setAttribute("aria-pressed", isDark());
  button.hidden = false;
  button.addEventListener("click", () => {
    setTheme(isDark() ? "light" : "dark");
    show();
  });
  system.addEventListener("change", show);
  show();
}

// --- CSV --------------------------------------------------------------------------------------

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const FORMULA = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/;

// Spreadsheets run text that starts like a formula. A leading quote keeps it text.
function csvCell(value) {
  let text = String(value);
  if (FORMULA.test(text) && !NUMBER.test(text)) text = "'" + text;
  return /[",\r\n]/.test(text) || text !== text.trim() ? '"' + text.replaceAll('"', '""') + '"' : text;
}

function csv(lines) {
  return "\ufeff" + lines.map((cells) => cells.map(csvCell).join(",") + "\r\n").join("");
}

function download(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// --- the table --------------------------------------------------------------------------------

function startTable() {
  const at = (id) => document.getElementById(id);
  if (!at("table")) return;
  const data = JSON.parse(at("data").textContent);
  const nRows = data.row.length;
  const everyRow = Array.from({ length: nRows }, (_, i) => i); // the most suspect first
  const filters = ["given", "suggested", "least", "text"].map(at);
  const headers = [...document.querySelectorAll(".rows th[data-key]")];
  const whole = new Intl.NumberFormat("en");
  const sort = { key: "score", sign: -1 };
  let shown = everyRow;
  let page = 0;

  const reasons = (i) => {
    const places = data.reasons?.[i] ?? [];
    const pairs = [];
    for (let k = 0; k < places.length; k += 2) pairs.push([data.features[places[k]], data.values[places[k + 1]]]);
    return pairs;
  };
  const reasonsText = (i) => reasons(i).map(([name, value]) => `${name} = ${value}`).join("; ");
  const label = (key, i) => data.classes[data[key][i]];
  const percent = (i) => {
    const share = (100 * data.score[i]) / data.scoreUnit;
    return share > 99.9 ? "> 99.9\u00a0%" : `${share.toFixed(1)}\u00a0%`;
  };

  // The text that a search looks through, made on the first search.
  let haystacks = null;
  const haystack = (i) => {
    haystacks ??= everyRow.map((j) => `${data.row[j]}\n${label("given", j)}\n${label("suggested", j)}\n${reasonsText(j)}`.toLowerCase());
    return haystacks[i];
  };

  function select() {
    const [given, suggested, least, text] = filters.map((field) => field.value);
    const words = text.trim().toLowerCase();
    const leastScore = (Number(least) / 100) * data.scoreUnit;
    shown = everyRow.filter(
      (i) =>
        (given === "" || data.given[i] === Number(given)) &&
        (suggested === "" || data.suggested[i] === Number(suggested)) &&
        data.score[i] >= leastScore &&
        (words === "" || haystack(i).includes(words)),
    );
    const column = data[sort.key];
    // Ties: the most suspect first.
    shown.sort((a, b) => sort.sign * (column[a] - column[b]) || a - b);
    page = 0;
    show();
  }

  function cell(name, text, className) {
    const td = document.createElement("td");
    td.setAttribute("role", "cell");
    td.className = className;
    if (name) td.dataset.name = name;
    if (text !== null) {
      const bdi = document.createElement("bdi");
      bdi.textContent = text;
      td.append(bdi);
    }
    return td;
  }

  function line(i) {
    const tr = document.createElement("tr");
    tr.setAttribute("role", "row");
    tr.append(
      cell("Row", data.row[i], "row"),
      cell("given", label("given", i), "given"),
      cell("suggested", label("suggested", i), "suggested"),
      cell("", percent(i), "num score"),
    );
    if (data.reasons) {
      const why = cell("", null, "why");
      for (const [name, value] of reasons(i)) {
        const bdi = document.createElement("bdi");
        const feature = document.createElement("span");
        feature.className = "name";
        feature.textContent = `${name} = `;
        bdi.append(feature, value);
        why.append(bdi, " ");
      }
      tr.append(why);
    }
    return tr;
  }

  function noLine() {
    const tr = document.createElement("tr");
    tr.setAttribute("role", "row");
    const td = cell("", "No rows match.", "empty");
    td.colSpan = data.reasons ? 5 : 4;
    tr.append(td);
    return tr;
  }

  function show() {
    const size = Number(at("size").value);
    const nPages = Math.max(1, Math.ceil(shown.length / size));
    page = Math.min(Math.max(page, 0), nPages - 1);
    const lines = shown.slice(page * size, (page + 1) * size).map(line);
    at("body").replaceChildren(...(lines.length ? lines : [noLine()]));
    at("page").textContent = `Page ${whole.format(page + 1)} of ${whole.format(nPages)}`;
    at("count").textContent = `${whole.format(shown.length)} of ${whole.format(nRows)} rows`;
    at("first").disabled = at("previous").disabled = page === 0;
    at("next").disabled = at("last").disabled = page === nPages - 1;
    at("export").disabled = shown.length === 0;
    for (const th of headers) {
      if (th.dataset.key !== sort.key) th.removeAttribute("aria-sort");
      else th.setAttribute("aria-sort", sort.sign > 0 ? "ascending" : "descending");
    }
  }

  function exportRows() {
    const head = ["row", "given", "suggested", "score"].concat(data.reasons ? ["reasons"] : []);
    const lines = shown.map((i) =>
      [data.row[i], label("given", i), label("suggested", i), data.score[i] / data.scoreUnit].concat(
        data.reasons ? [reasonsText(i)] : [],
      ),
    );
    download("suspect-rows.csv", csv([head, ...lines]));
  }

  for (const key of ["given", "suggested"]) {
    const places = [...new Set(data[key])].sort((a, b) => a - b);
    at(key).append(new Option("any", ""), ...places.map((place) => new Option(data.classes[place], place)));
  }
  for (const field of filters) field.addEventListener("input", select);
  at("filters").addEventListener("submit", (event) => event.preventDefault());
  at("filters").addEventListener("reset", () => setTimeout(select)); // once the fields have been cleared
  for (const th of headers)
    th.querySelector("button").addEventListener("click", () => {
      const key = th.dataset.key;
      sort.sign = sort.key === key ? -sort.sign : key === "score" ? -1 : 1;
      sort.key = key;
      select();
    });
  const turns = { first: () => 0, previous: () => page - 1, next: () => page + 1, last: () => Infinity };
  for (const [id, turn] of Object.entries(turns))
    at(id).addEventListener("click", () => {
      page = turn();
      show();
    });
  at("size").addEventListener("change", () => {
    page = 0;
    show();
  });
  at("export").addEventListener("click", exportRows);
  for (const button of document.querySelectorAll("button[data-given]"))
    button.addEventListener("click", () => {
      at("filters").reset();
      at("given").value = button.dataset.given;
      at("suggested").value = button.dataset.suggested;
      select();
      at("rows").scrollIntoView();
      at("given").focus({ preventScroll: true });
    });
  at("table").hidden = false;
  select();
}

document.addEventListener("DOMContentLoaded", () => {
  startTheme();
  startTable();
});
