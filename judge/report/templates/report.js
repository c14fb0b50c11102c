// Owns the page: the address, the switches, the keyboard, and that all begins.

const ROOT = document.documentElement;
let keysWork = true;
/** Whether the address says the language: it was asked for there, or by the switch. */
let languageSaid = false;

// --- the address

function readAddress() {
  const asked = new URLSearchParams(location.hash.slice(1));
  for (const name of ["q", "find"]) STATE[name] = asked.get(name) || "";
  for (const [name, values] of Object.entries(offered())) STATE[name] = values.includes(asked.get(name)) ? asked.get(name) : "";
  const only = (asked.get("only") || "").split(" ");
  for (const name of ONLY) STATE[name] = only.includes(name);
  STATE.columns = new Map();
  for (const [column, values] of dividing()) {
    const value = asked.get(`c.${column}`);
    if (value && values.has(value)) STATE.columns.set(column, value);
  }
}

function writeAddress() {
  const said = new URLSearchParams();
  for (const name of ["q", "find", "engine", "verdict", "grade", "ql", "sort"]) if (STATE[name]) said.set(name, STATE[name]);
  const only = ONLY.filter((name) => STATE[name]).join(" ");
  if (only) said.set("only", only);
  for (const [column, value] of STATE.columns) said.set(`c.${column}`, value);
  if (languageSaid) said.set("lang", isChinese() ? "zh" : "en");
  try {
    history.replaceState(null, "", `#${said}`);
  } catch {
    // A frame without an origin of its own has no address to write to.
  }
}

// --- language and shade

function languageInAddress() {
  const said = [location.hash, location.search].map((part) => new URLSearchParams(part.slice(1)).get("lang"));
  return said.find((each) => /^(en|zh)\b/i.test(each || ""));
}

function askedLanguage() {
  languageSaid = Boolean(languageInAddress());
  return (languageInAddress() || navigator.language || "en").toLowerCase().startsWith("zh") ? "zh" : "en";
}

function otherLanguage() {
  speak(isChinese() ? "en" : "zh");
  languageSaid = true;
  writeAddress();
}

function speak(language) {
  ROOT.dataset.lang = language;
  ROOT.lang = language === "zh" ? "zh-Hans" : "en";
  for (const chart of document.querySelectorAll("svg.chart")) {
    for (const name of ["aria-labelledby", "aria-describedby"]) {
      const id = chart.getAttribute(name);
      if (id) chart.setAttribute(name, id.replace(/-(en|zh)$/, `-${language}`));
    }
  }
  const other = document.getElementById("language");
  other.textContent = t("language");
  other.lang = language === "zh" ? "en" : "zh-Hans";
  document.getElementById("keys").textContent = t("keys");
  nameShade();
  buildHelp();
  buildRoom();
  refresh();
}

function isDark() {
  return ROOT.dataset.theme ? ROOT.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function nameShade() {
  document.getElementById("shade").textContent = t(isDark() ? "light" : "dark");
}

// --- opening queries

function lineOf(query) {
  return ROOM.querySelector(`li.query[data-place="${query.place}"]`);
}

function close() {
  const line = ROOM.querySelector("li.opened");
  STATE.q = "";
  if (!line) return;
  line.querySelector(".panel").remove();
  line.classList.remove("opened");
  line.querySelector("button.open").setAttribute("aria-expanded", "false");
}

/** Opens the query in place of the one that is open, and goes there. */
function open(query) {
  close();
  STATE.q = query.id;
  const place = SHOWN.queries.indexOf(query);
  if (place < SHOWN.start || place >= SHOWN.end) refresh();
  else {
    const line = lineOf(query);
    line.append(panel(query));
    line.classList.add("opened");
    line.querySelector("button.open").setAttribute("aria-expanded", "true");
    highlight();
  }
  writeAddress();
  goToOpen(true);
}

function goToOpen(focus) {
  const line = ROOM.querySelector("li.opened");
  if (!line) return;
  if (focus) line.querySelector("button.open").focus({ preventScroll: true });
  line.scrollIntoView({ block: "start" });
}

function shut() {
  const line = ROOM.querySelector("li.opened");
  close();
  writeAddress();
  if (line) line.querySelector("button.open").focus();
}

/** The query after (or before) the one that is open or has the focus. */
function step(by) {
  const line = document.activeElement.closest?.("li.query") || ROOM.querySelector("li.opened");
  const at = line ? SHOWN.queries.indexOf(QUERIES[line.dataset.place]) : by > 0 ? -1 : SHOWN.queries.length;
  const next = SHOWN.queries[at + by];
  if (next) open(next);
}

// --- what a person does

function changed(event) {
  const { name, type, checked, value } = event.target;
  if (!name) return;
  if (name.startsWith("c.")) {
    if (value) STATE.columns.set(name.slice(2), value);
    else STATE.columns.delete(name.slice(2));
  } else STATE[name] = type === "checkbox" ? checked : value;
  refresh();
  writeAddress();
}

function cleared(event) {
  event.preventDefault();
  Object.assign(STATE, { find: "", engine: "", verdict: "", grade: "", ql: "", sort: "", columns: new Map() });
  for (const name of ONLY) STATE[name] = false;
  buildRoom();
  refresh();
  writeAddress();
  ROOM.querySelector("[name=find]").focus();
}

function clicked(event) {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.classList.contains("open")) {
    const query = QUERIES[button.closest("li").dataset.place];
    query.id === STATE.q ? shut() : open(query);
  } else if (button.dataset.more) extend(button.dataset.more);
  else if (button.dataset.to) {
    const [engine, rank] = button.dataset.to.split(" ");
    focusOn(articleAt(button.closest(".sides"), engine, rank));
  } else if (button.classList.contains("whole")) {
    const long = button.previousElementSibling.classList.toggle("long");
    button.setAttribute("aria-expanded", String(!long));
    button.textContent = t(long ? "whole" : "less");
  }
}

