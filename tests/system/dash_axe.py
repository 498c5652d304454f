"""The rules of axe-core, applied to a page as it is now."""

import pathlib

from chromium import Page
from dash_lab import AXE, expect


def check_axe_rules(page: Page, what: str) -> None:
    if not AXE:
        return
    page.value(f"if (!window.axe) {{ {pathlib.Path(AXE).read_text()} }}; 0")
    found = page.value("axe.run(document, { resultTypes: ['violations'] }).then(r => r.violations.map(v => "
                       "[v.id, v.nodes.map(n => n.html.slice(0, 120))]))")
    expect(not found, f"axe finds nothing wrong ({what})", found)
