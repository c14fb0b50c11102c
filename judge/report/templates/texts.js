// Owns the words of the reading room, in English and Chinese; {0} is where a value goes.
"use strict";

const TEXTS = {
  language: ["中文", "English"],
  dark: ["Dark", "深色"],
  light: ["Light", "浅色"],
  keys: ["Keys", "快捷键"],
  find: ["Search", "搜索"],
  findHint: ["queries, snippets, reasons", "查询、摘要、理由"],
  engine: ["Engine", "引擎"],
  verdict: ["Verdict", "结论"],
  grade: ["Grade", "等级"],
  language_of_query: ["Language", "语言"],
  sort: ["Sort", "排序"],
  any: ["any", "不限"],
  yes: ["yes, relevant", "相关"],
  no: ["no, not relevant", "不相关"],
  null: ["null, no verdict", "没有结论"],
  zh: ["Chinese", "中文"],
  en: ["English", "英文"],
  only: ["Only", "只看"],
  differ: ["engines differ by 0.1 or more", "引擎相差 0.1 以上"],
  repeats: ["repeats differ", "各次重复不一"],
  failed: ["failed", "判定失败"],
  flagged: ["flagged", "有可疑标记"],
  nothing: ["empty or broke", "为空或出错"],
  order: ["as in the dataset", "按数据集顺序"],
  spread: ["engines differ most", "引擎相差最大"],
  ahead: ["{0} most ahead of {1}", "{0} 领先 {1} 最多"],
  lowest: ["lowest mean score", "平均分最低"],
  flips: ["repeats differ most", "各次重复最不一致"],
  reset: ["Clear", "清除"],
  every: ["{0} queries", "共 {0} 条查询"],
  some: ["{0} of {1} queries", "{1} 条查询中的 {0} 条"],
  none: ["No query is like that.", "没有符合条件的查询。"],
  earlier: ["{0} earlier queries", "前面还有 {0} 条查询"],
  later: ["{0} more queries", "后面还有 {0} 条查询"],
  missing: [
    "Query {0} is not on this page; results.json holds all that were judged.",
    "这一页没有查询 {0}；判定过的查询都在 results.json 里。",
  ],
  scores: ["{0} by engine, and grades in rank order", "各引擎的 {0}，以及按名次排列的等级"],
  link: ["link to this query", "本查询的链接"],
  reference: ["known answer", "已知答案"],
  broke: ["broke", "出错"],
  brokeWith: ["broke: {0}", "出错：{0}"],
  empty: ["empty", "为空"],
  returnedNothing: ["returned nothing", "什么也没返回"],
  absent: ["not asked", "没有问"],
  sides: ["the engines side by side", "各引擎并排"],
  rank: ["{0}, rank {1}", "{0} 第 {1} 名"],
  noText: ["no text", "无文字"],
  unjudged: ["unjudged", "未判定"],
  below: ["{0} more below the depth, not judged", "深度以下还有 {0} 条，未判定"],
  failedWith: ["failed: {0}", "判定失败：{0}"],
  times: ["× {0}", "× {0}"],
  repeat: ["repeat {0}", "第 {0} 次"],
  again: ["the same page again: gains nothing", "同一网页再次出现，不得分"],
  same: ["same at", "相同结果："],
  andMore: ["and {0} more", "等，另有 {0} 处"],
  sameAt: ["the same at {0}, rank {1}", "相同结果：{0} 第 {1} 名"],
  more: ["… {0} more characters in results.json", "……其余 {0} 字见 results.json"],
  whole: ["show all", "展开"],
  less: ["show less", "收起"],
  raw: ["as the engine gave it", "引擎给出的原文"],
  helpFind: ["search", "搜索"],
  helpNext: ["next / previous query", "下一条 / 上一条查询"],
  helpOpen: ["open or close the query", "展开或收起查询"],
  helpArrows: ["in an open query: between engines and ranks", "在展开的查询里：在引擎和名次之间移动"],
  helpEscape: ["close", "关闭"],
  helpHelp: ["this list", "显示本列表"],
  helpSwitch: ["single-key shortcuts", "启用单键快捷键"],
  close: ["Close", "关闭"],
};

/** The words for `key` in the language of the page, with values put in. */
function t(key, ...values) {
  const text = TEXTS[key][isChinese() ? 1 : 0];
  return text.replace(/\{(\d)\}/g, (_, place) => values[place]);
}

/** One of a pair of words in English and Chinese. */
function either(both) {
  return both[isChinese() ? 1 : 0];
}

function isChinese() {
  return document.documentElement.dataset.lang === "zh";
}

/** Text from the address, fit to stand in a sentence: nothing hidden in it, its direction kept to itself. */
function foreign(text) {
  const hidden = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
  const shown = text.slice(0, 200).replace(hidden, (char) => `\\x${char.codePointAt(0).toString(16).padStart(2, "0")}`);
  return `\u2068${shown}${text.length > 200 ? "…" : ""}\u2069`;
}

/** An element; `attributes` are ours, children are elements or untrusted text, which becomes text nodes. */
function el(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

/** Untrusted text that keeps its direction to itself. */
function apart(text) {
  return el("bdi", {}, text);
}
