// What the page does: it loads a pair, sends the person's decision, and shows the next pair once that is saved.

const RETRY_MS = 2_000;
const REQUEST_TIMEOUT_MS = 10_000;
const FINISH_TIMEOUT_MS = 300_000;
/** A key that comes sooner was meant for the pair before. */
const MIN_READING_MS = 200;
/** Longer times are breaks; they don't count in the estimate of the time left. */
const MAX_READING_MS = 180_000;

/** What the tab remembers when it is loaded again. */
const STORAGE = {
  /**
   * @template T
   * @param {string} name
   * @param {T} missing
   * @returns {T}
   */
  read(name, missing) {
    try {
      return JSON.parse(sessionStorage.getItem(`judge.${name}`) ?? "null") ?? missing;
    } catch {
      return missing;
    }
  },
  /**
   * @param {string} name
   * @param {unknown} value
   */
  write(name, value) {
    try {
      sessionStorage.setItem(`judge.${name}`, JSON.stringify(value));
    } catch {
      // Without storage the values last until the page is left.
    }
  },
};

/** A write that is not saved yet; `returnTo` is the pair to show again after it, null for the next one. */
/** @typedef {{path: string, body: Record<string, unknown>, returnTo: number | null}} Write */

/** @type {State | null} */
let state = null;
/** @type {Write | null} */
let pendingWrite = STORAGE.read("pendingWrite", null);
/** Comments that are not saved yet, by pair. */
const drafts = STORAGE.read("drafts", /** @type {Record<string, string>} */ ({}));
/** @type {FinalReport | null} */
let finalReport = null;
let token = readToken();
let shownAt = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let retryTimer;
let isSending = false;
/** Whether a pair is being shown again after its comment was saved. */
let isReturning = false;
/** @type {(() => void) | null} */
let queuedAction = null;
/** How many seconds the last decisions took. */
let durations = /** @type {number[]} */ ([]);

const COMMENT = select("#comment", HTMLTextAreaElement);

/** Read the token behind the # of the address, and hide it; without one, return the tab's. */
function readToken() {
  if (location.hash.length > 1) {
    STORAGE.write("token", location.hash.slice(1));
    history.replaceState(null, "", location.pathname);
  }
  return STORAGE.read("token", "");
}

/**
 * @param {"loading" | "saving" | "unsaved" | "showing" | "ready"} name
 * @param {string} [text]
 */
function setStatus(name, text) {
  document.body.dataset.state = name;
  if (text !== undefined) select("#saved").textContent = text;
}

/**
 * Return the status and the content of the server's answer; status 0 where there is none.
 * @param {string} path
 * @param {Record<string, unknown>} [body] of a POST
 */
async function request(path, body) {
  /** @type {Record<string, string>} */
  const headers = { "X-Judge-Token": token, "Accept-Language": VIEW.language };
  const timeout = path === "/finish" ? FINISH_TIMEOUT_MS : REQUEST_TIMEOUT_MS;
  /** @type {RequestInit} */
  const options = { headers, cache: "no-store", redirect: "error", signal: AbortSignal.timeout(timeout) };
  if (body !== undefined) {
    Object.assign(options, { method: "POST", body: JSON.stringify(body) });
    Object.assign(headers, { "Content-Type": "application/json", "X-Judge": "annotate" });
  }
  try {
    const response = await fetch(path, options);
    return { status: response.status, content: await response.json() };
  } catch {
    return { status: 0, content: { error: VIEW.texts.closed } };
  }
}

/**
 * Load and show a pair.
 * @param {number | null} [at] its index; without one, the next pair to label
 */
async function load(at) {
  const { status, content } = await request(at === undefined || at === null ? "/state" : `/state?at=${at}`);
  if (status === 200) show(content);
  else showError(content.error);
}

const reload = () => load(state?.at);

/**
 * Save a write. The next one is taken only when this one is saved, so that writes stay in order.
 * @param {string} path
 * @param {Record<string, unknown>} body
 * @param {number | null} [returnTo]
 */
function save(path, body, returnTo = null) {
  if (pendingWrite !== null) return;
  pendingWrite = { path, body, returnTo };
  STORAGE.write("pendingWrite", pendingWrite);
  sendPendingWrite();
}

