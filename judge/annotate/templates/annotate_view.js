// What the page shows.

/** @typedef {{id: string, grade: number | null, comment: string}} Decision */
/** @typedef {{query_id: string, snippet_id: string, lang: string, query: string, reference: string, today: string, title: string, date: string, snippet: string}} Pair */
/**
 * @typedef {object} Progress
 * @property {string} who
 * @property {string} run
 * @property {"graded" | "binary"} scale
 * @property {number} top the highest grade
 * @property {number} total
 * @property {number} labelled
 * @property {number} unsure
 * @property {number | null} next index of the next pair to label
 * @property {{id: string, at: number | null} | null} last the last decision, and the index of its pair
 * @property {boolean} finished
 * @property {boolean} sealed the decision on the pair is final
 */
/** @typedef {{query_number: number, queries: number, pair_number: number, pairs_of_query: number}} Position */
/** @typedef {Progress & {at: number, pair: Pair, decision: Decision | null, position: Position}} PairState */
/** @typedef {PairState | (Progress & {at: null, pair: null, decision: null, position: null})} State */

/** @typedef {{value: number | null, ci95?: [number, number] | null, why?: string}} Estimate */
/** @typedef {Record<"same_grade" | "kappa_quadratic" | "same_verdict" | "kappa_relevant" | "bias_relevant", Estimate>} Estimates */
/** @typedef {Estimates & {assessor: string, pairs: number, queries: number, confusion: number[][]}} Agreement */
/** @typedef {{labelled: number, path: string, command: string, agreement: Agreement | null, strength: Record<Language, string> | null}} FinalReport */

const VIEW = {
  language: /** @type {Language} */ ("en"),
  get texts() {
    return TEXTS[this.language];
  },
  get sentences() {
    return SENTENCES[this.language];
  },
};

/** Show the texts that don't depend on the pair. */
function showFixedTexts() {
  const { texts, language } = VIEW;
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  document.title = texts.title;
  for (const [id, text] of Object.entries({
    ...{ "query-name": texts.query, "snippet-name": texts.snippet, "rules-name": texts.rules },
    ...{ language: texts.otherLanguage, theme: isDark() ? texts.light : texts.dark, keys: texts.keys },
    ...{ close: texts.close, retry: texts.retry, drop: texts.drop, export: texts.export },
    ...{ "done-name": texts.allLabelled, "help-title": texts.keys, "shortcuts-name": texts.shortcuts },
  })) {
    select(`#${id}`).textContent = text;
  }
  for (const [id, [text, key]] of Object.entries({
    ...{ back: [texts.back, "←"], forward: [texts.forward, "→"], undo: [texts.undo, "z"] },
    ...{ "done-back": [texts.back, "←"], "done-undo": [texts.undo, "z"], finish: [texts.finish, "Enter"] },
    "comment-name": [texts.comment, "c"],
  })) {
    select(`#${id}`).replaceChildren(text ?? "", " ", createElement("kbd", {}, key));
  }
  select("#language").lang = language === "zh" ? "en" : "zh-CN";
  select("#bar").setAttribute("aria-label", texts.title);
  select("#grades").setAttribute("aria-label", texts.grade);
}

/** @param {State} state */
function showShortcuts({ scale }) {
  const { texts } = VIEW;
  const grades = scale === "binary" ? ["y n", `${texts.yes} / ${texts.no}`] : ["0 1 2 3", texts.grade];
  const shortcuts = [
    ...[grades, ["u", texts.unsure], ["c", texts.comment], ["Esc", texts.leaveComment]],
    ...[
      ["z ⌫", texts.undo],
      ["← →", texts.move],
      ["?", texts.shortcutList],
    ],
  ];
  const rows = shortcuts.map(([keys = "", text]) => {
    const names = keys.split(" ").map((key) => createElement("kbd", {}, key));
    return createElement("div", {}, createElement("dt", {}, ...names), createElement("dd", {}, text));
  });
  select("#key-list").replaceChildren(...rows);
}

/**
 * @param {State} state
 * @param {number | null} minutesLeft
 */
function showProgress(state, minutesLeft) {
  const { sentences } = VIEW;
  select("#who").textContent = state.who;
  select("#run").textContent = state.run;
  const bar = select("#bar", HTMLProgressElement);
  bar.max = state.total;
  bar.value = state.labelled;
  const parts = [sentences.progress(state)];
  if (state.pair) parts.push(sentences.position(state));
  if (minutesLeft !== null && state.next !== null) parts.push(sentences.timeLeft(minutesLeft));
  select("#progress").textContent = parts.join(" · ");
  for (const id of ["#undo", "#done-undo"]) {
    select(id, HTMLButtonElement).disabled = state.last === null || state.last.at === null;
  }
}

/**
 * @param {PairState} state
 * @param {string} comment
 * @param {(grade: number | null) => void} onGrade
 */
