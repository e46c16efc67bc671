"""The audit's report: one self-contained HTML file, for the people who review the labels.

`write_report` turns `Findings`, a record of what to show, into the page. Each section is worked out
in one module (`confusions`, `suspects` with `reasons`, `settings_chart`). The page itself is
``page.html``, ``page.css`` and ``page.js``.
"""

from hardwood.audit.report.findings import Findings
from hardwood.audit.report.page import check_report, write_report

__all__ = ["Findings", "check_report", "write_report"]
