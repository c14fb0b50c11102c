// The query browser: a toolbar that filters, and the queries' lines; only those near the screen are drawn.

/**
 * What the query browser shows. The page's address holds it too.
 * @typedef {object} Filter
 * @property {string} q id of the open query, or empty
 * @property {string} find
 * @property {string} engine
 * @property {string} verdict
 * @property {string} grade
 * @property {string} ql language of the queries
 * @property {string} sort
 * @property {Set<string>} only
 * @property {Map<string, string>} columns
 */

/** How many lines are drawn at once. */
const BATCH_SIZE = 60;
/** With more engines than these, scores are not in columns. */
const MAX_SCORE_COLUMNS = 6;
const VERDICTS = /** @type {const} */ (["yes", "no", "null"]);
const TEXT_FILTERS = /** @type {const} */ (["find", "engine", "verdict", "grade", "ql", "sort"]);
const ONLY_FILTERS = /** @type {const} */ (["differ", "repeats", "failed", "textUnknown", "flagged", "nothing"]);
/** Sorts d2 before d10, as the tables of segments do. */
const NATURAL_ORDER = new Intl.Collator("en", { numeric: true });

const BROWSER = select("#browser");
/** @type {Filter} */
const FILTER = { q: "", ...emptyFilter() };
/** The queries that match the filter; those from `start` up to `end` are drawn. */
const LISTED = { queries: /** @type {Query[]} */ ([]), start: 0, end: 0 };

/** @returns {Omit<Filter, "q">} */
function emptyFilter() {
  return { find: "", engine: "", verdict: "", grade: "", ql: "", sort: "", only: new Set(), columns: new Map() };
}

function buildBrowser() {
  const heads = createElement("div", { class: "column-heads", "aria-hidden": "true" }, createElement("span"));
  for (const engine of HEADER.order) heads.append(createElement("span", {}, buildName(engine)));
  BROWSER.replaceChildren(
    buildToolbar(),
    createElement("p", { class: "count", role: "status" }),
    createElement("p", { class: "legend muted" }, t("scores", HEADER.measures[HEADER.deciding] ?? "")),
    heads,
    createElement("ol", { class: "rows" }),
  );
  BROWSER.style.setProperty("--engines", String(HEADER.engines.length));
  BROWSER.classList.toggle("many", HEADER.engines.length > MAX_SCORE_COLUMNS);
}

function buildToolbar() {
  const form = createElement("form", { role: "search", class: "toolbar" });
  const search = { type: "search", name: "find", value: FILTER.find, placeholder: t("findHint"), autocomplete: "off" };
  form.append(buildField(t("find"), createElement("input", search)));
  const { engine, verdict, grade, ql, sort } = filterOptions();
  if (engine.size > 1) form.append(buildSelect("engine", t("engine"), engine, FILTER.engine));
  form.append(buildSelect("verdict", t("verdict"), verdict, FILTER.verdict));
  form.append(buildSelect("grade", t("grade"), new Map([...grade].reverse()), FILTER.grade));
  if (ql.size > 1) form.append(buildSelect("ql", t("queryLanguage"), ql, FILTER.ql));
  for (const [column, values] of filterColumns()) {
    const options = new Map([...values].sort(NATURAL_ORDER.compare).map((value) => [value, value]));
    form.append(buildSelect(`c.${column}`, column, options, FILTER.columns.get(column)));
  }
  form.append(buildSelect("sort", t("sort"), sort, FILTER.sort, t("datasetOrder")));
  const only = createElement("fieldset", {}, createElement("legend", {}, t("only")));
  for (const name of ONLY_FILTERS) {
    if (name === "repeats" && !QUERIES.some((query) => query.instability)) continue;
    if (name === "differ" && engine.size < 2) continue;
    if (name === "textUnknown" && !QUERIES.some(({ pairs }) => pairs.some(({ bits }) => bits & NO_TEXT))) continue;
    const box = createElement("input", { type: "checkbox", name, checked: FILTER.only.has(name) });
    only.append(createElement("label", {}, box, ` ${t(name)}`));
  }
  form.append(only, createElement("button", { type: "reset" }, t("reset")));
  return form;
}

/**
 * @param {string} label
 * @param {HTMLElement} control
 */
