"""The rules of axe-core, applied to a page as it is now."""

import pathlib

from chromium import Page
from dash_lab import AXE, expect


def check_axe_rules(page: Page, what: str) -> None:
    if not AXE:
        return
    page.value(f"if (!window.axe) {{ {pathlib.Path(AXE).read_text()} }}; 0")
    # On a busy machine the program may say nothing for two seconds, and the page is grey on purpose until it does.
    is_grey = "document.body.classList.contains('cut-off') || getComputedStyle(document.querySelector('main') ?? document.body).opacity !== '1'"
    while True:
        page.wait(f"!({is_grey})", "the page has contact")
        found = page.value("axe.run(document, { resultTypes: ['violations'] }).then(r => r.violations.map(v => "
                           "[v.id, v.nodes.map(n => n.html.slice(0, 120))]))")
        if not found or not page.value(is_grey):
            break
    expect(not found, f"axe finds nothing wrong ({what})", found)
