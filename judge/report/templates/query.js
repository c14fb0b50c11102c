// An open query: the engines side by side, their results in rank order, results with the same page linked.

/** Longer texts are folded. */
const FOLDED_LENGTH = 420;
/** How many results with the same page are linked from one. */
const MAX_DUPLICATE_LINKS = 8;

/**
 * Return the class of a grade's colour: 0 and the top grade have the same colours on every scale.
 * @param {number | null} grade
 */
function gradeClass(grade) {
  return grade === null ? "none" : `g${Math.round((3 * grade) / (HEADER.grades.length - 1))}`;
}

/** @param {number} grade */
function gradeLabel(grade) {
  return localize(HEADER.grades[grade] ?? [String(grade), String(grade)]);
}

/** @param {string} kind */
function errorLabel(kind) {
  return localize(Object.hasOwn(HEADER.errors, kind) ? (HEADER.errors[kind] ?? []) : [kind, kind]);
}

/**
 * Return a score with three decimals, a dash where there is none.
 * @param {number | null | undefined} score
 */
function formatScore(score) {
  return score?.toFixed(3) ?? "–";
}

/**
 * Return the language of the query's texts, which decides the shapes of Chinese characters.
 * @param {Query} query
 */
function langOf(query) {
  return query.lang === "zh" ? "zh-Hans" : query.lang;
}

/**
 * Return text that we did not write, with its writing direction isolated from its surroundings.
 * @param {string} text
 */
function isolate(text) {
  return createElement("bdi", {}, text);
}

/** The longest word of a name that is not shortened. */
const LONGEST_WORD = 20;

/**
 * Return the name of an engine, which breaks only behind a mark such as "_"; words that are too long are shortened in
 * the middle. The tooltip has all of it.
 * @param {number} engine
 */
function buildName(engine) {
  const name = HEADER.engines[engine] ?? "";
  const element = createElement("bdi", { title: name });
  for (const word of name.split(/(?<=[\s_./:@+-])/)) {
    const characters = [...word];
    const isLong = characters.length > LONGEST_WORD;
    const half = LONGEST_WORD / 2;
    const shown = isLong ? `${characters.slice(0, half).join("")}…${characters.slice(1 - half).join("")}` : word;
    element.append(createElement("span", { class: "whole" }, shown), createElement("wbr"));
  }
  return element;
}

/**
 * Build everything below an open query's line.
 * @param {Query} query
 */
function buildPanel(query) {
  const side = createElement("div", { class: "side-by-side", role: "region", "aria-label": t("sideBySide") });
  const rows = query.answers.map((answer) => (answer ? answer.results.length + 1 : 0));
  side.style.setProperty("--ranks", String(Math.max(1, ...rows)));
  for (const engine of HEADER.order) side.append(buildEngine(query, engine));
  (side.querySelector("article") ?? side).tabIndex = 0;
  const permalink = createElement(
    "a",
    { class: "permalink", href: `#${new URLSearchParams({ q: query.id })}` },
    t("link"),
  );
  const facts = createElement("p", { class: "query-facts" }, permalink);
  if (query.reference) facts.append(buildFact(t("reference"), query.reference));
  for (const [column, value] of Object.entries(query.columns)) facts.append(buildFact(column, value));
  return createElement("div", { class: "panel" }, facts, side);
}

/**
 * @param {string} label
 * @param {string} text
 */
function buildFact(label, text) {
  return createElement("span", {}, createElement("span", { class: "muted" }, isolate(label), " "), isolate(text));
}

/**
 * @param {Query} query
 * @param {number} engine
 */
function buildEngine(query, engine) {
  const answer = query.answers[engine];
  const name = HEADER.engines[engine] ?? "";
  const header = createElement("header", {}, createElement("h3", {}, buildName(engine)), answer && buildScores(answer));
  const section = createElement("section", { class: "engine", "aria-label": name }, header);
  if (!answer) section.append(createElement("p", { class: "muted" }, t("noRow")));
  else if (answer.error)
    section.append(createElement("p", { class: "trouble", dir: "auto" }, t("errorWith", answer.error)));
  else if (!answer.results.length) section.append(createElement("p", { class: "trouble" }, t("noResults")));
  for (const result of answer?.results ?? []) section.append(buildResult(query, engine, result));
  if (answer?.below)
    section.append(createElement("p", { class: "muted below" }, t("below", answer.below.toLocaleString("en"))));
  return section;
}