function buildField(label, control) {
  return createElement("label", { class: "field" }, createElement("span", {}, isolate(label)), control);
}

/**
 * @param {string} name
 * @param {string} label
 * @param {Map<string, string>} options values with their texts
 * @param {string | undefined} value
 * @param {string} [noneText] the text of the option that asks for nothing
 */
function buildSelect(name, label, options, value, noneText = t("any")) {
  const control = createElement("select", { name }, createElement("option", { value: "" }, noneText));
  for (const [option, text] of options) control.append(createElement("option", { value: option }, text));
  control.value = value !== undefined && options.has(value) ? value : "";
  return buildField(label, control);
}

/**
 * Return the values that each filter can have, with their texts, in their order.
 * @returns {Record<"engine" | "verdict" | "grade" | "ql" | "sort", Map<string, string>>}
 */
function filterOptions() {
  const engines = HEADER.order.map((engine) => HEADER.engines[engine] ?? "");
  const [best = "", second] = engines;
  /** @type {[string, string][]} */
  const orders = [["lowest", t("lowest")]];
  if (second !== undefined) {
    orders.unshift(["spread", t("spread")], ["ahead", t("ahead", best, second)], ["behind", t("ahead", second, best)]);
  }
  if (QUERIES.some((query) => query.instability)) orders.push(["flips", t("flips")]);
  const languages = [...new Set(QUERIES.map((query) => query.lang))].sort();
  return {
    engine: new Map(engines.map((engine) => [engine, engine])),
    verdict: new Map(VERDICTS.map((verdict) => [verdict, t(verdict)])),
    grade: new Map(HEADER.grades.map((_, grade) => [String(grade), `${grade} ${gradeLabel(grade)}`])),
    ql: new Map(languages.map((lang) => [lang, languageLabel(lang)])),
    sort: new Map(orders),
  };
}

/** Filter the queries again and draw the first of them, or those around the open one. */
function refresh() {
  const start = performance.now();
  LISTED.queries = filterQueries(FILTER);
  const open = LISTED.queries.findIndex((query) => query.id === FILTER.q);
  LISTED.start = open < BATCH_SIZE ? 0 : open - 5;
  LISTED.end = Math.min(LISTED.queries.length, LISTED.start + BATCH_SIZE);
  const rows = LISTED.queries.slice(LISTED.start, LISTED.end).map(buildRow);
  select(".rows", HTMLElement, BROWSER).replaceChildren(...buildMoreRow("earlier"), ...rows, ...buildMoreRow("later"));
  showCount();
  afterRowsChange();
  performance.measure("judge: filter", { start });
}

function showCount() {
  const total = QUERIES.length.toLocaleString("en");
  const count = LISTED.queries.length.toLocaleString("en");
  const parts = [count === total ? t("allQueries", total) : t("someQueries", count, total)];
  if (FILTER.q && !QUERIES.some((query) => query.id === FILTER.q)) parts.push(t("queryMissing", escapeText(FILTER.q)));
  select(".count", HTMLElement, BROWSER).textContent = parts.join(" · ");
}

/**
 * Return text from the address for a sentence: without invisible characters, its direction isolated.
 * @param {string} text
 */
function escapeText(text) {
  const invisible = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
  const toCode = (/** @type {string} */ char) => `\\x${(char.codePointAt(0) ?? 0).toString(16).padStart(2, "0")}`;
  return `\u2068${text.slice(0, 200).replace(invisible, toCode)}${text.length > 200 ? "…" : ""}\u2069`;
}

/**
 * Build the row that draws more queries before or after those that are drawn; nothing where there are none.
 * @param {"earlier" | "later"} kind
 */
function buildMoreRow(kind) {
  const count = kind === "later" ? LISTED.queries.length - LISTED.end : LISTED.start;
  const button = createElement("button", { type: "button", "data-more": kind }, t(kind, count.toLocaleString("en")));
  return count ? [createElement("li", { class: `more ${kind}` }, button)] : [];
}

/**
 * Draw more queries after the last or before the first; what is drawn stays as it is.
 * @param {"earlier" | "later"} kind
 */