function showPair(state, comment, onGrade) {
  const { texts } = VIEW;
  const { pair } = state;
  for (const id of ["#query", "#title", "#snippet"]) select(id).lang = pair.lang === "zh" ? "zh-CN" : "en";
  for (const name of /** @type {const} */ (["query", "title", "date", "snippet"])) {
    select(`#${name}`).textContent = pair[name] || (name === "snippet" ? texts.empty : "");
  }
  for (const name of /** @type {const} */ (["title", "date"])) select(`#${name}`).hidden = !pair[name];
  select("#snippet").classList.toggle("missing", !pair.snippet);
  const facts = [];
  if (pair.reference)
    facts.push(createElement("dt", {}, texts.reference), createElement("dd", { dir: "auto" }, pair.reference));
  if (pair.today) facts.push(createElement("dt", {}, texts.today), createElement("dd", { dir: "auto" }, pair.today));
  select("#facts").replaceChildren(...facts);
  const rules = RULES[VIEW.language][state.scale].slice(0, pair.reference ? undefined : -1);
  select("#rules-list").replaceChildren(...rules.map((rule) => createElement("li", {}, rule)));
  showGrades(state, onGrade);
  const box = select("#comment", HTMLTextAreaElement);
  box.value = comment;
  box.disabled = state.sealed;
  select("#back", HTMLButtonElement).disabled = state.at === 0;
  select("#forward", HTMLButtonElement).disabled = state.next !== null && state.at >= state.next;
  select("#note").textContent = state.sealed ? texts.sealed : state.decision ? texts.labelled : "";
}

// The buttons stay while pairs change: the browser sends no click when the button that was pressed is
// replaced before it is released.
const GRADE_BUTTONS = { builtFor: "", byGrade: /** @type {Map<number | null, HTMLButtonElement>} */ (new Map()) };

/**
 * @param {PairState} state
 * @param {(grade: number | null) => void} onGrade
 */
function showGrades({ scale, decision, sealed }, onGrade) {
  const builtFor = `${VIEW.language} ${scale}`;
  if (GRADE_BUTTONS.builtFor !== builtFor) {
    Object.assign(GRADE_BUTTONS, { builtFor, byGrade: buildGradeButtons(scale, onGrade) });
    select("#grades").replaceChildren(...GRADE_BUTTONS.byGrade.values());
  }
  for (const [grade, button] of GRADE_BUTTONS.byGrade) {
    button.setAttribute("aria-pressed", String(decision !== null && decision.grade === grade));
    button.disabled = sealed;
  }
}

/**
 * @param {"graded" | "binary"} scale
 * @param {(grade: number | null) => void} onGrade
 */
function buildGradeButtons(scale, onGrade) {
  const { texts, language } = VIEW;
  /** @type {Map<number | null, HTMLButtonElement>} */
  const buttons = new Map();
  /** @type {(grade: number | null, colour: string, key: string, text: string) => void} */
  const add = (grade, colour, key, text) => {
    const attributes = { type: "button", class: `grade ${colour}` };
    const button = createElement("button", attributes, createElement("kbd", {}, key), createElement("span", {}, text));
    button.addEventListener("click", (event) => {
      // With the focus here, Space would label the next pair; after a click with the mouse it should scroll.
      if (event.detail > 0) button.blur();
      onGrade(grade);
    });
    buttons.set(grade, button);
  };
  if (scale === "binary") {
    const [no = "", yes = ""] = GRADES[language].binary;
    add(1, "g3", "y", `${texts.yes}${texts.colon}${yes}`);
    add(0, "g0", "n", `${texts.no}${texts.colon}${no}`);
  } else {
    for (const [grade, meaning] of [...GRADES[language].graded.entries()].reverse()) {
      add(grade, `g${grade}`, String(grade), meaning);
    }
  }
  add(null, "gu", "u", `${texts.unsure}${texts.colon}${texts.noLabel}`);
  return buttons;
}

/** @param {FinalReport} report */
function showAgreement(report) {
  const { texts, sentences, language } = VIEW;
  const lines = [];
  if (report.agreement === null) lines.push(texts.noGrades);
  else {
    const { same_verdict, kappa_relevant, same_grade, kappa_quadratic, bias_relevant, confusion } = report.agreement;
    lines.push(sentences.compared(report.agreement));
    if (same_verdict.value !== null) lines.push(sentences.sameVerdict(same_verdict.value));
    if (kappa_relevant.value !== null) {
      lines.push(sentences.kappa(kappa_relevant.value, kappa_relevant.ci95 ?? null, report.strength?.[language] ?? ""));
    } else if (kappa_relevant.why) lines.push(`kappa: ${kappa_relevant.why}`);
    if (same_grade.value !== null && confusion.length > 2)
      lines.push(sentences.sameGrade(same_grade.value, kappa_quadratic.value));
    const [low, high] = bias_relevant.ci95 ?? [0, 0];
    if (bias_relevant.value !== null && (low > 0 || high < 0)) lines.push(sentences.bias(bias_relevant.value));
  }
  const buildLine = (/** @type {string} */ line) => createElement("p", { dir: "auto" }, line);
  select("#agreement").replaceChildren(
    ...lines.map(buildLine),
    ...(report.agreement ? [buildConfusionTable(report.agreement.confusion)] : []),
    buildLine(sentences.nextStep(report.labelled, report.path)),
    createElement("pre", { tabindex: 0 }, report.command),
  );
  select("#agreement").hidden = false;
}

/** @param {number[][]} confusion pairs by the person's grade (rows) and the model's (columns) */
function buildConfusionTable(confusion) {
  const { texts } = VIEW;
  const head = createElement("tr", {}, createElement("th", { scope: "col" }, `${texts.you} \\ ${texts.model}`));
  head.append(...confusion.map((_, grade) => createElement("th", { scope: "col" }, String(grade))));
  const rows = confusion.map((counts, grade) => {
    const cells = counts.map((count, column) => {
      return createElement("td", { class: column === grade ? "same" : null }, count.toLocaleString("en"));
    });
    return createElement("tr", {}, createElement("th", { scope: "row" }, String(grade)), ...cells);
  });
  return createElement("table", {}, createElement("caption", {}, texts.confusionTable), head, ...rows);
}
