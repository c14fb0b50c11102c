// Owns how an open query looks: engines side by side, their results in rank order, twins linked.

/** The class of a grade's colour: the top grade of any scale looks the same, and so does 0. */
function colour(grade) {
  return grade === null ? "none" : `g${Math.round((3 * grade) / (HEAD.grades.length - 1))}`;
}

function gradeWord(grade) {
  return either(HEAD.grades[grade] || [String(grade), String(grade)]);
}

/** The language that a query's texts are most likely in: it decides which shapes Chinese characters take. */
function langOf(query) {
  return query.lang === "zh" ? "zh-Hans" : query.lang;
}

/** Everything under an open query's line. */
function panel(query) {
  const sides = el("div", { class: "sides", role: "region", "aria-label": t("sides") });
  sides.style.setProperty("--ranks", Math.max(1, ...query.answers.map((answer) => (answer ? answer.results.length + 1 : 0))));
  for (const engine of HEAD.order) sides.append(engineOf(query, engine));
  const first = sides.querySelector("article");
  (first || sides).tabIndex = 0;
  return el("div", { class: "panel" }, factsOf(query), sides);
}

function factsOf(query) {
  const facts = el("p", { class: "about" }, el("a", { class: "permalink", href: `#${new URLSearchParams({ q: query.id })}` }, t("link")));
  if (query.reference) facts.append(labelled(t("reference"), query.reference));
  for (const [column, value] of Object.entries(query.columns)) facts.append(labelled(column, value));
  return facts;
}

function labelled(label, text) {
  return el("span", { class: "labelled" }, el("span", { class: "muted" }, apart(label), " "), apart(text));
}

function engineOf(query, engine) {
  const answer = query.answers[engine];
  const name = el("h3", {}, apart(HEAD.engines[engine]));
  const section = el("section", { class: "engine" }, el("header", {}, name, answer ? scoresOf(answer) : null));
  section.setAttribute("aria-label", HEAD.engines[engine]);
  if (!answer) section.append(el("p", { class: "muted" }, t("absent")));
  else if (answer.error) section.append(el("p", { class: "trouble", dir: "auto" }, t("brokeWith", answer.error)));
  else if (!answer.results.length) section.append(el("p", { class: "trouble" }, t("returnedNothing")));
  for (const result of answer ? answer.results : []) section.append(resultOf(query, engine, result));
  if (answer && answer.below) section.append(el("p", { class: "muted below" }, t("below", answer.below.toLocaleString("en"))));
  return section;
}

function scoresOf(answer) {
  const scores = el("p", { class: "scores" });
  HEAD.measures.forEach((measure, place) => {
    const value = answer.scores[place];
    const shown = value === null || value === undefined ? "–" : value.toFixed(3);
    scores.append(el("span", { class: place === HEAD.deciding ? "first" : null }, `${measure} `, el("b", {}, shown)), " ");
  });
  return scores;
}

function resultOf(query, engine, result) {
  const { pair } = result;
  const lang = langOf(query);
  const name = t("rank", HEAD.engines[engine], result.rank);
  return el(
    "article",
    {
      tabindex: "-1", "aria-label": name,
      "data-engine": engine, "data-rank": result.rank, "data-document": result.document, "data-pair": pair.place,
    },
    el("div", { class: "top" }, el("span", { class: "rank" }, String(result.rank)), ...chipsOf(result), el("span", { class: "whose" }, apart(HEAD.engines[engine]))),
    twinsOf(query, engine, result),
    pair.title ? el("p", { class: "title", dir: "auto", lang }, pair.title) : null,
    addressOf(result.address, pair.date),
    ...textOf(pair, lang),
    ...reasonsOf(pair.judgments, lang),
    flagsOf(pair),
    pair.raw ? el("details", {}, el("summary", {}, t("raw")), el("p", { class: "text", dir: "auto", lang }, pair.raw)) : null,
  );
}

/** The grade as colour, number and word; one for each repeat where they differ. */
function chipsOf({ pair }) {
  const { judgments } = pair;
  if (!judgments.length) return [chip(null, t("unjudged"))];
  if (!(pair.bits & (REPEATS | FAILED))) {
    const times = judgments.length > 1 ? el("span", { class: "muted" }, t("times", judgments.length)) : null;
    return [chip(judgments[0].grade, gradeWord(judgments[0].grade)), times];
  }
  return judgments.map(({ grade, error }) =>
    grade === null ? chip(null, t("failedWith", errorWord(error))) : chip(grade, judgments.length > 1 ? "" : gradeWord(grade)),
  );
}

function chip(grade, word) {
  const number = grade === null ? "–" : String(grade);
  return el("span", { class: `chip ${colour(grade)}` }, el("b", {}, number), word ? ` ${word}` : "");
}

function errorWord(kind) {
  return Object.hasOwn(HEAD.errors, kind) ? either(HEAD.errors[kind]) : kind;
}

/** How many places of the same page are named at a result. */
const TWINS = 8;

