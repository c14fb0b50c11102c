// What the page shows. Everything that comes from a run becomes a text node, never markup.
const $ = (id) => document.getElementById(id);

function element(name, text, more = {}) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(more)) made.setAttribute(key, value);
  return made;
}

const look = {
  language: "en",
  get words() { return WORDS[this.language]; },
};

function showFixedWords(isDark) {
  const words = look.words;
  document.documentElement.lang = look.language === "zh" ? "zh-CN" : "en";
  document.title = words.title;
  const texts = {
    "query-name": words.query, "snippet-name": words.snippet, "rules-name": words.rules,
    language: words.other, shade: isDark ? words.light : words.dark, keys: words.keys, close: words.close, retry: words.retry, drop: words.drop,
    "done-name": words.all, "help-title": words.keys, "shortcuts-name": words.shortcuts, export: words.export,
  };
  for (const [id, text] of Object.entries(texts)) $(id).textContent = text;
  $("language").lang = look.language === "zh" ? "en" : "zh-CN";
  for (const [id, text, key] of [
    ["back", words.back, "←"], ["forward", words.forward, "→"], ["undo", words.undo, "z"],
    ["done-back", words.back, "←"], ["done-undo", words.undo, "z"], ["finish", words.finish, "Enter"],
    ["comment-name", words.comment, "c"],
  ]) $(id).replaceChildren(text, " ", element("kbd", key));
  $("bar").setAttribute("aria-label", words.title);
  $("grades").setAttribute("aria-label", words.grade);
}

function showKeys(state) {
  const words = look.words;
  const grades = state.scale === "binary" ? ["y n", `${words.yes} / ${words.no}`] : ["0 1 2 3", words.grade];
  const keys = [grades, ["u", words.unsure], ["c", words.comment], ["Esc", words.leave],
    ["z ⌫", words.undo], ["← →", words.move], ["?", words.help]];
  $("key-list").replaceChildren(...keys.map(([names, text]) => {
    const line = element("div"), term = element("dt");
    term.append(...names.split(" ").map((key) => element("kbd", key)));
    line.append(term, element("dd", text));
    return line;
  }));
}

function showProgress(state, minutes) {
  const words = look.words;
  $("who").textContent = state.who;
  $("run").textContent = state.run;
  $("bar").max = state.total;
  $("bar").value = state.labelled;
  const parts = [words.progress(state)];
  if (state.pair) parts.push(words.place(state));
  if (minutes !== null && state.next !== null) parts.push(words.left(minutes));
  $("progress").textContent = parts.join(" · ");
  const noUndo = state.last === null || state.last.at === null;
  for (const id of ["undo", "done-undo"]) $(id).disabled = noUndo;
}

function showPair(state, comment, decide) {
  const words = look.words, pair = state.pair;
  const language = pair.lang === "zh" ? "zh-CN" : "en";
  for (const id of ["query", "title", "snippet"]) $(id).lang = language;
  $("query").textContent = pair.query;
  $("title").textContent = pair.title;
  $("title").hidden = !pair.title;
  $("date").textContent = pair.date;
  $("date").hidden = !pair.date;
  $("snippet").textContent = pair.snippet || words.empty;
  $("snippet").classList.toggle("missing", !pair.snippet);
  const facts = [[words.reference, pair.reference], [words.today, pair.today]].filter(([, text]) => text);
  $("facts").replaceChildren(...facts.flatMap(([name, text]) => [element("dt", name), element("dd", text, { dir: "auto" })]));
  $("rules-list").replaceChildren(...RULES[look.language][state.scale].map((rule) => element("li", rule)));
  showGrades(state, decide);
  $("comment").value = comment;
  $("comment").disabled = state.sealed;
  $("back").disabled = state.at === 0;
  $("forward").disabled = state.next !== null && state.at >= state.next;
  $("note").textContent = state.sealed ? words.sealed : state.decision ? words.done : "";
}

// The buttons stay while pairs change: a click on a button that is replaced between press and release is lost.
const gradeButtons = { builtFor: "", byGrade: new Map() };

function showGrades(state, decide) {
  const builtFor = `${look.language} ${state.scale}`;
  if (gradeButtons.builtFor !== builtFor) {
    Object.assign(gradeButtons, { builtFor, byGrade: buildGradeButtons(state.scale, decide) });
    $("grades").replaceChildren(...gradeButtons.byGrade.values());
  }
  for (const [grade, button] of gradeButtons.byGrade) {
    button.setAttribute("aria-pressed", String(state.decision !== null && state.decision.grade === grade));
    button.disabled = state.sealed;
  }
}

function buildGradeButtons(scale, decide) {
  const words = look.words, isBinary = scale === "binary", meanings = GRADES[look.language][scale];
  const build = (grade, style, key, text) => {
    const button = element("button", undefined, { type: "button", class: `grade ${style}` });
    button.append(element("kbd", key), element("span", text));
    button.addEventListener("click", () => decide(grade));
    return [grade, button];
  };
  const buttons = meanings.map((meaning, grade) => isBinary
    ? build(grade, `g${3 * grade}`, "ny"[grade], `${[words.no, words.yes][grade]}: ${meaning}`)
    : build(grade, `g${grade}`, String(grade), meaning));
  return new Map([...buttons.reverse(), build(null, "gu", "u", words.unsure)]);
}

function showAgreement(found) {
  const words = look.words, told = found.agreement, parts = [];
  const say = (text) => parts.push(element("p", text, { dir: "auto" }));
  if (told === null) say(words.nothing);
  else {
    say(words.against(told));
    if (told.same_verdict.value !== null) say(words.same(told.same_verdict.value));
    if (told.kappa_relevant.value !== null) say(words.kappa(told.kappa_relevant.value, told.kappa_relevant.ci95, found.strength[look.language]));
    else if (told.kappa_relevant.why) say(`kappa: ${told.kappa_relevant.why}`);
    if (told.same_grade.value !== null && told.confusion.length > 2) say(words.exact(told.same_grade.value, told.kappa_quadratic.value));
    const bias = told.bias_relevant, range = bias.ci95;
    if (bias.value !== null && range && (range[0] > 0 || range[1] < 0)) say(words.bias(bias.value));
    parts.push(confusion(told.confusion));
  }
  parts.push(element("p", words.next(found.labelled, found.path), { dir: "auto" }), element("pre", found.command, { tabindex: "0" }));
  $("agreement").replaceChildren(...parts);
  $("agreement").hidden = false;
}

function confusion(rows) {
  const words = look.words, table = element("table"), head = element("tr");
  table.append(element("caption", words.table), head);
  head.append(element("th", `${words.you} \\ ${words.model}`, { scope: "col" }));
  rows[0].forEach((_, grade) => head.append(element("th", grade, { scope: "col" })));
  rows.forEach((row, grade) => {
    const line = element("tr");
    line.append(element("th", grade, { scope: "row" }));
    row.forEach((number, column) => line.append(element("td", number.toLocaleString("en"), column === grade ? { class: "same" } : {})));
    table.append(line);
  });
  return table;
}
