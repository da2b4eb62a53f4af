"""Sphinx's settings for the site that ``python -m helpers.site`` builds."""

import latex2mathml.converter
from docutils import nodes

project = html_title = "What did the model learn that it should not have?"
author = "the authors of this suite"
root_doc = "00_start_here"
extensions = ["myst_nb"]
suppress_warnings = ["mystnb.unknown_mime_type", "myst.header", "myst.xref_missing"]

html_theme = "sphinx_book_theme"
html_context = {"default_mode": "auto"}  # light or dark, as the browser asks
html_theme_options = {
    "extra_footer": "Code: Apache-2.0. Text and figures: CC BY 4.0.",
    "home_page_in_toc": True,
    "navbar_persistent": [],
    "navbar_start": [],  # the side bar holds the search field
    "pygments_dark_style": "a11y-high-contrast-dark",
    "pygments_light_style": "a11y-high-contrast-light",
    "search_bar_text": "Search all notebooks",
    "show_toc_level": 2,
    "use_download_button": False,
}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["enlarge.js"]
html_copy_source = False
html_show_copyright = False
html_use_index = False

myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
nb_code_prompt_hide = "Fold the code"
nb_code_prompt_show = "Show the code"
nb_execution_mode = "off"
nb_ipywidgets_js = {}  # widgets need a kernel
nb_merge_streams = True
nb_output_stderr = "remove"
nb_render_markdown_format = "gfm"  # tables in the Markdown that cells display


def write_mathml(translator, node):
    """Write a formula as MathML, which browsers draw without a script."""
    display = "block" if isinstance(node, nodes.math_block) else "inline"
    mathml = latex2mathml.converter.convert(node.astext(), display=display)
    translator.body.append(mathml)
    raise nodes.SkipNode


html_math_renderer = "mathml"


def link_pages(app, doctree, name):
    """Point links to notebooks at their pages, and remove those without a page."""
    for reference in list(doctree.findall(nodes.reference)):
        notebook, _, ending = reference.get("refuri", "").rpartition(".")
        if ending == "ipynb" and notebook in app.env.found_docs:
            reference["refuri"] = f"{notebook}.html"
        elif ending == "ipynb":
            reference.replace_self(reference.children)


def setup(app):
    """Register the writer of formulas and the links between pages."""
    renderer = (write_mathml, None)
    app.add_html_math_renderer("mathml", renderer, renderer)
    app.connect("doctree-resolved", link_pages)
