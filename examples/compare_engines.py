"""Compare two search engines.

    python examples/compare_engines.py [MODEL]

The results are in this file. A program has them from its engines, or from `judge collect`.
"""

from __future__ import annotations

import re
import sys

import judge

#: What each engine returned for each query, best first.
RESULTS = {
    "how to descale a kettle": {
        "harbour": [
            "Fill the kettle with equal parts of water and vinegar, boil it, and leave it for an hour.",
            "A kettle should be descaled every four to eight weeks where the water is hard.",
        ],
        "meadow": [
            "Ten kettles in our test of the year, with prices and colours.",
            "Descale a kettle with citric acid: two spoons in a litre of water, then boil it.",
        ],
    },
    "opening hours of the city library": {
        "harbour": ["The city library: opening hours, Monday to Friday 9 to 19, Saturday 10 to 16."],
        "meadow": ["The history of the city library, which opened in 1903."],
    },
}


def main() -> None:
    """Judge the results with the model of the command line, and print means, comparisons and reasons."""
    rows = [
        {"query": query, "engine": engine, "rank": rank, "snippet": snippet}
        for query, engines in RESULTS.items()
        for engine, snippets in engines.items()
        for rank, snippet in enumerate(snippets, start=1)
    ]
    model = sys.argv[1] if len(sys.argv) > 1 else "lexical"
    result = judge.run(rows, model, out="runs/example-" + re.sub(r"\W+", "-", model))
    print(result.engines[["nDCG@10", "AP@10"]])
    for pair in result.summary.comparisons:
        if pair.decides:
            print(f"{pair.a} and {pair.b}, {pair.measure}: {pair.conclusion}, {pair.difference:+.3f}")
    print(result.verdicts[["query_id", "grade", "reason"]].to_string(index=False))
    print(f"the report: {result.folder}/report.html")


if __name__ == "__main__":
    main()
