"""The register of cases: networks with something wrong, and the finding that explains it."""

CASES = {}


def case(code: str | None, *arguments: str, exit_code: int = 1, fix: str = "", beside: str = ""):
    """A network, and the code of the finding that explains it, with what its command has; None: there is nothing wrong.

    No other may be there but those with a code in `beside`, which follow from the same cause."""
    def register(function):
        CASES[function.__name__.replace("_", " ")] = (function, code, fix, arguments, exit_code, set(beside.split()))
        return function
    return register
