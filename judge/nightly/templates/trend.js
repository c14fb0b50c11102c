// The page of the trend: the switches of language and theme, and open tables in print.

const ROOT = document.documentElement;

function requestedLanguage() {
  const values = [location.hash, location.search].map((part) => new URLSearchParams(part.slice(1)).get("lang"));
  const language = values.find((value) => /^(en|zh)\b/i.test(value || "")) || navigator.language || "en";
  return language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

function setLanguage(language) {
  ROOT.dataset.lang = language;
  ROOT.lang = language === "zh" ? "zh-Hans" : "en";
  for (const chart of document.querySelectorAll("svg.chart")) {
    for (const name of ["aria-labelledby", "aria-describedby"]) {
      chart.setAttribute(name, chart.getAttribute(name).replace(/-(en|zh)$/, `-${language}`));
    }
  }
  const other = document.getElementById("language");
  other.textContent = t("language");
  other.lang = language === "zh" ? "en" : "zh-Hans";
  labelThemeSwitch();
}

function isDark() {
  return ROOT.dataset.theme ? ROOT.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function labelThemeSwitch() {
  document.getElementById("shade").textContent = t(isDark() ? "light" : "dark");
}

let closedDetails = [];

document.querySelector(".switches").hidden = false;
document.getElementById("language").addEventListener("click", () => setLanguage(isChinese() ? "en" : "zh"));
document.getElementById("shade").addEventListener("click", () => {
  ROOT.dataset.theme = isDark() ? "light" : "dark";
  labelThemeSwitch();
});
addEventListener("hashchange", () => setLanguage(requestedLanguage()));
addEventListener("beforeprint", () => {
  closedDetails = [...document.querySelectorAll("details:not([open])")];
  for (const details of closedDetails) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of closedDetails) details.open = false;
});
setLanguage(requestedLanguage());
