// The texts of the report's scripts: English, then Chinese; {0} is where a value goes.

const MESSAGES = {
  language: ["中文", "English"],
  dark: ["Dark", "深色"],
  light: ["Light", "浅色"],
  keys: ["Keys", "快捷键"],
  find: ["Search", "搜索"],
  findHint: ["queries, snippets, reasons", "查询、摘要、理由"],
  engine: ["Engine", "引擎"],
  verdict: ["Verdict", "判定"],
  grade: ["Grade", "等级"],
  queryLanguage: ["Language", "语言"],
  sort: ["Sort", "排序"],
  any: ["any", "不限"],
  yes: ["yes, relevant", "相关"],
  no: ["no, not relevant", "不相关"],
  null: ["null, no verdict", "没有等级"],
  zh: ["Chinese", "中文"],
  en: ["English", "英文"],
  only: ["Only", "只看"],
  differ: ["engines differ by 0.1 or more", "引擎相差 0.1 以上"],
  repeats: ["repeats differ", "各次重复不一致"],
  failed: ["judgment failed", "评定失败"],
  textUnknown: ["no text to judge", "没有可评定的文本"],
  flagged: ["flagged", "有可疑标记"],
  nothing: ["engine empty or failed", "引擎无结果或出错"],
  datasetOrder: ["as in the dataset", "按数据集顺序"],
  spread: ["engines differ most", "引擎相差最大"],
  ahead: ["{0} most ahead of {1}", "{0} 领先 {1} 最多"],
  lowest: ["lowest mean score", "平均得分最低"],
  flips: ["repeats differ most", "各次重复相差最大"],
  reset: ["Clear", "清除"],
  allQueries: ["{0} queries", "共 {0} 条查询"],
  someQueries: ["{0} of {1} queries", "{1} 条查询中的 {0} 条"],
  earlier: ["{0} earlier queries", "前面还有 {0} 条查询"],
  later: ["{0} more queries", "后面还有 {0} 条查询"],
  queryMissing: [
    "Query {0} is not on this page; results.json has all that were judged.",
    "本页没有查询 {0}；已评定的查询都在 results.json 中。",
  ],
  scores: ["{0} by engine, and grades in rank order", "各引擎的 {0}，以及按名次排列的等级"],
  link: ["link to this query", "本查询的链接"],
  reference: ["known answer", "参考答案"],
  error: ["error", "出错"],
  errorWith: ["error: {0}", "出错：{0}"],
  empty: ["empty", "为空"],
  noResults: ["no results", "没有返回结果"],
  noRow: ["no row", "无数据行"],
  sideBySide: ["the engines side by side", "各引擎并排"],
  resultName: ["{0}, rank {1}", "{0} 第 {1} 名"],
  noText: ["no text", "无文本"],
  unjudged: ["unjudged", "未评定"],
  below: ["{0} more below the depth, not judged", "深度以下还有 {0} 条，未评定"],
  failedWith: ["failed: {0}", "评定失败：{0}"],
  unjudgedWith: ["unjudged: {0}", "未评定：{0}"],
  times: ["× {0}", "× {0}"],
  repeat: ["repeat {0}", "第 {0} 次"],
  duplicate: ["duplicate page: adds no gain", "重复页面，不计增益"],
  samePage: ["same at", "相同结果："],
  andMore: ["and {0} more", "等，另有 {0} 处"],
  samePageAt: ["the same at {0}, rank {1}", "相同结果：{0} 第 {1} 名"],
  cutText: ["… {0} more characters in results.json", "……其余 {0} 字见 results.json"],
  showAll: ["show all", "展开"],
  showLess: ["show less", "收起"],
  raw: ["as the engine returned it", "引擎返回的原文"],
  helpFind: ["search", "搜索"],
  helpNext: ["next / previous query", "下一条 / 上一条查询"],
  helpOpen: ["open or close the query", "展开或收起查询"],
  helpArrows: ["in an open query: between engines and ranks", "在展开的查询中：在引擎和名次之间移动"],
  helpEscape: ["close", "关闭"],
  helpKeys: ["this list", "显示本列表"],
  helpSwitch: ["single-key shortcuts", "启用单键快捷键"],
  close: ["Close", "关闭"],
};

/**
 * Return a message in the language of the page; no space is between two Chinese characters.
 * @param {keyof typeof MESSAGES} key
 * @param {(string | number)[]} values what replaces {0}, {1}, …
 */
function t(key, ...values) {
  const field = /(\p{Script=Han} )?\{(\d)\}( (?=\p{Script=Han}))?/gu;
  return localize(MESSAGES[key]).replace(field, (_, before = "", index = "", after = "") => {
    const value = String(values[Number(index)]);
    const start = /^\p{Script=Han}/u.test(value) ? before.trimEnd() : before;
    return start + value + (/\p{Script=Han}$/u.test(value) ? after.trimEnd() : after);
  });
}

/**
 * Return the text of the page's language out of English and Chinese.
 * @param {readonly string[]} texts
 * @returns {string}
 */
function localize([english = "", chinese = ""]) {
  return isChinese() ? chinese : english;
}

function isChinese() {
  return document.documentElement.dataset.lang === "zh";
}
