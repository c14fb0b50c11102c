// The language and the colours of the report and the trend, and what is printed.

const ROOT = document.documentElement;

/** @returns {"en" | "zh" | undefined} The language that the address asks for. */
function languageInAddress() {
  for (const part of [location.hash, location.search]) {
    const language = new URLSearchParams(part.slice(1)).get("lang") ?? "";
    if (/^(en|zh)\b/i.test(language)) return language.toLowerCase().startsWith("zh") ? "zh" : "en";
  }
  return undefined;
}

/** @returns {"en" | "zh"} The language of the address, else of the browser. */
function preferredLanguage() {
  return languageInAddress() ?? (navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en");
}

/**
 * Show the texts and the descriptions of the charts in a language.
 * @param {"en" | "zh"} language
 */
function showLanguage(language) {
  ROOT.dataset.lang = language;
  ROOT.lang = language === "zh" ? "zh-Hans" : "en";
  for (const chart of document.querySelectorAll("svg.chart")) {
    for (const name of ["aria-labelledby", "aria-describedby"]) {
      const id = chart.getAttribute(name);
      if (id) chart.setAttribute(name, id.replace(/-(en|zh)$/, `-${language}`));
    }
  }
  const button = select("#language");
  button.textContent = t("language");
  button.lang = language === "zh" ? "en" : "zh-Hans";
  labelThemeButton();
}

function toggleTheme() {
  ROOT.dataset.theme = isDark() ? "light" : "dark";
  labelThemeButton();
}

function labelThemeButton() {
  select("#theme").textContent = t(isDark() ? "light" : "dark");
}

/** Open the closed tables while the page is printed: paper would show only their names. */
function openTablesForPrint() {
  /** @type {HTMLDetailsElement[]} */
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details")].filter((table) => !table.open);
    for (const table of closed) table.open = true;
  });
  addEventListener("afterprint", () => {
    for (const table of closed) table.open = false;
  });
}
