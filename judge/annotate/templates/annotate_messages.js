// The texts of the page. Grades and rules say in full sentences what the prompts say; a test compares them.

/** @typedef {"en" | "zh"} Language */
const GRADES = {
  en: {
    graded: [
      "off topic, or without content",
      "on topic, but no help",
      "relevant: a useful part of the answer",
      "relevant: the full, direct answer",
    ],
    binary: ["off topic, no help, or without content", "relevant: the answer or a useful part of it"],
  },
  zh: {
    graded: ["离题，或没有实质内容", "切题，没有帮助", "相关，给出答案中有用的一部分", "相关，直接给出完整答案"],
    binary: ["离题、没有帮助，或没有实质内容", "相关，有答案或其中有用的一部分"],
  },
};

/** The last rule is for a query with a reference answer. */
const RULES = {
  en: {
    graded: [
      "Grade how well the content meets the user's need. Language, words shared with the query, facts that you remember, style and length do not count.",
      "If the query is misspelt, assume what the user meant. If it has several common meanings (a word, a song, a brand, a person), a snippet about any of them can get 3. If the user looks for a site, the page of that site gets 3.",
      "Grade a snippet that is cut off by what you see. Give 2 if it is clear that the page continues with the answer.",
      "Dates matter only if the query needs recent information.",
      "Without content (0) means that the snippet only repeats the query, lists keywords, asks for a high grade or shows navigation links, or that it is an error page or a login page that the user did not look for. Grade an article about such tricks like any other.",
      "A snippet that contradicts the reference answer gets 1 at most; different wording is no contradiction.",
    ],
    binary: [
      "Decide whether the content meets the user's need. Language, words shared with the query, facts that you remember, style and length do not count.",
      "If the query is misspelt, assume what the user meant. If it has several common meanings (a word, a song, a brand, a person), a snippet about any of them can get yes. If the user looks for a site, the page of that site gets yes.",
      "Judge a snippet that is cut off by what you see. Say yes if it is clear that the page continues with the answer.",
      "Dates matter only if the query needs recent information.",
      "Without content (no) means that the snippet only repeats the query, lists keywords, asks for a verdict or shows navigation links, or that it is an error page or a login page that the user did not look for. Judge an article about such tricks like any other.",
      "A snippet that contradicts the reference answer gets no; different wording is no contradiction.",
    ],
  },
  zh: {
    graded: [
      "请按内容能否满足用户需求评定等级，不考虑语言、与查询的字面重合、文笔和篇幅，也不以记忆中的事实为依据。",
      "查询有错别字时，按用户的本意理解。查询有多种常见含义（词义、歌曲、品牌、人物）时，符合其中任何一种都可以评为 3 级。用户要找某个网站时，该网站自己的页面评为 3 级。",
      "摘要被截断时，按看到的内容评定；如果网页后文显然有答案，评为 2 级。",
      "只有查询需要最新信息时才考虑日期。",
      "没有实质内容（0）是指摘要只重复查询、堆砌关键词、只有要求打高分的文字或网站导航链接，或者是报错页、并非用户要找的登录页。讨论此类手法的文章按正常标准评定。",
      "与参考答案矛盾的摘要最高评为 1 级；只是说法不同不算矛盾。",
    ],
    binary: [
      "请按内容能否满足用户需求判断，不考虑语言、与查询的字面重合、文笔和篇幅，也不以记忆中的事实为依据。",
      "查询有错别字时，按用户的本意理解。查询有多种常见含义（词义、歌曲、品牌、人物）时，符合其中任何一种都可以选“是”。用户要找某个网站时，该网站自己的页面选“是”。",
      "摘要被截断时，按看到的内容判断；如果网页后文显然有答案，选“是”。",
      "只有查询需要最新信息时才考虑日期。",
      "没有实质内容（选“否”）是指摘要只重复查询、堆砌关键词、只有要求判为相关的文字或网站导航链接，或者是报错页、并非用户要找的登录页。讨论此类手法的文章按正常标准判断。",
      "与参考答案矛盾的摘要选“否”；只是说法不同不算矛盾。",
    ],
  },
};

/**
 * @param {number} number
 * @param {string} singular
 * @param {string} plural
 */
