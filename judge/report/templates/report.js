// The report: its address, its switches, mouse and keyboard.

let areShortcutsOn = true;
/** Whether the address says the language: it did when the page was opened, or the switch was used. */
let isLanguageInAddress = false;

// --- the address

function readAddress() {
  const params = new URLSearchParams(location.hash.slice(1));
  Object.assign(FILTER, emptyFilter(), { q: params.get("q") ?? "", find: params.get("find") ?? "" });
  for (const [name, options] of Object.entries(filterOptions())) {
    const value = params.get(name) ?? "";
    if (options.has(value)) Object.assign(FILTER, { [name]: value });
  }
  const only = (params.get("only") ?? "").split(" ");
  for (const name of ONLY_FILTERS) if (only.includes(name)) FILTER.only.add(name);
  for (const [column, values] of filterColumns()) {
    const value = params.get(`c.${column}`) ?? "";
    if (values.has(value)) FILTER.columns.set(column, value);
  }
}

function writeAddress() {
  const params = new URLSearchParams();
  for (const name of /** @type {const} */ (["q", ...TEXT_FILTERS])) if (FILTER[name]) params.set(name, FILTER[name]);
  if (FILTER.only.size) params.set("only", ONLY_FILTERS.filter((name) => FILTER.only.has(name)).join(" "));
  for (const [column, value] of FILTER.columns) params.set(`c.${column}`, value);
  if (isLanguageInAddress) params.set("lang", isChinese() ? "zh" : "en");
  try {
    history.replaceState(null, "", `#${params}`);
  } catch {
    // A frame without an origin of its own can't change its address.
  }
}

/** @param {"en" | "zh"} language */
function setLanguage(language) {
  showLanguage(language);
  select("#keys").textContent = t("keys");
  buildHelp();
  buildBrowser();
  refresh();
}

// --- the open query

/** @returns {HTMLElement | null} */
function openRow() {
  return BROWSER.querySelector("li.opened");
}

/** @param {Element} row */
function openButton(row) {
  return select("button.open", HTMLButtonElement, row);
}

function removePanel() {
  FILTER.q = "";
  const row = openRow();
  if (!row) return;
  select(".panel", HTMLElement, row).remove();
  row.classList.remove("opened");
  openButton(row).setAttribute("aria-expanded", "false");
}

/**
 * Open a query, close the one that was open, and scroll to it.
 * @param {Query} query
 */
function openQuery(query) {
  removePanel();
  FILTER.q = query.id;
  const row = BROWSER.querySelector(`li.query[data-index="${query.index}"]`);
  if (row) {
    row.append(buildPanel(query));
    row.classList.add("opened");
    openButton(row).setAttribute("aria-expanded", "true");
    highlightMatches();
  } else refresh();
  writeAddress();
  scrollToOpenQuery(true);
}

/**
 * Scroll to the open query, or to the line that says that it is not on this page.
 * @param {boolean} hasFocus
 */
function scrollToOpenQuery(hasFocus) {
  const row = openRow();
  if (!row) {
    if (FILTER.q) select(".count", HTMLElement, BROWSER).scrollIntoView({ block: "center" });
    return;
  }
  if (hasFocus) openButton(row).focus({ preventScroll: true });
  row.scrollIntoView({ block: "start" });
}

function closeQuery() {
  const row = openRow();
  removePanel();
  writeAddress();
  if (row) openButton(row).focus();
}

/**
 * Open the query after (1) or before (-1) the one that is open or has the focus.
 * @param {1 | -1} step
 */
function openNext(step) {
  const row = /** @type {HTMLElement | null} */ (document.activeElement?.closest("li.query") ?? openRow());
  const open = LISTED.queries.findIndex((query) => String(query.index) === row?.dataset.index);
  const next = LISTED.queries[(row || step > 0 ? open : LISTED.queries.length) + step];
  if (next) openQuery(next);
}

// --- mouse and keyboard

/** @param {Event} event */
function onInput(event) {
  const { name, type, checked, value } = /** @type {HTMLInputElement} */ (event.target);
  if (type === "checkbox") checked ? FILTER.only.add(name) : FILTER.only.delete(name);
  else if (!name.startsWith("c.")) Object.assign(FILTER, { [name]: value });
  else if (value) FILTER.columns.set(name.slice(2), value);
  else FILTER.columns.delete(name.slice(2));
  refresh();
  writeAddress();
}

/** @param {Event} event */
function onReset(event) {
  event.preventDefault();
  Object.assign(FILTER, emptyFilter());
  buildBrowser();
  refresh();
  writeAddress();
  select("[name=find]", HTMLInputElement, BROWSER).focus();
}