/** Where the other engines have the same page, as buttons that lead there. */
function twinsOf(query, engine, result) {
  const others = el("p", { class: "twins" });
  let count = 0;
  for (const other of HEAD.order) {
    const answer = query.answers[other];
    for (const twin of answer ? answer.results : []) {
      if (other === engine || !(twin.document === result.document || twin.pair === result.pair)) continue;
      if (++count > TWINS) continue;
      const name = el("bdi", {}, HEAD.engines[other]);
      const label = t("sameAt", HEAD.engines[other], twin.rank);
      others.append(el("button", { type: "button", "data-to": `${other} ${twin.rank}`, "aria-label": label }, name, ` ${twin.rank}`), " ");
    }
  }
  if (count > TWINS) others.append(el("span", { class: "muted" }, t("andMore", count - TWINS)));
  if (count) others.prepend(el("span", { class: "muted" }, t("same")), " ");
  if (result.again) others.prepend(el("span", { class: "again" }, t("again")), " ");
  return others.childNodes.length ? others : null;
}

/** The address as its host, a link only where it is http or https. */
function addressOf({ shown, followed }, date) {
  const line = el("p", { class: "where" });
  const url = followable(followed);
  if (url) line.append(el("a", { href: url.href, rel: "noopener noreferrer nofollow", target: "_blank", title: shown }, apart(url.host)));
  else if (shown) line.append(apart(shown));
  if (date) line.append(" ", el("span", { class: "muted" }, apart(date)));
  return line.childNodes.length ? line : null;
}

function followable(address) {
  if (!/^https?:\/\//i.test(address)) return null;
  try {
    const url = new URL(address);
    return url.protocol === "https:" || url.protocol === "http:" ? url : null;
  } catch {
    return null;
  }
}

const LONG = 420;

function textOf({ text, more }, lang) {
  if (!text) return [el("p", { class: "text muted" }, t("noText"))];
  const shown = el("p", { class: text.length > LONG ? "text long" : "text", dir: "auto", lang }, text);
  const rest = more ? el("span", { class: "muted" }, ` ${t("more", more.toLocaleString("en"))}`) : null;
  if (rest) shown.append(rest);
  return text.length > LONG ? [shown, el("button", { type: "button", class: "whole", "aria-expanded": "false" }, t("whole"))] : [shown];
}

/** Why: once where all repeats say the same, else for each repeat with its grade. */
function reasonsOf(judgments, lang) {
  const different = judgments.some((each) => each.reason !== judgments[0].reason || each.grade !== judgments[0].grade);
  if (!different) return judgments.slice(0, 1).filter((each) => each.reason).map((each) => el("p", { class: "reason", dir: "auto", lang }, each.reason));
  return judgments.map(({ grade, reason, error }, place) =>
    el(
      "p", { class: "reason", dir: "auto", lang },
      el("span", { class: "muted" }, t("repeat", place + 1), " "),
      grade === null ? chip(null, errorWord(error)) : chip(grade, gradeWord(grade)),
      " ", reason,
    ),
  );
}

function flagsOf({ flags, judgments }) {
  const all = [...new Set([...flags, ...judgments.flatMap((each) => each.flags)])];
  if (!all.length) return null;
  const line = el("p", { class: "flags" });
  for (const flag of all) {
    const [kind, ...rest] = flag.split(":");
    const known = Object.hasOwn(HEAD.flags, kind) ? either(HEAD.flags[kind]) : flag;
    const detail = kind === "served_by" ? `: ${rest.join(":")}` : "";
    line.append(el("span", { class: SUSPICIOUS.has(kind) ? "flag suspicious" : "flag" }, `${known}${detail}`), " ");
  }
  return line;
}

// --- moving about and showing twins

/** Marks the results that show the same page as `article`; none when it is null. */
function showTwins(article) {
  for (const each of document.querySelectorAll("article.twin")) each.classList.remove("twin");
  if (!article) return;
  const { document: page, pair } = article.dataset;
  const same = article.closest(".sides").querySelectorAll(`article[data-document="${page}"], article[data-pair="${pair}"]`);
  if (same.length > 1) for (const each of same) each.classList.add("twin");
}

function articleAt(sides, engine, rank) {
  return sides.querySelector(`article[data-engine="${engine}"][data-rank="${rank}"]`);
}

function focusOn(article) {
  for (const each of article.closest(".sides").querySelectorAll('article[tabindex="0"]')) each.tabIndex = -1;
  article.tabIndex = 0;
  article.focus({ preventScroll: true });
  article.scrollIntoView({ block: "nearest", inline: "nearest" });
}

/** The result beside `article` in the direction of an arrow key, as near as there is one. */
function beside(article, key) {
  const sides = article.closest(".sides");
  const engine = Number(article.dataset.engine), rank = Number(article.dataset.rank);
  if (key === "ArrowUp" || key === "ArrowDown") return articleAt(sides, engine, rank + (key === "ArrowUp" ? -1 : 1));
  const step = key === "ArrowLeft" ? -1 : 1;
  for (let place = HEAD.order.indexOf(engine) + step; place >= 0 && place < HEAD.order.length; place += step) {
    for (let near = rank; near > 0; near--) {
      const found = articleAt(sides, HEAD.order[place], near);
      if (found) return found;
    }
  }
  return null;
}
