// Owns the reading room: the toolbar, the queries' lines, of which only those near the screen exist.

const CHUNK = 60;
const MANY = 6;
/** What the reading room shows; the address holds it too. */
const STATE = { q: "", find: "", engine: "", verdict: "", grade: "", ql: "", sort: "", columns: new Map() };
const VERDICTS = ["yes", "no", "null"];
const ONLY = ["differ", "repeats", "failed", "flagged", "nothing"];
const ROOM = document.getElementById("room");
/** The queries that are asked for, and which part of them has lines: from `start` up to `end`. */
const SHOWN = { queries: [], start: 0, end: 0 };

function buildRoom() {
  ROOM.replaceChildren(
    toolbar(),
    el("p", { class: "count", role: "status" }),
    el("p", { class: "legend muted" }, t("scores", HEAD.measures[HEAD.deciding])),
    columnHeads(),
    el("ol", { class: "rows" }),
  );
  ROOM.style.setProperty("--engines", HEAD.engines.length);
  ROOM.classList.toggle("many", HEAD.engines.length > MANY);
}

function toolbar() {
  const form = el("form", { role: "search", class: "toolbar" });
  form.append(field(t("find"), el("input", { type: "search", name: "find", value: STATE.find, placeholder: t("findHint"), autocomplete: "off" })));
  const engines = HEAD.order.map((engine) => [HEAD.engines[engine], HEAD.engines[engine]]);
  if (engines.length > 1) form.append(choice("engine", t("engine"), engines));
  form.append(choice("verdict", t("verdict"), VERDICTS.map((each) => [each, t(each)])));
  const grades = HEAD.grades.map((_, grade) => [String(grade), `${grade} ${gradeWord(grade)}`]).reverse();
  form.append(choice("grade", t("grade"), grades));
  const languages = languagesOf();
  if (languages.length > 1) form.append(choice("ql", t("language_of_query"), languages.map((each) => [each, each === "zh" || each === "en" ? t(each) : each])));
  for (const [column, values] of dividing()) {
    form.append(choice(`c.${column}`, column, [...values].sort().map((each) => [each, each]), STATE.columns.get(column)));
  }
  form.append(choice("sort", t("sort"), orders(), STATE.sort, t("order")));
  const only = el("fieldset", {}, el("legend", {}, t("only")));
  for (const name of ONLY) {
    if (name === "repeats" && !QUERIES.some((query) => query.flips)) continue;
    if (name === "differ" && engines.length < 2) continue;
    only.append(el("label", {}, el("input", { type: "checkbox", name, checked: STATE[name] === true }), ` ${t(name)}`));
  }
  form.append(only, el("button", { type: "reset" }, t("reset")));
  return form;
}

function field(label, control) {
  return el("label", { class: "field" }, el("span", {}, apart(label)), control);
}

function choice(name, label, options, value = STATE[name], first = t("any")) {
  const select = el("select", { name }, el("option", { value: "" }, first));
  for (const [each, text] of options) select.append(el("option", { value: each }, text));
  select.value = value || "";
  if (select.selectedIndex < 0) select.value = "";
  return field(label, select);
}

function orders() {
  const [best, second] = HEAD.order.map((engine) => HEAD.engines[engine]);
  const found = [["lowest", t("lowest")]];
  if (HEAD.order.length > 1) {
    found.unshift(["spread", t("spread")], ["ahead", t("ahead", best, second)], ["behind", t("ahead", second, best)]);
  }
  if (QUERIES.some((query) => query.flips)) found.push(["flips", t("flips")]);
  return found;
}

function languagesOf() {
  return [...new Set(QUERIES.map((query) => query.lang))].sort();
}

/** What the address may ask for: a value that is not among these asks for nothing. */
function offered() {
  return {
    engine: HEAD.engines,
    verdict: VERDICTS,
    grade: HEAD.grades.map((_, grade) => String(grade)),
    ql: languagesOf(),
    sort: orders().map(([order]) => order),
  };
}

function columnHeads() {
  const heads = el("div", { class: "heads", "aria-hidden": "true" }, el("span"));
  for (const engine of HEAD.order) heads.append(el("span", {}, apart(HEAD.engines[engine])));
  return heads;
}

/** Finds the queries anew and shows the first of them, or those around the open one. */
function refresh() {
  const began = performance.now();
  SHOWN.queries = chosen(STATE);
  const open = openPlace();
  SHOWN.start = open < CHUNK ? 0 : Math.max(0, open - 5);
  SHOWN.end = Math.min(SHOWN.queries.length, SHOWN.start + CHUNK);
  drawRows();
  tellCount();
  performance.measure("judge: filter", { start: began });
}

function openPlace() {
  return STATE.q === "" ? -1 : SHOWN.queries.findIndex((query) => query.id === STATE.q);
}

