// What the page does: asks for a pair, sends what the person decides, and goes on once it is saved.
const RETRY = 2000, PATIENCE = 10000, LONG_PATIENCE = 300000;
// A key that comes sooner was meant for the pair before.
const UNREAD = 200;
// Whoever takes longer went for coffee.
const PAUSE = 180000;

const kept = {
  read(name, otherwise) {
    try { return JSON.parse(sessionStorage.getItem(`judge.${name}`)) ?? otherwise; } catch { return otherwise; }
  },
  write(name, value) {
    try { sessionStorage.setItem(`judge.${name}`, JSON.stringify(value)); } catch { /* then the tab's memory must do */ }
  },
};

let state = null;
let waiting = kept.read("waiting", null);
let drafts = kept.read("drafts", {});
let theme = kept.read("theme", "");
let finished = null, shownAt = 0, retrying = null, isAsking = false, isStaying = false, after = null, seconds = [];
let token = takeToken();

function takeToken() {
  if (location.hash.length > 1) {
    kept.write("token", location.hash.slice(1));
    history.replaceState(null, "", location.pathname);
  }
  return kept.read("token", "");
}

function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function mood(name, text) {
  document.body.dataset.state = name;
  $("saved").textContent = text ?? look.words[name] ?? "";
}

// {status, content}; status 0 when nobody answered.
async function ask(path, body) {
  const headers = { "X-Judge-Token": token };
  const options = { headers, cache: "no-store", redirect: "error", signal: AbortSignal.timeout(path === "/finish" ? LONG_PATIENCE : PATIENCE) };
  if (body !== undefined) {
    Object.assign(options, { method: "POST", body: JSON.stringify(body) });
    Object.assign(headers, { "Content-Type": "application/json", "X-Judge": "annotate" });
  }
  try {
    const response = await fetch(path, options);
    return { status: response.status, content: await response.json() };
  } catch {
    return { status: 0, content: { error: look.words.closed } };
  }
}

async function go(at) {
  const { status, content } = await ask(at === undefined ? "/state" : `/state?at=${at}`);
  if (status === 200) show(content);
  else complain(content.error, false);
}

// One deed at a time: the next is taken once this one is saved, so that none can overtake or get lost.
function deed(path, body, stay) {
  if (waiting !== null) return;
  waiting = { path, body, stay: stay ?? null };
  kept.write("waiting", waiting);
  attempt();
}

async function attempt() {
  clearTimeout(retrying);
  if (isAsking || waiting === null) return;
  mood("saving");
  const { path, body, stay } = waiting;
  isAsking = true;
  const { status, content } = await ask(path, body);
  isAsking = false;
  if (status === 200) {
    isStaying = stay !== null;
    settle();
    if (path === "/label") { delete drafts[draftOf(body)]; kept.write("drafts", drafts); }
    if (stay === null) show(content, true);
    else await go(stay);
  } else {
    const passing = status === 0 || status >= 500, isTaken = status === 409;
    complain(isTaken ? look.words.elsewhere : status === 0 ? look.words.offline : look.words.refused(content.error), true, isTaken);
    if (passing) retrying = setTimeout(attempt, RETRY);
  }
}

function settle() {
  waiting = null;
  kept.write("waiting", null);
  $("alert").hidden = true;
}

function complain(text, unsaved, isTaken = false) {
  mood("unsaved", unsaved ? undefined : "");
  $("trouble").textContent = text;
  $("drop").hidden = !unsaved;
  $("retry").hidden = isTaken;
  $("drop").textContent = isTaken ? look.words.look : look.words.drop;
  $("alert").hidden = false;
}

const draftOf = (pair) => JSON.stringify([pair.query_id, pair.snippet_id]);

function show(found, justSaved = false) {
  const isOther = state === null || state.at !== found.at;
  if (state === null) $("rules").open = found.labelled === 0 && matchMedia("(min-width: 56rem)").matches;
  state = found;
  if (waiting === null) $("alert").hidden = true;
  showKeys(state);
  showProgress(state, minutesLeft());
  $("labelling").hidden = state.pair === null;
  $("done").hidden = state.pair !== null;
  if (state.pair !== null) showPair(state, drafts[draftOf(state.pair)] ?? state.decision?.comment ?? "", decide);
  else showDone();
  if (waiting === null) mood("showing", justSaved || state.labelled ? look.words.saved : "");
  if (isOther) { shownAt = performance.now(); if (justSaved) scrollTo(0, 0); }
  setTimeout(() => { if (waiting === null && state === found) nowReady(); }, isOther ? UNREAD : 0);
}

function nowReady() {
  document.body.dataset.state = "ready";
  isStaying = false;
  const next = after;
  after = null;
  next?.();
}

function showDone() {
  $("done-text").textContent = look.words.before(state);
  for (const id of ["done-text", "done-moves"]) $(id).hidden = state.finished;
  if (finished) showAgreement(finished);
  else $("agreement").hidden = true;
  if (state.finished && !finished) finish();
  $("done-name").focus();
}

