"""report.html: the page, its charts and its texts. The terminal uses the same sentences.

    html, payload            the page, and the queries in it
    statements, page_tables  facts and warnings; tables
    sentences                how engines compare; flagged, failed and unjudged results
    assessor_sentences       what is known of the assessors
    display_text             texts and numbers as a page shows them
    charts                   the charts, one module for each kind

Texts of a run are untrusted: `display_text` cuts and escapes them.
"""
