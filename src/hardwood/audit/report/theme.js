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
