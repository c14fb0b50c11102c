"""Tests of the report and the other pages in Chromium; a package, so that its tests share one browser."""