function minutesLeft() {
  if (seconds.length < 3) return null;
  const sorted = [...seconds].sort((a, b) => a - b);
  return (sorted[Math.floor(sorted.length / 2)] * (state.total - state.labelled)) / 60;
}

function isReady() {
  return state !== null && waiting === null && document.body.dataset.state === "ready";
}

// What is asked for while a comment is being saved, and its pair shown again, comes after it; nothing else
// is waited for.
function whenReady(next) {
  if (isReady()) next();
  else if (isStaying || (waiting !== null && waiting.stay !== null)) after = next;
}

const decide = (grade) => whenReady(() => label(grade));
const undo = () => whenReady(takeBack);
const back = () => whenReady(goBack);
const forward = () => whenReady(goForward);

function label(grade, stay) {
  if (state.pair === null || state.sealed) return;
  const took = performance.now() - shownAt;
  if (state.decision === null && took < PAUSE) seconds = [...seconds, took / 1000].slice(-15);
  const { query_id, snippet_id } = state.pair;
  deed("/label", { who: state.who, id: newId(), query_id, snippet_id, grade, comment: $("comment").value.trim(), replaces: state.decision?.id ?? null }, stay);
}

function takeBack() {
  if (state.last !== null && state.last.at !== null) deed("/undo", { id: state.last.id });
}

function goBack() {
  if (state.at !== 0) go(state.at === null ? state.total - 1 : state.at - 1);
}

function goForward() {
  if (state.at === null || (state.next !== null && state.at >= state.next)) return;
  if (state.at + 1 < state.total) go(state.at + 1);
  else go();
}

async function finish() {
  if ($("finish").disabled) return;
  $("done-text").textContent = look.words.working;
  $("done-text").hidden = false;
  $("finish").disabled = true;
  const { status, content } = await ask("/finish", {});
  $("finish").disabled = false;
  if (status !== 200) return complain(content.error, false);
  finished = content;
  return go();
}

async function exportNow() {
  const { status, content } = await ask("/export", {});
  if (status !== 200) complain(content.error, false);
  else $("exported").textContent = look.words.exported(content.path, content.labelled);
}

// A comment on a pair that has a label is saved with it; on another one it waits for the label.
function leaveComment() {
  if (isReady() && state.decision && $("comment").value.trim() !== state.decision.comment) label(state.decision.grade, state.at);
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target === $("comment")) {
    if (event.key === "Escape") $("comment").blur();
    return;
  }
  if (!$("shortcuts").checked || event.repeat || $("help").open) return;
  const deedOf = keyDeeds()[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (deedOf === undefined) return;
  event.preventDefault();
  deedOf();
}

const showHelp = () => $("help").showModal();

function keyDeeds() {
  if (state === null) return {};
  const deeds = { z: undo, Backspace: undo, ArrowLeft: back, ArrowRight: forward, "?": showHelp };
  if (state.pair !== null) {
    Object.assign(deeds, { u: () => decide(null), c: () => $("comment").focus() });
    for (let grade = 0; grade <= state.top; grade++) deeds[grade] = () => decide(grade);
    if (state.scale === "binary") Object.assign(deeds, { y: () => decide(1), n: () => decide(0) });
  } else if (!state.finished && !["BUTTON", "SUMMARY"].includes(document.activeElement?.tagName)) deeds.Enter = finish;
  return deeds;
}

const isDark = () => (theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);

function dress() {
  if (theme) document.documentElement.dataset.theme = theme;
  showFixedWords(isDark());
  if (state !== null) show(state);
}

function listen() {
  const clicks = {
    back, forward, undo, finish, export: exportNow, "done-back": back, "done-undo": undo,
    retry: () => (waiting ? attempt() : go(state?.at ?? undefined)),
    drop: () => { clearTimeout(retrying); settle(); after = null; go(state?.at ?? undefined); },
    language: () => { look.language = look.language === "zh" ? "en" : "zh"; kept.write("language", look.language); dress(); },
    shade: () => { theme = isDark() ? "light" : "dark"; kept.write("theme", theme); dress(); },
    keys: showHelp,
  };
  for (const [id, click] of Object.entries(clicks)) $(id).addEventListener("click", () => click());
  $("comment").addEventListener("input", () => { if (state.pair) { drafts[draftOf(state.pair)] = $("comment").value; kept.write("drafts", drafts); } });
  $("comment").addEventListener("blur", leaveComment);
  document.addEventListener("keydown", onKey);
  // The address of a server that was started again differs only behind the #, which loads nothing.
  addEventListener("hashchange", () => { token = takeToken(); if (waiting === null) go(state?.at ?? undefined); else attempt(); });
  addEventListener("beforeunload", (event) => { if (waiting !== null) event.preventDefault(); });
}

look.language = kept.read("language", navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en");
dress();
mood("loading");
listen();
if (waiting === null) go();
else go().then(() => attempt());