function drawMore(kind, count = BATCH_SIZE) {
  const { queries, start, end } = LISTED;
  const isLater = kind === "later";
  if (isLater) LISTED.end = Math.min(queries.length, end + count);
  else LISTED.start = Math.max(0, start - count);
  const rows = (isLater ? queries.slice(end, LISTED.end) : queries.slice(LISTED.start, start)).map(buildRow);
  const more = buildMoreRow(kind);
  select(`.more.${kind}`, HTMLElement, BROWSER).replaceWith(...(isLater ? [...rows, ...more] : [...more, ...rows]));
  afterRowsChange();
}

const END_OBSERVER = new IntersectionObserver(
  (entries) => {
    if (entries.some((entry) => entry.isIntersecting)) drawMore("later");
  },
  { rootMargin: "600px" },
);

function afterRowsChange() {
  END_OBSERVER.disconnect();
  const last = BROWSER.querySelector(".more.later");
  if (last) END_OBSERVER.observe(last);
  highlightMatches();
}

/** @param {Query} query */
function buildRow(query) {
  const isOpen = query.id === FILTER.q;
  const text = createElement("bdi", { dir: "auto", lang: langOf(query) }, query.text || query.id);
  const button = createElement("button", { type: "button", class: "open", "aria-expanded": String(isOpen) }, text);
  const head = createElement("div", { class: "head" }, createElement("h3", {}, button), buildBadges(query));
  const line = createElement(
    "div",
    { class: "line" },
    head,
    ...HEADER.order.map((engine) => buildScore(query, engine)),
  );
  const attributes = { class: isOpen ? "query opened" : "query", "data-index": query.index };
  return createElement("li", attributes, line, isOpen ? buildPanel(query) : null);
}

/** @param {Query} query */
function buildBadges(query) {
  const bits = query.pairs.reduce((sum, pair) => sum | pair.bits, 0);
  const badges = createElement("p", { class: "badges" }, isolate(query.id), ` · ${languageLabel(query.lang)}`);
  if (bits & FAILED) badges.append(" · ", createElement("span", { class: "trouble" }, t("failed")));
  if (bits & NO_TEXT) badges.append(" · ", createElement("span", { class: "trouble" }, t("textUnknown")));
  if (bits & FLAGGED) badges.append(" · ", createElement("span", { class: "trouble" }, t("flagged")));
  if (bits & REPEATS_DIFFER) badges.append(" · ", t("repeats"));
  return badges;
}

/** @param {string} lang */
function languageLabel(lang) {
  return lang === "zh" || lang === "en" ? t(lang) : lang;
}

/**
 * Build an engine's score on the query, and its grades in rank order.
 * @param {Query} query
 * @param {number} engine
 */
function buildScore(query, engine) {
  const answer = query.answers[engine];
  const cell = createElement("div", { class: "score" });
  cell.append(createElement("span", { class: "engine-name" }, buildName(engine), " "));
  if (!answer) cell.append(createElement("span", { class: "muted" }, t("noRow")));
  else if (answer.error) cell.append(createElement("span", { class: "trouble" }, t("error")));
  else {
    cell.append(createElement("b", {}, formatScore(answer.score)), " ");
    const grades = answer.results.map(({ pair }) => medianGrade(pair.judgments));
    const marks = grades.map((grade) => createElement("i", { class: gradeClass(grade) }, String(grade ?? "–")));
    if (marks.length) cell.append(createElement("span", { class: "grades" }, ...marks));
    else cell.append(createElement("span", { class: "trouble" }, t("empty")));
  }
  return cell;
}

/** Highlight the words that are searched for. The texts stay as they are. */
function highlightMatches() {
  if (!window.Highlight || !CSS.highlights) return;
  CSS.highlights.delete("match");
  const words = FILTER.find.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return;
  const matches = new Highlight();
  const walker = document.createTreeWalker(select(".rows", HTMLElement, BROWSER), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && matches.size < 1000; node = walker.nextNode()) {
    const text = (node.textContent ?? "").toLowerCase();
    // Offsets hold only where lower case has as many characters.
    if (text.length !== node.textContent?.length) continue;
    for (const word of words) {
      for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, at + word.length);
        matches.add(range);
      }
    }
  }
  CSS.highlights.set("match", matches);
}