async function sendPendingWrite() {
  clearTimeout(retryTimer);
  if (isSending || pendingWrite === null) return;
  setStatus("saving", VIEW.texts.saving);
  const { path, body, returnTo } = pendingWrite;
  isSending = true;
  const { status, content } = await request(path, body);
  isSending = false;
  if (status === 200) {
    isReturning = returnTo !== null;
    clearPendingWrite();
    if (path === "/label") {
      delete drafts[draftKey(body)];
      STORAGE.write("drafts", drafts);
    }
    if (returnTo === null) show(content, true);
    else await load(returnTo);
  } else {
    const { texts, sentences } = VIEW;
    if (status === 409) showError(texts.conflict, "conflict");
    else showError(status === 0 ? texts.offline : sentences.refused(content.error), "unsaved");
    if (status === 0 || status >= 500) retryTimer = setTimeout(sendPendingWrite, RETRY_MS);
  }
}

function clearPendingWrite() {
  pendingWrite = null;
  STORAGE.write("pendingWrite", null);
  select("#alert").hidden = true;
}

/**
 * @param {string} text
 * @param {"read" | "unsaved" | "conflict"} kind what failed: a read, a write, or a write on an outdated pair
 */
function showError(text, kind = "read") {
  const { texts } = VIEW;
  setStatus("unsaved", kind === "read" ? "" : texts.unsaved);
  select("#trouble").textContent = text;
  select("#drop").hidden = kind === "read";
  select("#drop").textContent = kind === "conflict" ? texts.showCurrent : texts.drop;
  select("#retry").hidden = kind === "conflict";
  select("#alert").hidden = false;
}

/** @param {Record<string, unknown>} pair */
function draftKey({ query_id, snippet_id }) {
  return JSON.stringify([query_id, snippet_id]);
}

/**
 * @param {State} newState
 * @param {boolean} isSaved whether a decision was saved just now
 */
function show(newState, isSaved = false) {
  const isOther = state === null || state.at !== newState.at;
  if (state === null) {
    select("#rules", HTMLDetailsElement).open = newState.labelled === 0 && matchMedia("(min-width: 56rem)").matches;
  }
  state = newState;
  if (pendingWrite === null) select("#alert").hidden = true;
  showShortcuts(state);
  showProgress(state, minutesLeft(state));
  select("#labelling").hidden = state.pair === null;
  select("#done").hidden = state.pair !== null;
  if (state.pair === null) showDone(state);
  else showPair(state, drafts[draftKey(state.pair)] ?? state.decision?.comment ?? "", decide);
  if (pendingWrite === null) setStatus("showing", isSaved || state.labelled ? VIEW.texts.saved : "");
  if (isOther) {
    shownAt = performance.now();
    if (isSaved) scrollTo(0, 0);
  }
  const becomeReady = () => {
    if (pendingWrite !== null || state !== newState) return;
    setStatus("ready");
    isReturning = false;
    const action = queuedAction;
    queuedAction = null;
    action?.();
  };
  setTimeout(becomeReady, isOther ? MIN_READING_MS : 0);
}

/** @param {State} state */
function showDone(state) {
  select("#done-text").textContent = VIEW.sentences.beforeFinish(state);
  for (const id of ["#done-text", "#done-moves"]) select(id).hidden = state.finished;
  if (finalReport) showAgreement(finalReport);
  else select("#agreement").hidden = true;
  if (state.finished && !finalReport) finish();
  select("#done-name").focus();
}

/**
 * Return the minutes that the rest takes at the median time of a decision; null while there are too few.
 * @param {State} state
 */
function minutesLeft({ total, labelled }) {
  const median = [...durations].sort((a, b) => a - b)[Math.floor(durations.length / 2)];
  return median === undefined || durations.length < 3 ? null : (median * (total - labelled)) / 60;
}

function isReady() {
  return state !== null && pendingWrite === null && document.body.dataset.state === "ready";
}

/**
 * Act now if the page is ready; while a comment is saved and its pair is shown again, act after that.
 * @param {() => void} action
 */
function whenReady(action) {
  if (isReady()) action();
  else if (isReturning || (pendingWrite !== null && pendingWrite.returnTo !== null)) queuedAction = action;
}

/** @param {number | null} grade */
const decide = (grade) => whenReady(() => saveLabel(grade));

const undo = () =>
  whenReady(() => {
    if (state?.last && state.last.at !== null) save("/undo", { id: state.last.id });
  });

const back = () =>
  whenReady(() => {
    if (state && state.at !== 0) load((state.at ?? state.total) - 1);
  });

const forward = () =>
  whenReady(() => {
    if (!state || state.at === null || (state.next !== null && state.at >= state.next)) return;
    load(state.at + 1 < state.total ? state.at + 1 : null);
  });

/**
 * @param {number | null} grade
 * @param {number} [returnTo]
 */