/** @param {Answer} answer */
function buildScores(answer) {
  const scores = createElement("p", { class: "scores" });
  HEADER.measures.forEach((measure, index) => {
    const value = createElement("b", {}, formatScore(answer.scores[index]));
    scores.append(
      createElement("span", { class: index === HEADER.deciding ? "first" : null }, `${measure} `, value),
      " ",
    );
  });
  return scores;
}

/**
 * @param {Query} query
 * @param {number} engine
 * @param {Result} result
 */
function buildResult(query, engine, result) {
  const { pair, rank, document } = result;
  const lang = langOf(query);
  const name = HEADER.engines[engine] ?? "";
  const top = createElement("div", { class: "top" }, createElement("span", { class: "rank" }, String(rank)));
  top.append(...buildChips(pair), createElement("span", { class: "engine-name" }, buildName(engine)));
  return createElement(
    "article",
    {
      ...{ tabindex: -1, "aria-label": t("resultName", name, rank) },
      ...{ "data-engine": engine, "data-rank": rank, "data-document": document, "data-pair": pair.index },
    },
    top,
    buildDuplicateLinks(query, engine, result),
    pair.title && createElement("p", { class: "title", dir: "auto", lang }, pair.title),
    buildAddress(result.address, pair.date),
    ...buildText(pair, lang),
    ...buildReasons(pair.judgments, lang),
    buildFlags(pair),
    pair.raw &&
      createElement(
        "details",
        {},
        createElement("summary", {}, t("raw")),
        createElement("p", { class: "text", dir: "auto", lang }, pair.raw),
      ),
  );
}

/**
 * Build the grade as colour, number and label; one for each repeat where they differ.
 * @param {Pair} pair
 */
function buildChips({ judgments, bits }) {
  const [first] = judgments;
  if (!first) return [buildChip(null, t("unjudged"))];
  if (first.grade !== null && !(bits & (REPEATS_DIFFER | FAILED | NO_TEXT))) {
    const chip = buildChip(first.grade, gradeLabel(first.grade));
    return judgments.length > 1
      ? [chip, createElement("span", { class: "muted" }, t("times", judgments.length))]
      : [chip];
  }
  return judgments.map(({ grade, error }) => {
    if (grade === null && !error) return buildChip(null, t("unjudged"));
    if (grade === null) {
      const outcome = NO_TEXT_ERRORS.has(error) ? "unjudgedWith" : "failedWith";
      return buildChip(null, t(outcome, errorLabel(error)));
    }
    return buildChip(grade, judgments.length > 1 ? "" : gradeLabel(grade));
  });
}

/**
 * @param {number | null} grade
 * @param {string} label
 */
function buildChip(grade, label) {
  return createElement(
    "span",
    { class: `chip ${gradeClass(grade)}` },
    createElement("b", {}, String(grade ?? "–")),
    label && ` ${label}`,
  );
}

/**
 * Build buttons that lead to the same page at other engines.
 * @param {Query} query
 * @param {number} engine
 * @param {Result} result
 */
function buildDuplicateLinks(query, engine, result) {
  const line = createElement("p", { class: "duplicates" });
  if (result.isDuplicate) line.append(createElement("span", { class: "trouble" }, t("duplicate")), " ");
  const buttons = [];
  for (const other of HEADER.order) {
    if (other === engine) continue;
    for (const { pair, document, rank } of query.answers[other]?.results ?? []) {
      if (document !== result.document && pair !== result.pair) continue;
      const name = HEADER.engines[other] ?? "";
      const attributes = {
        type: "button",
        "data-engine": other,
        "data-rank": rank,
        "aria-label": t("samePageAt", name, rank),
      };
      buttons.push(createElement("button", attributes, isolate(name), ` ${rank}`));
    }
  }
  if (buttons.length) line.append(createElement("span", { class: "muted" }, t("samePage")), " ");
  for (const button of buttons.slice(0, MAX_DUPLICATE_LINKS)) line.append(button, " ");
  const rest = buttons.length - MAX_DUPLICATE_LINKS;
  if (rest > 0) line.append(createElement("span", { class: "muted" }, t("andMore", rest)));
  return line.hasChildNodes() ? line : null;
}

/**
 * Build the host of an address; it is a link only where the address is http or https.
 * @param {Address} address
 * @param {string} date
 */
function buildAddress({ text, href }, date) {
  const line = createElement("p", { class: "where" });
  const url = parseWebAddress(href);
  if (url) {
    const attributes = { href: url.href, rel: "noopener noreferrer nofollow", target: "_blank", title: text };
    line.append(createElement("a", attributes, isolate(url.host)));
  } else if (text) line.append(isolate(text));
  if (date) line.append(" ", createElement("span", { class: "muted" }, isolate(date)));
  return line.hasChildNodes() ? line : null;
}

