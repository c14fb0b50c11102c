"""Parsing of replies: how the text of a model becomes a verdict.

An unreadable reply costs one more call, but a wrong value makes the result wrong. So a reply that is not
certain is refused with ReplyParseError. A reply becomes a verdict in these steps:

1. `verdict`: a reply that is exactly as the prompts ask for it is parsed with the JSON of the standard library.
   Almost every reply ends here. Any other goes to `any_form`.
2. `final_answer`: what comes after the thinking is the answer.
3. `tolerant_json`: the objects of the answer are read, with common damage. Then one of three readers continues:
   - `any_form`, when every object can be read: it collects each value that the objects state for the scale's key.
     All values agree, or the reply is refused.
   - `repair`, when an object is damaged further: the value counts if it is where no reason can be.
   - `labelled_lines`, when there is no object: lines or sentences such as "Grade: 2", or the bare value.
4. The text around the value is searched for what makes it another value, or no answer:
   - `attribution`: the answer is quoted, an example, a supposition, or the answer of another. Only known words
     may introduce an answer.
   - `contradictions`: the text states another value (`stated_values`), or says the opposite. `find_doubt` joins
     all these checks.
   - `remarks`: the text corrects the answer or doubts it, declines to judge, or says that it is rounded or off.
   - `stated_scale`: a clause about the grade names another scale than the asked one, as in "out of 10".
   Text that says nothing of the answer is harmless: counts, dates, the rubric, a repeated query.
5. The verdict has the grade, the reason, and flags: `repaired`, `reason_truncated`, `reason_capped`, `no_reason`.

Where to look:

- The grade: `vocabulary.find_value` reads one value. The values come from the members of objects
  (`any_form._collect_statements`), from a damaged object (`repair.parse_damaged`), or from lines and sentences
  (`labelled_lines._parse_lines`, `_parse_sentences`); `vocabulary.agree_on_grade` makes one grade of several.
- A contradiction: `contradictions.find_doubt` for the text around an answer, and `contradicts` for one text;
  `any_form._contradicts_itself` for the other members of an object.
- Attribution: `attribution.is_attributed` for the text in front of an answer, `is_disowned` for the text behind it.

`vocabulary` has the keys, labels, values and words of both languages that the other modules look for. A pattern
that refuses replies may be broad; one that lets a number pass must be narrow. `ENGLISH` and `CHINESE` begin most
alternatives of long patterns, so that a search of a long text takes little time. `flatten` and `simplify_prose`
read full-width and Traditional characters as their common forms.

Other packages use `parse_verdict`, `parse_json_answer` and `extract_final_answer`.
"""
