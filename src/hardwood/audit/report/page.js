// --- start ------------------------------------------------------------------------------------

async function startWorkbench() {
  if (!at("table")) return;
  const review = JSON.parse(at("review").textContent);
  const suspects = new Suspects(JSON.parse(at("data").textContent), review);
  const decisions = await Decisions.open(review.id);
  new Workbench(suspects, decisions, review);
  at("table").hidden = false;
}

document.addEventListener("DOMContentLoaded", () => {
  startTheme();
  startWorkbench();
});
