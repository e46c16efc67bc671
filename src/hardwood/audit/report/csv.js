// --- CSV --------------------------------------------------------------------------------------

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const FORMULA = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/;

const isFormula = (text) => FORMULA.test(text) && !NUMBER.test(text);

// Spreadsheets run text that starts like a formula. A leading quote keeps it text.
const escapeFormula = (text) => (isFormula(text.replace(/^'+/, "")) ? "'" + text : text);
const unescapeFormula = (text) => (text.startsWith("'") && isFormula(text.replace(/^'+/, "")) ? text.slice(1) : text);

function csvCell(value) {
  const text = escapeFormula(String(value));
  return /[",;\r\n]/.test(text) || text !== text.trim() ? '"' + text.replaceAll('"', '""') + '"' : text;
}

function csv(lines) {
  return "\ufeff" + lines.map((cells) => cells.map(csvCell).join(",") + "\r\n").join("");
}

// Lines of cells. Spreadsheets may have saved the file with semicolons or tabs.
function parseCsv(text) {
  const content = text.replace(/^\ufeff/, "");
  const firstLine = content.split(/[\r\n]/, 1)[0];
  const delimiter = [",", ";", "\t"].reduce((a, b) => (firstLine.split(b).length > firstLine.split(a).length ? b : a));
  const lines = [];
  let cells = [];
  let cell = "";
  let inside = false;
  const endLine = () => {
    cells.push(cell);
    if (cells.length > 1 || cell !== "") lines.push(cells);
    cells = [];
    cell = "";
  };
  for (let i = 0; i < content.length; i++) {
    const c = content[i];
    if (inside) {
      if (c !== '"') cell += c;
      else if (content[i + 1] === '"') {
        cell += c;
        i++;
      } else inside = false;
    } else if (c === '"' && cell === "") inside = true;
    else if (c === delimiter) {
      cells.push(cell);
      cell = "";
    } else if (c === "\n" || c === "\r") {
      if (c === "\r" && content[i + 1] === "\n") i++;
      endLine();
    } else cell += c;
  }
  endLine();
  return lines.map((line) => line.map(unescapeFormula));
}

function download(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