function pressed(event) {
  const { key, target } = event;
  const help = document.getElementById("help");
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  if (key === "Escape") return escaped(target);
  if (target.closest("input, select, textarea")) return;
  if (key.startsWith("Arrow")) return moved(event);
  if (!keysWork) return;
  const acts = { j: () => step(1), k: () => step(-1), "/": () => ROOM.querySelector("[name=find]").focus(), "?": () => help.showModal() };
  if (!Object.hasOwn(acts, key)) return;
  event.preventDefault();
  acts[key]();
}

function escaped(target) {
  if (target.matches("input[type=search]") && target.value) return;
  if (target.matches("input, select")) target.blur();
  else if (STATE.q) shut();
}

function moved(event) {
  const opened = event.target.closest("li.opened");
  if (!opened) return;
  const article = event.target.closest("article");
  const next = article ? beside(article, event.key) : event.key === "ArrowDown" && opened.querySelector("article");
  if (article || next) event.preventDefault();
  if (next) focusOn(next);
}

// --- the list of keys

function buildHelp() {
  const rows = [
    ["/", "helpFind"], ["j k", "helpNext"], ["Enter", "helpOpen"], ["← → ↑ ↓", "helpArrows"], ["Esc", "helpEscape"], ["?", "helpHelp"],
  ];
  const list = el("dl", {});
  for (const [keys, words] of rows) {
    list.append(el("div", {}, el("dt", {}, ...keys.split(" ").map((key) => el("kbd", {}, key))), el("dd", {}, t(words))));
  }
  const works = el("input", { type: "checkbox", checked: keysWork });
  works.addEventListener("change", () => { keysWork = works.checked; });
  document.getElementById("help-keys").replaceChildren(
    list,
    el("label", {}, works, ` ${t("helpSwitch")}`),
    el("form", { method: "dialog" }, el("button", { autofocus: true }, t("close"))),
  );
}

// --- printing: closed tables and lines that are not drawn would stay behind

let closedBefore = [];

function openAll() {
  closedBefore = [...document.querySelectorAll("details:not([open])")];
  for (const each of closedBefore) each.open = true;
  for (const kind of ["earlier", "later"]) if (ROOM.querySelector(`.more.${kind}`)) extend(kind, Infinity);
}

function closeAgain() {
  for (const each of closedBefore) each.open = false;
}

// --- beginning

function begin() {
  readAddress();
  document.querySelector(".switches").hidden = false;
  ROOM.addEventListener("input", changed);
  ROOM.addEventListener("reset", cleared);
  ROOM.addEventListener("submit", (event) => event.preventDefault());
  ROOM.addEventListener("click", clicked);
  for (const kind of ["mouseover", "focusin"]) {
    ROOM.addEventListener(kind, (event) => showTwins(event.target.closest("article")));
  }
  document.addEventListener("keydown", pressed);
  document.getElementById("language").addEventListener("click", otherLanguage);
  document.getElementById("shade").addEventListener("click", () => {
    ROOT.dataset.theme = isDark() ? "light" : "dark";
    nameShade();
  });
  document.getElementById("keys").addEventListener("click", () => document.getElementById("help").showModal());
  for (const link of document.querySelectorAll("nav a")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const section = document.getElementById(link.dataset.to);
      section.focus({ preventScroll: true });
      section.scrollIntoView();
    });
  }
  addEventListener("hashchange", () => {
    readAddress();
    if (languageInAddress()) speak(askedLanguage());
    else buildRoom(), refresh();
    goToOpen(true);
  });
  addEventListener("beforeprint", openAll);
  addEventListener("afterprint", closeAgain);
  speak(askedLanguage());
  if (STATE.q) goToOpen(false);
  performance.mark("judge: ready");
  stackHay();
}

begin();
