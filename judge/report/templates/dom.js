// Elements of a page. Text that we did not write enters a page only as text nodes, never as markup.
"use strict";

/**
 * Return the first element under `root` that matches `selector`; it must be there and of that type.
 * @template {HTMLElement} [T=HTMLElement]
 * @param {string} selector
 * @param {new () => T} [type]
 * @param {ParentNode} [root]
 * @returns {T}
 */
function select(selector, type = /** @type {any} */ (HTMLElement), root = document) {
  const element = root.querySelector(selector);
  if (element instanceof type) return element;
  throw new Error(`the page has no ${type.name} ${selector}`);
}

/**
 * Return a new element. `true` as an attribute's value means an attribute without a value; `false`,
 * null and undefined leave the attribute out. Empty children are left out.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number | boolean | null | undefined>} [attributes]
 * @param {(Node | string | null | undefined)[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
function createElement(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  for (const child of children) if (child !== null && child !== undefined && child !== "") element.append(child);
  return element;
}

/** Whether the page is dark: by its own switch, else by the system's setting. */
function isDark() {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
