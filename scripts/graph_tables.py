"""The scores of crawlers on graphs, a column a graph, as a table in Markdown.

    python3 scripts/graph_tables.py REPORT [REPORT ..] --at 100 1000 [--crawlers A B ..] [--lost]
    python3 scripts/graph_tables.py --precision FILE.json [FILE.json ..]

REPORT is the --out folder of `apprentice lab graph run`, or of an experiment on a graph. Each cell is the
score by the oracle's after each n of --at that the crawls of the report have, mean of the seed sets; "all": the
geometric mean over the graphs of the report. With --lost it is what is lost against the oracle, in percent. --precision reads precision.json of `apprentice lab
graph precision`: the correlation of the plain sum, and of its logarithm, with the score over waiting nodes; and
R^2 over the nodes that the oracle takes.
"""

import argparse
import csv
import json
import pathlib


def read(report):
    scores, graphs, crawlers = {}, [], []
    with open(pathlib.Path(report) / "global.csv") as file:
        for row in csv.DictReader(file):
            graph, crawler = row["graph"], row["crawler"]
            scores[crawler, graph, int(row["n"])] = row["by_oracle"]
            if graph not in graphs:
                graphs.append(graph)
            if crawler not in crawlers:
                crawlers.append(crawler)
    # Of a single graph the mean over all says nothing more.
    return scores, [g for g in graphs if g != "*" or len(graphs) > 2], crawlers


def cell(value, lost):
    if value in ("", None):
        return ""
    if lost:
        # Adding 0 makes a zero of -0.
        return f"{round(100 - 100 * float(value), 1) + 0:.1f}"
    return f"{float(value):.3f}".removeprefix("0")


def scores(args):
    reports = [read(report) for report in args.report]
    columns = [(known, graph) for known, graphs, _ in reports for graph in graphs]
    names = list(dict.fromkeys(name for _, _, crawlers in reports for name in crawlers))
    names = args.crawlers or names
    print("| crawler |", *(f" {'all' if graph == '*' else graph} |" for _, graph in columns), sep="")
    print("|---" * (1 + len(columns)), "|", sep="")
    for name in names:
        cells = []
        for known, graph in columns:
            values = [cell(known.get((name, graph, n)), args.lost) for n in args.at]
            cells.append(" ".join(value for value in values if value))
        print("|", " | ".join([name, *cells]), "|")


def precision(paths):
    found = {}
    for path in paths:
        found.update(json.loads(pathlib.Path(path).read_text()))
    names = list(dict.fromkeys(one["crawler"] for rows in found.values() for one in rows))
    print("| estimator |", *(f" {graph} |" for graph in found), sep="")
    print("|---" * (1 + len(found)), "|", sep="")
    for name in names:
        cells = []
        for rows in found.values():
            one = next((one for one in rows if one["crawler"] == name), None)
            if one is None:
                cells.append("")
                continue
            waiting = one["waiting"]
            values = [waiting["pearson_unsmoothed"], waiting["pearson"]]
            # Sums are no predictions.
            if name.startswith("lr_"):
                values.append(one["fetched"]["r2"])
            # Adding 0 makes a zero of -0.
            cells.append(" / ".join(f"{round(value, 2) + 0:.2f}" for value in values))
        print("|", " | ".join([name, *cells]), "|")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("report", nargs="*")
    parser.add_argument("--at", nargs="+", type=int, default=[100, 1000, 10000])
    parser.add_argument("--crawlers", nargs="+")
    parser.add_argument("--lost", action="store_true")
    parser.add_argument("--precision", nargs="+")
    args = parser.parse_args()
    if args.precision:
        return precision(args.precision)
    scores(args)


main()
