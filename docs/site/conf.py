"""Settings of Sphinx. `build.py` gathers the pages."""

from docs.site import module_pages

import bygones

project = "bygones"
author = copyright = "The bygones authors"
version = release = bygones.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "myst_parser",
    "docs.site.docstrings",
    "docs.site.mathml",
]
smartquotes = False  # two dashes are an option
myst_enable_extensions = ["attrs_block", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

default_role = "py:obj"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
autodoc_default_options = {"show-inheritance": True}
autodoc_inherit_docstrings = False
autodoc_member_order = "bysource"
autodoc_type_aliases = {name: name for name in ("Array", "AnyArray", "Bools", "Condition", "Floats", "Ints", "Number")}
autodoc_mock_imports = module_pages.not_installed()
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 80
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = "bygones"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("live.js", {"defer": "defer"})]
html_copy_source = html_show_sourcelink = False
html_show_search_summary = False  # a browser may not read other pages of a site that is opened from disk
html_show_sphinx = False
html_use_index = True
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#005A8C", "color-brand-content": "#005A8C"},
    "dark_css_variables": {"color-brand-primary": "#7CC4EE", "color-brand-content": "#7CC4EE"},
}
