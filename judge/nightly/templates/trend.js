// The trend: its two switches, and its tables when it is printed.

select(".switches").hidden = false;
select("#language").addEventListener("click", () => showLanguage(isChinese() ? "en" : "zh"));
select("#theme").addEventListener("click", toggleTheme);
addEventListener("hashchange", () => showLanguage(preferredLanguage()));
openTablesForPrint();
showLanguage(preferredLanguage());
