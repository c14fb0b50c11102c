// Owns the data of the reading room: unpacking (the format is judge/report/page/packing.py's), finding, sorting.

const DATA = JSON.parse(document.getElementById("data").textContent);
const HEAD = DATA.head;
const SUSPICIOUS = new Set(HEAD.suspicious);
/** How far apart engines are that differ. */
const APART = 0.1;

// What is true of a result, as bits: 64 << grade is a grade.
const YES = 1, NO = 2, NULL = 4, FAILED = 8, FLAGGED = 16, REPEATS = 32, GRADE = 64;

const QUERIES = DATA.queries.map(unpack);

function unpack([id, text, lang, reference, columns, answers, pairs], place) {
  const query = { place, id, text, lang, reference, columns, hay: "" };
  query.pairs = pairs.map(unpackPair);
  query.answers = answers.map((answer) => answer && unpackAnswer(answer, query.pairs));
  const scores = query.answers.map((answer) => (answer ? answer.score : null));
  const known = scores.filter((score) => score !== null);
  query.spread = known.length ? Math.max(...known) - Math.min(...known) : 0;
  query.mean = known.length ? known.reduce((sum, score) => sum + score, 0) / known.length : null;
  const [best, second] = HEAD.order.map((engine) => scores[engine]);
  query.lead = best === null || second === null || second === undefined ? null : best - second;
  query.flips = query.pairs.reduce((sum, pair) => sum + (pair.flips ? 1000 : 0) + (pair.bits & REPEATS ? 1 : 0), 0);
  return query;
}

function unpackAnswer([scores, shown = [], error = "", below = 0], pairs) {
  const results = shown.map((each, place) => {
    const [number, url = 0, document = 0] = Array.isArray(each) ? each : [each];
    const pair = pairs[number];
    const address = url === 0 ? pair.address : unpackAddress(url);
    return { pair, address, document: document ? document - 1 : pair.document, rank: place + 1 };
  });
  const seen = new Set();
  for (const result of results) {
    result.again = seen.has(result.document);
    seen.add(result.document);
  }
  return { scores, score: scores[HEAD.deciding], results, error, below };
}

function unpackAddress(url) {
  const [shown, followed] = Array.isArray(url) ? url : [url, url];
  return { shown, followed };
}

function unpackPair([title, text = "", url = "", date = "", flags = [], said = [], document = 0, more = 0, raw = ""], place) {
  const judgments = [];
  for (const [grade, reason = "", noticed = [], error = ""] of said) {
    const words = typeof reason === "number" ? judgments[reason - 1].reason : reason;
    judgments.push({ grade, reason: words, flags: noticed, error });
  }
  const address = unpackAddress(url);
  const pair = { title, text, address, date, flags, judgments, more, raw, document: document ? document - 1 : place, place };
  pair.bits = bitsOf(pair);
  pair.flips = (pair.bits & (YES | NO)) === (YES | NO);
  return pair;
}

function bitsOf({ judgments, flags }) {
  let bits = judgments.length ? 0 : NULL;
  for (const { grade, error } of judgments) {
    if (grade === null) bits |= NULL | (error ? FAILED : 0);
    else bits |= (GRADE << grade) | (grade >= HEAD.from ? YES : NO);
    if (grade !== judgments[0].grade) bits |= REPEATS;
  }
  return flags.some((flag) => SUSPICIOUS.has(flag.split(":")[0])) ? bits | FLAGGED : bits;
}

/** The middle grade over repeats, halves rounded up, as judge counts it; null when there is none. */
function typical(judgments) {
  const grades = judgments.map((each) => each.grade).filter((grade) => grade !== null).sort();
  if (!grades.length) return null;
  const middle = (grades.length - 1) / 2;
  return Math.floor((grades[Math.floor(middle)] + grades[Math.ceil(middle)]) / 2 + 0.5);
}

/** Text as it is compared when searching: full-width letters and case don't count. */
function plain(text) {
  return text.normalize("NFKC").toLowerCase();
}

function hayOf(query) {
  if (!query.hay) {
    const parts = [query.id, query.text, query.reference, ...Object.values(query.columns)];
    for (const pair of query.pairs) {
      parts.push(pair.title, pair.text, pair.address.shown, ...pair.judgments.map((each) => each.reason));
    }
    query.hay = plain(parts.join("\n"));
  }
  return query.hay;
}

/** Builds what searching looks into, a little at a time, while nothing else is to be done. */
function stackHay(place = 0) {
  const idle = window.requestIdleCallback || ((then) => setTimeout(() => then({ timeRemaining: () => 8 }), 30));
  idle((deadline) => {
    while (place < QUERIES.length && deadline.timeRemaining() > 2) hayOf(QUERIES[place++]);
    if (place < QUERIES.length) stackHay(place);
  });
}

/** The masks a result must meet, each in at least one bit. */
function masksOf(state) {
  const masks = [];
  if (state.verdict) masks.push({ yes: YES, no: NO, null: NULL }[state.verdict] || 0);
  if (state.grade !== "") masks.push(GRADE << Number(state.grade));
  if (state.failed) masks.push(FAILED);
  if (state.flagged) masks.push(FLAGGED);
  if (state.repeats) masks.push(REPEATS);
  return masks;
}

function meets(result, masks) {
  return masks.every((mask) => result.pair.bits & mask);
}

function nothingFrom(answer) {
  return answer !== null && (answer.error !== "" || !answer.results.length);
}

/** The queries that the state asks for, in its order. */
function chosen(state) {
  const masks = masksOf(state);
  const words = plain(state.find).split(/\s+/).filter(Boolean);
  const columns = [...state.columns];
  const found = QUERIES.filter((query) => {
    if (state.ql && query.lang !== state.ql) return false;
    if (columns.some(([column, value]) => query.columns[column] !== value)) return false;
    if (state.differ && query.spread < APART) return false;
    const answers = state.engine === "" ? query.answers : [query.answers[HEAD.engines.indexOf(state.engine)] ?? null];
    if (state.nothing && !answers.some(nothingFrom)) return false;
    const looked = masks.length || (state.engine !== "" && !state.nothing);
    if (looked && !answers.some((answer) => answer && answer.results.some((result) => meets(result, masks)))) {
      return false;
    }
    return words.every((word) => hayOf(query).includes(word));
  });
  return sorted(found, state.sort);
}

const ORDERS = {
  spread: (query) => -query.spread,
  ahead: (query) => (query.lead === null ? Infinity : -query.lead),
  behind: (query) => (query.lead === null ? Infinity : query.lead),
  lowest: (query) => (query.mean === null ? Infinity : query.mean),
  flips: (query) => -query.flips,
};

function sorted(queries, order) {
  if (!Object.hasOwn(ORDERS, order)) return queries;
  const key = ORDERS[order];
  const keyed = queries.map((query) => [key(query), query]);
  keyed.sort(([a, one], [b, other]) => (a === b ? one.place - other.place : a - b));
  return keyed.map(([, query]) => query);
}

/** The columns that divide the queries into few parts, with their values. */
function dividing() {
  const columns = new Map();
  for (const query of QUERIES) {
    for (const [column, value] of Object.entries(query.columns)) {
      if (!columns.has(column)) columns.set(column, new Set());
      columns.get(column).add(value);
    }
  }
  return [...columns].filter(([, values]) => values.size > 1 && values.size <= 20).slice(0, 6);
}
