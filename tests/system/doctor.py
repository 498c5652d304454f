"""Breaks networks on purpose, and asks `schwann doctor` what is wrong.

Usage: doctor.py <folder of the program> [word of a case's name]...

Each case has a namespace A that sends the stream Lab and a namespace B that looks for it, joined by a cable (a veth
pair) unless the case says otherwise. The cases stand in `doctor_networks.py`, `doctor_cards.py`, `doctor_ipv6.py`,
`doctor_settings.py`, `doctor_streams.py` and `doctor_keys.py`.
"""

import json
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor

# Each registers its cases.
import doctor_cards  # noqa: F401
import doctor_ipv6  # noqa: F401
import doctor_keys  # noqa: F401
import doctor_networks  # noqa: F401
import doctor_settings  # noqa: F401
import doctor_streams  # noqa: F401
from doctor_cases import CASES
from doctor_lab import Lab

PRINTING = threading.Lock()


def examine(name: str) -> bool:
    build, code, fix, arguments, exit_code, beside = CASES[name]
    try:
        with Lab() as lab:
            build(lab)
            found_exit, answer = lab.doctor(*arguments)
    except Exception:
        with PRINTING:
            print(f"FAILED: {name}: {traceback.format_exc()}", flush=True)
        return False
    codes = [finding["code"] for finding in answer["findings"]]
    complete = all(finding["what"].endswith(".") and finding["fix"] for finding in answer["findings"])
    complete &= all(fix in finding["fix"] for finding in answer["findings"] if finding["code"] == code)
    others = [other for other in codes if other not in beside]
    right = bool(others) and set(others) == {code} if code else not codes and answer["streams"] > 0
    good = right and found_exit == exit_code and complete
    with PRINTING:
        if good and code:
            finding = next(finding for finding in answer["findings"] if finding["code"] == code)
            print(f"ok: {name}: {finding['what']}\n      {finding['fix']}", flush=True)
        else:
            print(f"{'ok' if good else 'FAILED'}: {name}" + ("" if good else f": exit {found_exit}, {json.dumps(answer)}"), flush=True)
    return good


def main() -> None:
    wanted = [name for name in CASES if not sys.argv[2:] or any(word in name for word in sys.argv[2:])]
    # The cases wait more than they compute.
    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(examine, wanted))
    print(f"{sum(outcomes)} of {len(outcomes)} networks explained")
    if not all(outcomes):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