/** @param {MouseEvent} event */
function onClick(event) {
  const button = /** @type {Element} */ (event.target).closest("button");
  if (!button) return;
  const { more, engine, rank } = button.dataset;
  if (button.classList.contains("open")) {
    const query = QUERIES[Number(button.closest("li")?.dataset.index)];
    if (query) query.id === FILTER.q ? closeQuery() : openQuery(query);
  } else if (more === "earlier" || more === "later") drawMore(more);
  else if (engine && rank) {
    const result = resultAt(sideBySide(button), engine, rank);
    if (result) focusResult(result);
  } else if (button.classList.contains("unfold")) {
    const isLong = button.previousElementSibling?.classList.toggle("long") ?? false;
    button.setAttribute("aria-expanded", String(!isLong));
    button.textContent = t(isLong ? "showAll" : "showLess");
  }
}

/** @param {KeyboardEvent} event */
function onKeydown(event) {
  const { key } = event;
  const target = /** @type {Element} */ (event.target);
  const help = select("#help", HTMLDialogElement);
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  if (key === "Escape") onEscape(target);
  else if (target.closest("input:not([type=checkbox]), select, textarea")) return;
  else if (key.startsWith("Arrow")) onArrow(event, target);
  else if (areShortcutsOn) {
    const shortcut = {
      j: () => openNext(1),
      k: () => openNext(-1),
      "/": () => select("[name=find]", HTMLInputElement, BROWSER).focus(),
      "?": () => help.showModal(),
    }[key];
    if (!shortcut) return;
    event.preventDefault();
    shortcut();
  }
}

/** @param {Element} target */
function onEscape(target) {
  if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement) {
    if (target.type !== "search" || !target.value) target.blur();
  } else if (FILTER.q) closeQuery();
}

/**
 * @param {KeyboardEvent} event
 * @param {Element} target
 */
function onArrow(event, target) {
  const row = target.closest("li.opened");
  if (!row) return;
  const article = target.closest("article");
  const next = article ? neighbourOf(article, event.key) : event.key === "ArrowDown" && row.querySelector("article");
  if (article || next) event.preventDefault();
  if (next) focusResult(next);
}

// --- the list of keys

function buildHelp() {
  const list = createElement("dl");
  for (const [keys, key] of /** @type {const} */ ([
    ["/", "helpFind"],
    ["j k", "helpNext"],
    ["Enter", "helpOpen"],
    ["← → ↑ ↓", "helpArrows"],
    ["Esc", "helpEscape"],
    ["?", "helpKeys"],
  ])) {
    const names = keys.split(" ").map((name) => createElement("kbd", {}, name));
    list.append(createElement("div", {}, createElement("dt", {}, ...names), createElement("dd", {}, t(key))));
  }
  const box = createElement("input", { type: "checkbox", checked: areShortcutsOn });
  box.addEventListener("change", () => {
    areShortcutsOn = box.checked;
  });
  select("#help-keys").replaceChildren(
    list,
    createElement("label", {}, box, ` ${t("helpSwitch")}`),
    createElement("form", { method: "dialog" }, createElement("button", { autofocus: true }, t("close"))),
  );
}

// --- start

function addListeners() {
  BROWSER.addEventListener("input", onInput);
  BROWSER.addEventListener("reset", onReset);
  BROWSER.addEventListener("submit", (event) => event.preventDefault());
  BROWSER.addEventListener("click", onClick);
  for (const kind of ["mouseover", "focusin"]) {
    BROWSER.addEventListener(kind, (event) => markDuplicates(/** @type {Element} */ (event.target).closest("article")));
  }
  document.addEventListener("keydown", onKeydown);
  select("#language").addEventListener("click", () => {
    setLanguage(isChinese() ? "en" : "zh");
    isLanguageInAddress = true;
    writeAddress();
  });
  select("#theme").addEventListener("click", toggleTheme);
  select("#keys").addEventListener("click", () => select("#help", HTMLDialogElement).showModal());
  // A link's own jump would take the place of the filter in the address.
  for (const link of document.querySelectorAll("nav a")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const section = select(link.getAttribute("href") ?? "");
      section.focus({ preventScroll: true });
      section.scrollIntoView();
    });
  }
  addEventListener("hashchange", () => {
    readAddress();
    isLanguageInAddress ||= languageInAddress() !== undefined;
    setLanguage(languageInAddress() ?? (isChinese() ? "zh" : "en"));
    scrollToOpenQuery(true);
  });
  addEventListener("beforeprint", () => {
    for (const kind of /** @type {const} */ (["earlier", "later"])) {
      if (BROWSER.querySelector(`.more.${kind}`)) drawMore(kind, Infinity);
    }
  });
  openTablesForPrint();
}

function start() {
  isLanguageInAddress = languageInAddress() !== undefined;
  readAddress();
  select(".switches").hidden = false;
  addListeners();
  setLanguage(preferredLanguage());
  if (FILTER.q) scrollToOpenQuery(false);
  performance.mark("judge: ready");
  buildSearchTexts();
}

start();