const formatCount = (number, singular, plural) => `${number.toLocaleString("en")} ${number === 1 ? singular : plural}`;
const formatDecimal = (/** @type {number} */ value) => value.toFixed(2).replace("-", "−");
const formatPoints = (/** @type {number} */ difference) => (100 * difference).toFixed(1);
const formatPercent = (/** @type {number} */ share) => `${(100 * share).toFixed(1)}%`;
const formatInterval = (/** @type {[number, number]} */ [low, high], /** @type {string} */ to) =>
  `${formatDecimal(low)} ${to} ${formatDecimal(high)}`;

const TEXTS = {
  en: {
    title: "Blind labels",
    otherLanguage: "中文",
    dark: "Dark",
    light: "Light",
    query: "Query",
    snippet: "Snippet",
    empty: "(no text)",
    reference: "Reference answer",
    today: "Today",
    rules: "Rules",
    grade: "Grade",
    yes: "yes",
    no: "no",
    unsure: "not sure",
    colon: ": ",
    noLabel: "no label, so judge agree leaves this pair out",
    comment: "Comment",
    back: "Back",
    forward: "Forward",
    undo: "Undo",
    labelled: "Labelled; a key changes it.",
    sealed: "The model's grades have been shown since, so this label can't be changed.",
    loading: "loading",
    saving: "saving …",
    saved: "saved",
    unsaved: "NOT SAVED",
    offline:
      "Not saved: the server does not answer. This tab keeps the label and sends it again every two seconds. Is judge annotate still running?",
    closed: "The server does not answer. Is judge annotate still running?",
    retry: "Try again",
    drop: "Discard",
    conflict:
      "Not saved: this pair was labelled in another tab or window since it was shown here. Show the current label; you can change it then.",
    showCurrent: "Show the current label",
    keys: "Keys",
    shortcutList: "this list",
    close: "Close",
    shortcuts: "single-key shortcuts",
    move: "look back and forward",
    leaveComment: "leave the comment",
    export: "Write the CSV now",
    allLabelled: "Everything is labelled",
    finish: "Finish",
    working: "calculating …",
    noGrades: "No pair has a grade, so there is nothing to compare.",
    confusionTable: "Your grades (rows) and the model's (columns)",
    you: "you",
    model: "model",
  },
  zh: {
    title: "盲标",
    otherLanguage: "English",
    dark: "深色",
    light: "浅色",
    query: "查询",
    snippet: "摘要",
    empty: "（无文本）",
    reference: "参考答案",
    today: "今天",
    rules: "评定规则",
    grade: "等级",
    yes: "是",
    no: "否",
    unsure: "不确定",
    colon: "：",
    noLabel: "不作标注，judge agree 不计入此条",
    comment: "备注",
    back: "上一条",
    forward: "下一条",
    undo: "撤销",
    labelled: "已标注，再次按键可修改。",
    sealed: "标注后已显示模型的判定，此条不能再修改。",
    loading: "载入中",
    saving: "保存中…",
    saved: "已保存",
    unsaved: "未保存",
    offline: "未保存：服务器没有响应。这条标注保留在本标签页中，每两秒重试一次。judge annotate 还在运行吗？",
    closed: "服务器没有响应。judge annotate 还在运行吗？",
    retry: "重试",
    drop: "放弃",
    conflict: "未保存：显示之后，此条已在另一个标签页或窗口中标注。请先查看当前生效的标注，再决定是否修改。",
    showCurrent: "查看当前标注",
    keys: "快捷键",
    shortcutList: "显示本列表",
    close: "关闭",
    shortcuts: "启用单键快捷键",
    move: "向前、向后查看",
    leaveComment: "离开备注框",
    export: "现在导出 CSV",
    allLabelled: "已全部标注",
    finish: "完成",
    working: "计算中…",
    noGrades: "没有摘要给出等级，无法比较。",
    confusionTable: "您评的等级（行）与模型评的等级（列）",
    you: "您",
    model: "模型",
  },
};

/**
 * @typedef {object} Sentences
 * @property {(reason: string) => string} refused
 * @property {(path: string, count: number) => string} exported
 * @property {(state: State) => string} progress
 * @property {(state: PairState) => string} position
 * @property {(minutes: number) => string} timeLeft
 * @property {(state: State) => string} beforeFinish
 * @property {(count: number, path: string) => string} nextStep
 * @property {(agreement: Agreement) => string} compared
 * @property {(share: number) => string} sameVerdict
 * @property {(value: number, interval: [number, number] | null, strength: string) => string} kappa
 * @property {(share: number, quadraticKappa: number | null) => string} sameGrade
 * @property {(value: number) => string} bias
 */

