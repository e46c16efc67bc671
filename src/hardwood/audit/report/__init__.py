"""The audit's report: one HTML file that needs nothing else, for people who decide.

`write_report` writes it. What it says is worked out in one file for each section (`confusions`,
`suspects` with `reasons`, `hardwood.audit.gain`, `settings_chart`), what it looks like is in
``page.html``, ``page.css`` and ``page.js``.
"""

from hardwood.audit.report.page import write_report

__all__ = ["write_report"]