function tellCount() {
  const every = QUERIES.length.toLocaleString("en"), some = SHOWN.queries.length.toLocaleString("en");
  const parts = [some === every ? t("every", every) : t("some", some, every)];
  if (!SHOWN.queries.length && QUERIES.length) parts.push(t("none"));
  if (STATE.q && !QUERIES.some((query) => query.id === STATE.q)) parts.push(t("missing", foreign(STATE.q)));
  ROOM.querySelector(".count").textContent = parts.join(" ");
}

function drawRows() {
  const rows = [];
  if (SHOWN.start > 0) rows.push(moreRow("earlier", SHOWN.start));
  for (const query of SHOWN.queries.slice(SHOWN.start, SHOWN.end)) rows.push(rowOf(query));
  const left = SHOWN.queries.length - SHOWN.end;
  if (left > 0) rows.push(moreRow("later", left));
  ROOM.querySelector(".rows").replaceChildren(...rows);
  watchEnd();
  highlight();
}

function moreRow(kind, count) {
  return el("li", { class: `more ${kind}` }, el("button", { type: "button", "data-more": kind }, t(kind, count.toLocaleString("en"))));
}

/** Adds lines at the end, or before the first; what is there stays as it is. */
function extend(kind, by = CHUNK) {
  const rows = ROOM.querySelector(".rows");
  const { queries } = SHOWN;
  const from = kind === "later" ? SHOWN.end : Math.max(0, SHOWN.start - by);
  const to = kind === "later" ? Math.min(queries.length, SHOWN.end + by) : SHOWN.start;
  const fresh = queries.slice(from, to).map(rowOf);
  const left = kind === "later" ? queries.length - to : from;
  if (left > 0) kind === "later" ? fresh.push(moreRow(kind, left)) : fresh.unshift(moreRow(kind, left));
  if (kind === "later") SHOWN.end = to;
  else SHOWN.start = from;
  rows.querySelector(`.more.${kind}`).replaceWith(...fresh);
  watchEnd();
  highlight();
}

const END = "IntersectionObserver" in window
  ? new IntersectionObserver((seen) => seen.some((each) => each.isIntersecting) && extend("later"), { rootMargin: "600px" })
  : null;

function watchEnd() {
  if (!END) return;
  END.disconnect();
  const last = ROOM.querySelector(".more.later");
  if (last) END.observe(last);
}

function rowOf(query) {
  const open = query.id === STATE.q;
  const button = el("button", { type: "button", class: "open", "aria-expanded": String(open) }, el("bdi", { dir: "auto", lang: langOf(query) }, query.text || query.id));
  const head = el("div", { class: "head" }, el("h3", {}, button), badgesOf(query));
  const line = el("div", { class: "line" }, head, ...HEAD.order.map((engine) => scoreOf(query, engine)));
  return el("li", { class: open ? "query opened" : "query", "data-place": query.place }, line, open ? panel(query) : null);
}

function badgesOf(query) {
  const bits = query.pairs.reduce((sum, pair) => sum | pair.bits, 0);
  const badges = el("p", { class: "badges" }, apart(query.id), ` · ${query.lang}`);
  if (bits & FAILED) badges.append(" · ", el("span", { class: "trouble" }, t("failed")));
  if (bits & FLAGGED) badges.append(" · ", el("span", { class: "trouble" }, t("flagged")));
  if (bits & REPEATS) badges.append(" · ", t("repeats"));
  return badges;
}

/** An engine's score on the query, and its grades in rank order. */
function scoreOf(query, engine) {
  const answer = query.answers[engine];
  const cell = el("div", { class: "score" }, el("span", { class: "who" }, apart(HEAD.engines[engine]), " "));
  if (!answer) return append(cell, el("span", { class: "muted" }, t("absent")));
  if (answer.error) return append(cell, el("span", { class: "trouble" }, t("broke")));
  const value = answer.score;
  cell.append(el("b", {}, value === null || value === undefined ? "–" : value.toFixed(3)), " ");
  if (!answer.results.length) return append(cell, el("span", { class: "trouble" }, t("empty")));
  const strip = el("span", { class: "strip" });
  for (const { pair } of answer.results) {
    const grade = typical(pair.judgments);
    strip.append(el("i", { class: colour(grade) }, grade === null ? "–" : String(grade)));
  }
  return append(cell, strip);
}

function append(element, child) {
  element.append(child);
  return element;
}

/** Shows where the words that are searched for stand, without touching the texts. */
function highlight() {
  if (!window.Highlight || !CSS.highlights) return;
  CSS.highlights.delete("found");
  const words = STATE.find.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return;
  const found = new Highlight();
  const walker = document.createTreeWalker(ROOM.querySelector(".rows"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode() && found.size < 1000) {
    const text = walker.currentNode.data.toLowerCase();
    if (text.length !== walker.currentNode.length) continue;
    for (const word of words) {
      for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
        const range = new Range();
        range.setStart(walker.currentNode, at);
        range.setEnd(walker.currentNode, at + word.length);
        found.add(range);
      }
    }
  }
  CSS.highlights.set("found", found);
}
