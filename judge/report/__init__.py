"""report.html: the page, its charts and its texts."""
