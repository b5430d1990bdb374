"""How the site is built: `sphinx-build -nW docs FOLDER`. Its pages are Markdown, and read well in the repository too.

Nothing comes from the network: the theme brings its own fonts and styles, and no inventory of another project is read.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from django.conf import settings  # `workkit.django` is read in a project

from workkit import __version__

settings.configure(INSTALLED_APPS=["workkit.django"])

project = "workkit"
author = "the authors of workkit"
version = release = __version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "building.repository",
    "building.docstrings",
]
exclude_patterns = ["building", "**/README.md"]
nitpicky = True
show_warning_types = True

html_theme = "furo"
html_title = f"workkit {release}"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False

myst_enable_extensions = ["attrs_inline"]
myst_heading_anchors = 4
copybutton_exclude = ".linenos, .gp, .go"  # a command is copied without its prompt and its output

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_class_signature = "separated"  # workkit makes its values; what they hold are their attributes
default_role = "code"  # docstrings write `name` for code, as Markdown does

nitpick_ignore_regex = [  # types of others, whose inventories are not read; type variables; what only we read
    (
        "py:class",
        r"(collections\.abc|contextlib|datetime|zoneinfo|logging|redis_client|valkey_client|flask\.app|sqlalchemy|django_tasks|django\.tasks)\..*"
        r"|ZoneInfo|Starlette|Client|(async_)?scoped_session|(Async)?Session|(tuple|dict)\[.*",
    ),
    ("py:class", r"workkit\..*\.([AEFPR]|R_co|JobDecorator)|P"),
    ("py:obj", r"typing\.~P"),
    ("py:class", r"(workkit\.(jobs\.call|verbs\.creation)\.)?\w+Options"),  # the page "Keywords" has them
    ("py:class", r"workkit\.(jobs\.(run_options|terms)|contract|worker|web)\..*"),
    ("py:class", r"workkit\.triggers\.trigger\.(Interval|Pace)"),
    ("py:class", r"History|Own|Way|Signer"),
]