function saveLabel(grade, returnTo) {
  if (!state?.pair || state.sealed) return;
  const duration = performance.now() - shownAt;
  if (state.decision === null && duration < MAX_READING_MS) durations = [...durations, duration / 1000].slice(-15);
  const { query_id, snippet_id } = state.pair;
  const id = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join(
    "",
  );
  const replaces = state.decision?.id ?? null;
  const comment = COMMENT.value.trim();
  save("/label", { who: state.who, id, query_id, snippet_id, grade, comment, replaces }, returnTo);
}

/** Save the comment of a pair that has a label; the comment of another one is saved with its label. */
function saveComment() {
  if (!isReady() || !state?.pair || !state.decision) return;
  if (COMMENT.value.trim() !== state.decision.comment) saveLabel(state.decision.grade, state.at);
}

function saveDraft() {
  if (!state?.pair) return;
  drafts[draftKey(state.pair)] = COMMENT.value;
  STORAGE.write("drafts", drafts);
}

async function finish() {
  const button = select("#finish", HTMLButtonElement);
  if (button.disabled) return;
  select("#done-text").textContent = VIEW.texts.working;
  select("#done-text").hidden = false;
  button.disabled = true;
  const { status, content } = await request("/finish", {});
  button.disabled = false;
  if (status !== 200) return showError(content.error);
  finalReport = content;
  return load();
}

async function exportLabels() {
  const { status, content } = await request("/export", {});
  if (status !== 200) showError(content.error);
  else select("#exported").textContent = VIEW.sentences.exported(content.path, content.labelled);
}

const showHelp = () => select("#help", HTMLDialogElement).showModal();

/** @param {KeyboardEvent} event */
function onKeydown(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target === COMMENT) {
    if (event.key === "Escape") COMMENT.blur();
    return;
  }
  const areShortcutsOn = select("#shortcuts", HTMLInputElement).checked;
  if (!areShortcutsOn || event.repeat || select("#help", HTMLDialogElement).open) return;
  const action = shortcuts()[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (action === undefined) return;
  event.preventDefault();
  action();
}

/** Return what each key does now. */
function shortcuts() {
  if (state === null) return {};
  /** @type {Record<string, () => void>} */
  const actions = { z: undo, Backspace: undo, ArrowLeft: back, ArrowRight: forward, "?": showHelp };
  if (state.pair !== null) {
    Object.assign(actions, { u: () => decide(null), c: () => COMMENT.focus() });
    for (let grade = 0; grade <= state.top; grade++) actions[grade] = () => decide(grade);
    if (state.scale === "binary") Object.assign(actions, { y: () => decide(1), n: () => decide(0) });
  } else if (!state.finished && !["BUTTON", "SUMMARY"].includes(document.activeElement?.tagName ?? "")) {
    actions.Enter = finish;
  }
  return actions;
}

function toggleLanguage() {
  VIEW.language = VIEW.language === "zh" ? "en" : "zh";
  STORAGE.write("language", VIEW.language);
  showAll();
}

function toggleTheme() {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  STORAGE.write("theme", document.documentElement.dataset.theme);
  showAll();
}

function showAll() {
  showFixedTexts();
  if (state !== null) show(state);
}

function discardPendingWrite() {
  clearTimeout(retryTimer);
  clearPendingWrite();
  queuedAction = null;
  reload();
}

function addListeners() {
  for (const [id, action] of Object.entries({
    ...{ back, forward, undo, finish, export: exportLabels, "done-back": back, "done-undo": undo },
    ...{ retry: () => (pendingWrite ? sendPendingWrite() : reload()), drop: discardPendingWrite },
    ...{ language: toggleLanguage, theme: toggleTheme, keys: showHelp },
  })) {
    select(`#${id}`).addEventListener("click", () => action());
  }
  COMMENT.addEventListener("input", saveDraft);
  COMMENT.addEventListener("blur", saveComment);
  document.addEventListener("keydown", onKeydown);
  // A restarted server has another token in its address. The browser loads nothing for that.
  addEventListener("hashchange", () => {
    token = readToken();
    if (pendingWrite === null) reload();
    else sendPendingWrite();
  });
  addEventListener("beforeunload", (event) => {
    if (pendingWrite !== null) event.preventDefault();
  });
}

async function start() {
  VIEW.language = STORAGE.read("language", navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en");
  const theme = STORAGE.read("theme", "");
  if (theme) document.documentElement.dataset.theme = theme;
  showFixedTexts();
  setStatus("loading", VIEW.texts.loading);
  addListeners();
  await load();
  await sendPendingWrite();
}

start();
