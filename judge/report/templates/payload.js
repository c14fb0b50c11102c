// The data of the report: unpacking (the format is that of judge/report/payload.py), filtering, sorting.

/** @typedef {[english: string, chinese: string]} Texts */
/**
 * @typedef {object} Header
 * @property {string} run
 * @property {string[]} engines
 * @property {number[]} order indexes of the engines, best first
 * @property {string[]} measures
 * @property {number} deciding index of the measure that decides
 * @property {Texts[]} grades what each grade is called
 * @property {number} relevant_from the lowest grade that counts as relevant
 * @property {Record<string, Texts>} errors
 * @property {Record<string, Texts>} flags
 * @property {string[]} suspicious the flags of possible prompt injection
 * @property {string[]} no_text the errors of pairs whose text is unknown
 */
/** @typedef {[grade: number | null, reason?: string | number, flags?: string[], error?: string]} PackedJudgment */
/** @typedef {string | [text: string, href: string]} PackedAddress */
/** @typedef {[title: string, text?: string, address?: PackedAddress, date?: string, flags?: string[], judgments?: PackedJudgment[], document?: number, cut?: number, raw?: string]} PackedPair */
/** @typedef {number | [pair: number, address?: 0 | PackedAddress, document?: number]} PackedResult */
/** @typedef {[scores: (number | null)[], results?: PackedResult[], error?: string, below?: number]} PackedAnswer */
/** @typedef {[id: string, text: string, lang: string, reference: string, columns: Record<string, string>, answers: (PackedAnswer | null)[], pairs: PackedPair[]]} PackedQuery */

/** @typedef {{grade: number | null, reason: string, flags: string[], error: string}} Judgment */
/** @typedef {{text: string, href: string}} Address */
/**
 * @typedef {object} Pair
 * @property {number} index
 * @property {string} title
 * @property {string} text
 * @property {Address} address
 * @property {string} date
 * @property {string[]} flags
 * @property {Judgment[]} judgments
 * @property {number} document number of the page that the pair shows, within the query
 * @property {number} cut how many characters the text lost
 * @property {string} raw the text as the engine returned it, where cleaning removed something suspicious
 * @property {number} bits
 * @property {boolean} isVerdictUnstable whether repeats gave both verdicts
 */
/** @typedef {{pair: Pair, address: Address, document: number, rank: number, isDuplicate: boolean}} Result */
/** @typedef {{scores: (number | null)[], score: number | null, results: Result[], error: string, below: number}} Answer */
/**
 * @typedef {object} Query
 * @property {number} index
 * @property {string} id
 * @property {string} text
 * @property {string} lang
 * @property {string} reference
 * @property {Record<string, string>} columns
 * @property {(Answer | null)[]} answers by engine; null where the engine was not asked
 * @property {Pair[]} pairs
 * @property {number} spread highest minus lowest score
 * @property {number | null} mean
 * @property {number | null} lead how far the best engine is ahead of the second
 * @property {number} instability pairs with both verdicts count 1000, pairs with different grades 1
 * @property {string} searchText
 */

const PAYLOAD = JSON.parse(select("#payload").textContent ?? "");
/** @type {Header} */
const HEADER = PAYLOAD.header;
const INJECTION_FLAGS = new Set(HEADER.suspicious);
const NO_TEXT_ERRORS = new Set(HEADER.no_text);
/** Engines differ on a query when their scores are so far apart. */
const MIN_DIFFERENCE = 0.1;

// What is true of a pair, as bits; GRADE << n stands for grade n.
const RELEVANT = 1;
const NOT_RELEVANT = 2;
const NO_VERDICT = 4;
const FAILED = 8;
const FLAGGED = 16;
const REPEATS_DIFFER = 32;
const NO_TEXT = 64;
const GRADE = 128;

/** @type {Query[]} */
const QUERIES = PAYLOAD.queries.map(unpackQuery);

/**
 * @param {PackedQuery} packed
 * @param {number} index
 * @returns {Query}
 */
