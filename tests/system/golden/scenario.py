"""The list of scenarios: name -> (function, summary, configuration)."""

IPV4_ALONE = "[log]\nlevel=-3\n[ports]\nIPv6=disable\n[multicast]\nResolveScope=machine\n" "[lab]\nSessionID=golden\n"
SCENARIOS = {}


def scenario(summary, config=IPV4_ALONE):
    def add(function):
        SCENARIOS[function.__name__] = (function, summary, config)
        return function

    return add
