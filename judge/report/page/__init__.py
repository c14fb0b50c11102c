"""Parts of report.html."""
