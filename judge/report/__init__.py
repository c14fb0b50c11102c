"""report.html: the page, its charts and its texts. The terminal uses the same sentences and tables.

`render_report` makes the page of a Summary and of the queries in results.json. Functions with a translator
`t` as their first argument make sentences: `build_text` calls them for both languages of the page,
`judge.cli.render` for the terminal.

    html, payload            the page, and the queries in it
    pages                    what all pages share: templates, inlined files, the policy
    facts                    facts of a run
    result_tables            the tables, which the terminal shows too
    comparison_sentences     how engines compare
    run_warnings             flagged, failed and unjudged results, what means leave out, and self-tests
    assessor_sentences       what is known of the assessors
    display_text             texts and numbers as a page shows them
    charts                   the charts, one module for each kind

Texts of a run are untrusted: `display_text` cuts and escapes them.
"""
