"""Configuration of the site, for Sphinx.

python -m sphinx -W --keep-going -b html docs docs/_build/html
"""

from __future__ import annotations

import os
import re
from importlib.metadata import version as installed_version
from typing import Any

# Set before Matplotlib is imported: the examples run without a display.
os.environ.setdefault("MPLBACKEND", "Agg")

project = "hardwood"
author = "The hardwood developers"
project_copyright = author
version = release = installed_version("hardwood")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "drawings"]
templates_path = ["_templates"]
default_role = "py:obj"  # single backticks in docstrings link to names that exist

# Markdown. The pages must also read well on a code host: no syntax beyond links to headings and toctrees.
myst_heading_anchors = 4

# Docstrings.
autosummary_generate = True
autodoc_typehints = "none"  # the docstrings describe the types in words
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]  # keeps trailing underscores of names
toc_object_entries_show_parents = "hide"

# Examples.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_signature": False,
    "within_subsection_order": "FileNameSortKey",
}

# Appearance.
html_theme = "pydata_sphinx_theme"
html_title = "hardwood"
html_static_path = ["_static"]
html_css_files = ["hardwood.css"]
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
}
html_sidebars = {"index": [], "api": []}


def _adapt_to_site(*arguments: Any) -> None:
    """Adapt a page written for a code host to the site.

    Doctest needs an empty line at the end of a block, readers do not. Examples have their own pages
    on the site.
    """
    source = arguments[-1]
    source[0] = re.sub(r"\n\n( *```)$", r"\n\1", source[0], flags=re.MULTILINE)
    source[0] = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", r"](auto_examples/\1.rst)", source[0])


def setup(app: Any) -> None:
    """Register the page adapter."""
    app.connect("source-read", _adapt_to_site)