/** @param {string} address */
function parseWebAddress(address) {
  if (!/^https?:\/\//i.test(address)) return null;
  try {
    const url = new URL(address);
    return ["https:", "http:"].includes(url.protocol) ? url : null;
  } catch {
    return null;
  }
}

/**
 * @param {Pair} pair
 * @param {string} lang
 */
function buildText({ text, cut }, lang) {
  if (!text) return [createElement("p", { class: "text muted" }, t("noText"))];
  const isLong = text.length > FOLDED_LENGTH;
  const paragraph = createElement("p", { class: isLong ? "text long" : "text", dir: "auto", lang }, text);
  if (cut) paragraph.append(createElement("span", { class: "muted" }, ` ${t("cutText", cut.toLocaleString("en"))}`));
  if (!isLong) return [paragraph];
  return [
    paragraph,
    createElement("button", { type: "button", class: "unfold", "aria-expanded": "false" }, t("showAll")),
  ];
}

/**
 * Build the reason: once where all repeats agree, else for each repeat with its grade.
 * @param {Judgment[]} judgments
 * @param {string} lang
 */
function buildReasons(judgments, lang) {
  const attributes = { class: "reason", dir: "auto", lang };
  const [first] = judgments;
  if (judgments.every(({ reason, grade }) => reason === first?.reason && grade === first.grade)) {
    return first?.reason ? [createElement("p", attributes, first.reason)] : [];
  }
  return judgments.map(({ grade, reason, error }, index) => {
    const chip = buildChip(grade, grade === null ? errorLabel(error) : gradeLabel(grade));
    return createElement(
      "p",
      attributes,
      createElement("span", { class: "muted" }, t("repeat", index + 1), " "),
      chip,
      " ",
      reason,
    );
  });
}

/** @param {Pair} pair */
function buildFlags({ flags, judgments }) {
  const line = createElement("p", { class: "flags" });
  for (const flag of new Set([...flags, ...judgments.flatMap((judgment) => judgment.flags)])) {
    const kind = flagKind(flag);
    const label = Object.hasOwn(HEADER.flags, kind) ? localize(HEADER.flags[kind] ?? []) : flag;
    const detail = kind === "served_by" ? `: ${flag.slice(kind.length + 1)}` : "";
    line.append(
      createElement("span", { class: INJECTION_FLAGS.has(kind) ? "flag suspicious" : "flag" }, label, detail),
      " ",
    );
  }
  return line.hasChildNodes() ? line : null;
}

// --- moving between results

/**
 * Mark the results that show the same page as `article`; none where it is null.
 * @param {HTMLElement | null} article
 */
function markDuplicates(article) {
  for (const marked of document.querySelectorAll("article.duplicate")) marked.classList.remove("duplicate");
  if (!article) return;
  const { document: page, pair } = article.dataset;
  const same = sideBySide(article).querySelectorAll(`article[data-document="${page}"], article[data-pair="${pair}"]`);
  if (same.length > 1) for (const duplicate of same) duplicate.classList.add("duplicate");
}

/** @param {Element} element of an open query */
function sideBySide(element) {
  return /** @type {HTMLElement} */ (element.closest(".side-by-side"));
}

/**
 * @param {HTMLElement} side
 * @param {string | number} engine
 * @param {string | number} rank
 * @returns {HTMLElement | null}
 */
function resultAt(side, engine, rank) {
  return side.querySelector(`article[data-engine="${engine}"][data-rank="${rank}"]`);
}

/** @param {HTMLElement} article */
function focusResult(article) {
  for (const other of sideBySide(article).querySelectorAll("article")) other.tabIndex = -1;
  article.tabIndex = 0;
  article.focus({ preventScroll: true });
  article.scrollIntoView({ block: "nearest", inline: "nearest" });
}

/**
 * Return the nearest result in the direction of an arrow key.
 * @param {HTMLElement} article
 * @param {string} key
 */
function neighbourOf(article, key) {
  const side = sideBySide(article);
  const engine = Number(article.dataset.engine);
  const rank = Number(article.dataset.rank);
  if (key === "ArrowUp" || key === "ArrowDown") return resultAt(side, engine, rank + (key === "ArrowUp" ? -1 : 1));
  const column = HEADER.order.indexOf(engine);
  const others = key === "ArrowLeft" ? HEADER.order.slice(0, column).reverse() : HEADER.order.slice(column + 1);
  for (const other of others) {
    for (let nearest = rank; nearest > 0; nearest--) {
      const result = resultAt(side, other, nearest);
      if (result) return result;
    }
  }
  return null;
}
