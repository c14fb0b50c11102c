// Owns the page of the trend: its two switches, and that printing shows the tables.

const ROOT = document.documentElement;

function asked() {
  const said = [location.hash, location.search].map((part) => new URLSearchParams(part.slice(1)).get("lang"));
  const language = said.find((each) => /^(en|zh)\b/i.test(each || "")) || navigator.language || "en";
  return language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

function speak(language) {
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
  nameShade();
}

function isDark() {
  return ROOT.dataset.theme ? ROOT.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function nameShade() {
  document.getElementById("shade").textContent = t(isDark() ? "light" : "dark");
}

let closed = [];

document.querySelector(".switches").hidden = false;
document.getElementById("language").addEventListener("click", () => speak(isChinese() ? "en" : "zh"));
document.getElementById("shade").addEventListener("click", () => {
  ROOT.dataset.theme = isDark() ? "light" : "dark";
  nameShade();
});
addEventListener("hashchange", () => speak(asked()));
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const each of closed) each.open = true;
});
addEventListener("afterprint", () => {
  for (const each of closed) each.open = false;
});
speak(asked());