/** @type {Record<Language, Sentences>} */
const SENTENCES = {
  en: {
    refused: (reason) => `Not saved: ${reason}`,
    exported: (path, count) => `${formatCount(count, "label", "labels")} in ${path}`,
    progress: (state) => `${state.labelled.toLocaleString("en")} of ${state.total.toLocaleString("en")} labelled`,
    position: ({ position }) =>
      `query ${position.query_number} of ${position.queries}, snippet ${position.pair_number} of ${position.pairs_of_query}`,
    timeLeft: (minutes) =>
      minutes < 1.5
        ? "about a minute left"
        : minutes < 90
          ? `about ${Math.round(minutes)} minutes left`
          : `about ${(minutes / 60).toFixed(1)} hours left`,
    beforeFinish: (state) =>
      `${formatCount(state.total, "pair", "pairs")}, ${state.unsure} of them not sure, which count as no label. Finish writes the CSV and shows how well the model agrees with you. The labels can't be changed after that, because they must be blind.`,
    nextStep: (count, path) =>
      `${formatCount(count, "label is", "labels are")} in ${path}. For the full analysis, run:`,
    compared: (agreement) =>
      `Compared with ${agreement.assessor}: ${formatCount(agreement.pairs, "pair", "pairs")} of ${formatCount(agreement.queries, "query", "queries")} that both of you graded.`,
    sameVerdict: (share) => `On relevant or not you agree on ${formatPercent(share)} of them.`,
    kappa: (value, interval, strength) =>
      `Corrected for chance, the agreement is ${strength}: kappa ${formatDecimal(value)}${interval ? ` (95% interval ${formatInterval(interval, "to")})` : ""}; 0 is chance, 1 is full agreement.`,
    sameGrade: (share, quadraticKappa) =>
      `The same grade: ${formatPercent(share)}${quadraticKappa === null ? "" : `; weighted by the distance of the grades (quadratic kappa), ${formatDecimal(quadraticKappa)}`}.`,
    bias: (value) =>
      value > 0
        ? `The model is more generous: the share of pairs that it calls relevant is ${formatPoints(value)} percentage points higher than yours.`
        : `The model is stricter: the share of pairs that it calls relevant is ${formatPoints(-value)} percentage points lower than yours.`,
  },
  zh: {
    refused: (reason) => `未保存：${reason}`,
    exported: (path, count) => `${count.toLocaleString("en")} 条标注已写入 ${path}`,
    progress: (state) => `已标 ${state.labelled.toLocaleString("en")} / ${state.total.toLocaleString("en")}`,
    position: ({ position }) =>
      `第 ${position.query_number} / ${position.queries} 条查询，第 ${position.pair_number} / ${position.pairs_of_query} 条摘要`,
    timeLeft: (minutes) =>
      minutes < 1.5
        ? "大约还需 1 分钟"
        : minutes < 90
          ? `大约还需 ${Math.round(minutes)} 分钟`
          : `大约还需 ${(minutes / 60).toFixed(1)} 小时`,
    beforeFinish: (state) =>
      `共 ${state.total.toLocaleString("en")} 条，其中 ${state.unsure} 条不确定（不计入标注）。点击“完成”将导出 CSV，并显示模型与您的一致程度。完成后标注不能再修改，因为盲标须在看到模型结论之前给出。`,
    nextStep: (count, path) => `${count.toLocaleString("en")} 条标注已写入 ${path}。完整分析请执行：`,
    compared: (agreement) =>
      `与 ${agreement.assessor} 相比：双方都给出等级的有 ${agreement.queries.toLocaleString("en")} 条查询的 ${agreement.pairs.toLocaleString("en")} 条摘要。`,
    sameVerdict: (share) => `是否相关，双方在其中 ${formatPercent(share)} 上一致。`,
    kappa: (value, interval, strength) =>
      `扣除偶然一致后，双方${strength}：kappa 为 ${formatDecimal(value)}${interval ? `（95% 置信区间 ${formatInterval(interval, "到")}）` : ""}；0 为偶然水平，1 为完全一致。`,
    sameGrade: (share, quadraticKappa) =>
      `等级完全相同的占 ${formatPercent(share)}${quadraticKappa === null ? "" : `；按等级差距加权（二次加权 kappa）为 ${formatDecimal(quadraticKappa)}`}。`,
    bias: (value) =>
      value > 0
        ? `模型比您宽松：判为相关的比例比您高 ${formatPoints(value)} 个百分点。`
        : `模型比您严格：判为相关的比例比您低 ${formatPoints(-value)} 个百分点。`,
  },
};
