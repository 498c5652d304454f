"""Plays one scenario: `python3 -m golden.capture LIBRARY FOLDER NAME`; `--list` prints the names.

Wants a network namespace of its own, because the ports are the same in every scenario, and the host name `golden-host`.
"""

import json
import os
import re
import sys

from . import (
    inlet_clock,
    inlet_search,
    inlets,
    outlet_feeds,
    outlet_messages,
    outlets,
)  # noqa: F401 - they add scenarios
from .record import Library, Record
from .scenario import SCENARIOS


def main():
    if sys.argv[1:] == ["--list"]:
        print(*SCENARIOS, sep="\n")
        return
    path, folder, name = sys.argv[1:]
    function, summary, config = SCENARIOS[name]
    library = Library(path, config)
    record = Record(library)
    function(library, record)
    document = {
        "name": name,
        "role": name.split("_")[0] + " (real library)",
        "summary": summary,
        "notes": record.notes,
        "config": config,
        "library": {
            "info": re.sub(r"/compiler.*", "", library.c.lsl_library_info().decode()),
            "library_version": library.c.lsl_library_version(),
            "protocol_version": library.c.lsl_protocol_version(),
        },
        "checks": record.checks,
        "steps": record.steps,
    }
    with open(os.path.join(folder, name + ".json"), "w") as file:
        json.dump(document, file, indent=1)
        file.write("\n")
    # The threads of a scenario may still wait; nothing needs their results.
    os._exit(0)


if __name__ == "__main__":
    main()