function unpackQuery([id, text, lang, reference, columns, packedAnswers, packedPairs], index) {
  const pairs = packedPairs.map(unpackPair);
  const answers = packedAnswers.map((answer) => answer && unpackAnswer(answer, pairs));
  const scores = answers.flatMap((answer) => answer?.score ?? []);
  const [best, second] = HEADER.order.map((engine) => answers[engine]?.score ?? null);
  return {
    ...{ index, id, text, lang, reference, columns, pairs, answers, searchText: "" },
    spread: scores.length ? Math.max(...scores) - Math.min(...scores) : 0,
    mean: scores.length ? scores.reduce((sum, score) => sum + score, 0) / scores.length : null,
    lead: typeof best === "number" && typeof second === "number" ? best - second : null,
    instability: pairs.reduce(
      (sum, pair) => sum + (pair.isVerdictUnstable ? 1000 : 0) + (pair.bits & REPEATS_DIFFER ? 1 : 0),
      0,
    ),
  };
}

/**
 * @param {PackedAnswer} packed
 * @param {Pair[]} pairs
 * @returns {Answer}
 */
function unpackAnswer([scores, packedResults = [], error = "", below = 0], pairs) {
  const documents = new Set();
  const results = packedResults.map((packed, index) => {
    const [number, ownAddress = 0, ownDocument = 0] = Array.isArray(packed) ? packed : [packed];
    const pair = /** @type {Pair} */ (pairs[number]);
    const address = ownAddress === 0 ? pair.address : unpackAddress(ownAddress);
    const document = ownDocument ? ownDocument - 1 : pair.document;
    const isDuplicate = documents.has(document);
    documents.add(document);
    return { pair, address, document, rank: index + 1, isDuplicate };
  });
  return { scores, score: scores[HEADER.deciding] ?? null, results, error, below };
}

/**
 * @param {PackedAddress} packed
 * @returns {Address}
 */
function unpackAddress(packed) {
  const [text, href] = Array.isArray(packed) ? packed : [packed, packed];
  return { text, href };
}

/**
 * @param {PackedPair} packed
 * @param {number} index
 * @returns {Pair}
 */
function unpackPair(
  [title, text = "", address = "", date = "", flags = [], packedJudgments = [], document = 0, cut = 0, raw = ""],
  index,
) {
  /** @type {Judgment[]} */
  const judgments = [];
  for (const [grade, packedReason = "", judgmentFlags = [], error = ""] of packedJudgments) {
    const reason = typeof packedReason === "number" ? (judgments[packedReason - 1]?.reason ?? "") : packedReason;
    judgments.push({ grade, reason, flags: judgmentFlags, error });
  }
  const bits = bitsOf(judgments, flags);
  return {
    ...{ index, title, text, date, flags, judgments, cut, raw, bits },
    address: unpackAddress(address),
    document: document ? document - 1 : index,
    isVerdictUnstable: Boolean(bits & RELEVANT && bits & NOT_RELEVANT),
  };
}

/**
 * @param {Judgment[]} judgments
 * @param {string[]} flags
 */
function bitsOf(judgments, flags) {
  let bits = judgments.length ? 0 : NO_VERDICT;
  for (const { grade, error } of judgments) {
    if (grade === null) bits |= NO_VERDICT | (NO_TEXT_ERRORS.has(error) ? NO_TEXT : error ? FAILED : 0);
    else bits |= (GRADE << grade) | (grade >= HEADER.relevant_from ? RELEVANT : NOT_RELEVANT);
    if (grade !== judgments[0]?.grade) bits |= REPEATS_DIFFER;
  }
  return flags.some((flag) => INJECTION_FLAGS.has(flagKind(flag))) ? bits | FLAGGED : bits;
}

/**
 * Return a flag without its detail, which comes after a colon.
 * @param {string} flag
 */
function flagKind(flag) {
  return flag.replace(/:.*$/s, "");
}

/**
 * Return the median grade over repeats, halves rounded up, as judge counts it; null where there is none.
 * @param {Judgment[]} judgments
 */
function medianGrade(judgments) {
  const grades = judgments.flatMap(({ grade }) => grade ?? []).sort();
  const middle = (grades.length - 1) / 2;
  const [low, high] = [grades[Math.floor(middle)], grades[Math.ceil(middle)]];
  return low === undefined || high === undefined ? null : Math.floor((low + high) / 2 + 0.5);
}

// --- filtering

