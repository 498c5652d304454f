"""Makes statistics_reference.json: what scipy says about shared data.

    pip install scipy && python3 bench/tests/statistics_reference.py

`tests/statistics.rs` compares the crate with it. `--check` compares the committed table with a fresh one.
"""

import json
import math
import pathlib
import sys

import numpy
from scipy import stats

MASK = (1 << 64) - 1


class Resampler:
    """The crate's own generator, so that both resample alike."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, bound):
        return (self.next() * bound) >> 64

    def unit(self):
        return self.next() / 2.0**64

    def distribution(self, values, statistic, count):
        return [statistic([values[self.below(len(values))] for _ in values]) for _ in range(count)]


PUBLISHED = {
    "ethernet": ([69.68, 75.90, 81.71, 81.81, 77.77], [71.95, 78.51, 84.16, 79.59, 76.76]),
    "wifi": ([76.07, 76.17, 77.54, 79.90, 82.90], [75.93, 76.68, 78.54, 81.22, 84.47]),
}


def pairs():
    """The published data, and skewed, tied and large sets of our own."""
    yield from PUBLISHED.items()
    source = Resampler(7)
    skewed = [math.exp(2 * source.unit()) for _ in range(25)]
    yield "skewed", (skewed, [value * 1.05 + 0.3 * (source.unit() - 0.5) for value in skewed])
    tied = [source.below(9) for _ in range(20)]
    yield "tied", (tied, [value + source.below(5) - 1 for value in tied])
    large = [100 + 10 * source.unit() for _ in range(80)]
    yield "large", (large, [value + source.unit() - 0.4 for value in large])


def paired(first, second):
    difference = numpy.subtract(second, first)
    t = stats.ttest_rel(second, first)
    interval = t.confidence_interval(0.95)
    kept = difference[difference != 0]
    if len(kept) <= 50:
        ranks = stats.rankdata(numpy.abs(kept)) * 2
        if len(set(ranks)) == len(ranks):
            p = stats.wilcoxon(kept, method="exact").pvalue
        else:
            # scipy's exact method knows no ties: count every assignment of signs here.
            ways = {0: 1}
            for rank in map(int, ranks):
                grown = dict(ways)
                for total, count in ways.items():
                    grown[total + rank] = grown.get(total + rank, 0) + count
                ways = grown
            positive = int(ranks[kept > 0].sum())
            low = sum(count for total, count in ways.items() if total <= positive)
            high = sum(count for total, count in ways.items() if total >= positive)
            p = min(1.0, 2 * min(low, high) / 2 ** len(kept))
    else:
        p = stats.wilcoxon(kept, method="approx", correction=False).pvalue
    margin = 2.0
    low = stats.ttest_1samp(difference, -margin, alternative="greater").pvalue
    high = stats.ttest_1samp(difference, margin, alternative="less").pvalue
    return {
        "t": t.statistic, "p": t.pvalue, "low": interval.low, "high": interval.high,
        "wilcoxon_w": stats.wilcoxon(kept, method="approx").statistic, "wilcoxon_p": p,
        "d_paired": difference.mean() / difference.std(ddof=1),
        "d_pooled": difference.mean() / math.sqrt((numpy.var(first, ddof=1) + numpy.var(second, ddof=1)) / 2),
        "margin": margin, "tost_low": low, "tost_high": high,
    }


class Ready:
    """A bootstrap result that scipy takes as the distribution made so far."""

    def __init__(self, distribution):
        self.bootstrap_distribution = numpy.array(distribution)


def bootstrap(values, name):
    statistic = {"mean": numpy.mean, "median": numpy.median}[name]
    drawn = Resampler(42).distribution(values, lambda drawn: float(statistic(drawn)), 1999)
    result = stats.bootstrap((values,), statistic, n_resamples=0, method="BCa", vectorized=True,
                             bootstrap_result=Ready(drawn))
    return {"values": values, "statistic": name, "low": result.confidence_interval.low,
            "high": result.confidence_interval.high}


def quantiles(values):
    for p in (0.05, 0.5, 0.9, 0.99):
        interval = stats.quantile_test(values, q=0, p=p).confidence_interval(0.95)
        yield {"values": sorted(values), "p": p, "quantile": float(numpy.quantile(values, p)),
               "low": none(interval.low), "high": none(interval.high)}


def none(value):
    return None if math.isnan(value) else value


def power(d, pairs):
    critical = stats.t.ppf(0.975, pairs - 1)
    shift = d * math.sqrt(pairs)
    return stats.nct.sf(critical, pairs - 1, shift) + stats.nct.cdf(-critical, pairs - 1, shift)


def needed(d):
    pairs = 2
    while power(d, pairs) < 0.8:
        pairs += 1
    return pairs


def table():
    cases = dict(pairs())
    p_values = [paired(*case)["p"] for case in cases.values()] + [0.2, 0.011, 0.011]
    order = numpy.argsort(p_values, kind="stable")
    holm, floor = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        floor = min(1.0, max(floor, (len(p_values) - rank) * p_values[index]))
        holm[index] = floor
    skewed = cases["skewed"][0]
    return {
        "made_by": f"scipy {__import__('scipy').__version__}, numpy {numpy.__version__}",
        "paired": [{"name": name, "first": list(map(float, a)), "second": list(map(float, b)), **paired(a, b)}
                   for name, (a, b) in cases.items()],
        "bootstrap": [bootstrap(values, name) for values in (skewed, cases["ethernet"][0])
                      for name in ("mean", "median")],
        "quantiles": [row for values in (skewed, cases["large"][0] * 5) for row in quantiles(values)],
        "holm": {"p": p_values, "adjusted": holm},
        "noncentral_t": [{"t": t, "freedom": freedom, "shift": shift, "cdf": float(stats.nct.cdf(t, freedom, shift))}
                         for t in (-1.5, 0.3, 2.1, 6.0) for freedom in (4, 30) for shift in (-0.7, 0.5, 3.0)],
        "power": [{"d": d, "pairs": pairs, "power": float(power(d, pairs))}
                  for d in (0.2, 0.5, 1.25) for pairs in (5, 20, 40)],
        "needed_pairs": [{"d": d, "pairs": needed(d)} for d in (0.2, 0.362, 0.5, 1.25)],
    }


def differs(old, new, path=""):
    if isinstance(new, dict):
        return [line for key in new for line in differs(old.get(key), new[key], f"{path}/{key}")]
    if isinstance(new, list):
        return [line for index, item in enumerate(new) for line in differs(old[index], item, f"{path}/{index}")]
    if isinstance(new, float) and old is not None:
        return [] if math.isclose(old, new, rel_tol=1e-9, abs_tol=1e-12) else [f"{path}: {old} is now {new}"]
    return [] if old == new or path == "/made_by" else [f"{path}: {old} is now {new}"]


if __name__ == "__main__":
    place = pathlib.Path(__file__).with_suffix(".json")
    fresh = json.loads(json.dumps(table()))
    if "--check" in sys.argv:
        wrong = differs(json.loads(place.read_text()), fresh)
        print("\n".join(wrong) or f"{place.name} equals {fresh['made_by']}")
        sys.exit(bool(wrong))
    place.write_text(json.dumps(fresh, indent=1, allow_nan=False) + "\n")