/**
 * Return text as it is compared: the width and the case of letters don't count.
 * @param {string} text
 */
function normalize(text) {
  return text.normalize("NFKC").toLowerCase();
}

/**
 * Return the text that a search looks into.
 * @param {Query} query
 */
function searchTextOf(query) {
  if (!query.searchText) {
    const parts = [query.id, query.text, query.reference, ...Object.values(query.columns)];
    for (const { title, text, address, judgments } of query.pairs) {
      parts.push(title, text, address.text, ...judgments.map(({ reason }) => reason));
    }
    query.searchText = normalize(parts.join("\n"));
  }
  return query.searchText;
}

/** Build the search texts from query `index` on, a few at a time while the browser is idle. */
function buildSearchTexts(index = 0) {
  const requestIdle =
    window.requestIdleCallback ??
    ((callback) => setTimeout(() => callback({ didTimeout: false, timeRemaining: () => 8 }), 30));
  requestIdle((deadline) => {
    let next = index;
    for (let query = QUERIES[next]; query && deadline.timeRemaining() > 2; query = QUERIES[++next]) searchTextOf(query);
    if (next < QUERIES.length) buildSearchTexts(next);
  });
}

/**
 * Return the masks that a result must match, each in at least one bit.
 * @param {Filter} filter
 */
function masksOf({ verdict, grade, only }) {
  const masks = [];
  if (verdict) masks.push({ yes: RELEVANT, no: NOT_RELEVANT, null: NO_VERDICT }[verdict] ?? 0);
  if (grade) masks.push(GRADE << Number(grade));
  if (only.has("failed")) masks.push(FAILED);
  if (only.has("textUnknown")) masks.push(NO_TEXT);
  if (only.has("flagged")) masks.push(FLAGGED);
  if (only.has("repeats")) masks.push(REPEATS_DIFFER);
  return masks;
}

/**
 * Return the queries that match a filter, in its order.
 * @param {Filter} filter
 */
function filterQueries(filter) {
  const masks = masksOf(filter);
  const words = normalize(filter.find).split(/\s+/).filter(Boolean);
  const wantsEmpty = filter.only.has("nothing");
  const wantsResult = masks.length > 0 || (filter.engine !== "" && !wantsEmpty);
  const queries = QUERIES.filter((query) => {
    if (filter.ql && query.lang !== filter.ql) return false;
    for (const [column, value] of filter.columns) if (query.columns[column] !== value) return false;
    if (filter.only.has("differ") && query.spread < MIN_DIFFERENCE) return false;
    const answers = filter.engine ? [query.answers[HEADER.engines.indexOf(filter.engine)] ?? null] : query.answers;
    if (wantsEmpty && !answers.some((answer) => answer && (answer.error || !answer.results.length))) return false;
    if (
      wantsResult &&
      !answers.some((answer) => answer?.results.some(({ pair }) => masks.every((mask) => pair.bits & mask)))
    )
      return false;
    return words.every((word) => searchTextOf(query).includes(word));
  });
  return sortQueries(queries, filter.sort);
}

/** @type {Record<string, (query: Query) => number>} */
const SORT_KEYS = {
  spread: (query) => -query.spread,
  ahead: (query) => -(query.lead ?? -Infinity),
  behind: (query) => query.lead ?? Infinity,
  lowest: (query) => query.mean ?? Infinity,
  flips: (query) => -query.instability,
};

/**
 * @param {Query[]} queries
 * @param {string} order
 */
function sortQueries(queries, order) {
  const key = Object.hasOwn(SORT_KEYS, order) ? SORT_KEYS[order] : undefined;
  // Infinity - Infinity is not a number: such queries are ordered as in the dataset.
  return key ? [...queries].sort((a, b) => key(a) - key(b) || a.index - b.index) : queries;
}

/** Return the columns with few values, which a person can filter by, with their values. */
function filterColumns() {
  /** @type {Map<string, Set<string>>} */
  const columns = new Map();
  for (const query of QUERIES) {
    for (const [column, value] of Object.entries(query.columns)) {
      columns.set(column, (columns.get(column) ?? new Set()).add(value));
    }
  }
  return [...columns].filter(([, values]) => values.size > 1 && values.size <= 20).slice(0, 6);
}
