"""The loss of each crawler as a table in Markdown, with what else counts beside it.

    python3 scripts/tables.py REPORT [REPORT ..] --at 250 1000 [--critic]

REPORT is the --out folder of `apprentice lab run`; its name stands in the first column. Each cell is the
mean of the seed sets (least - greatest) at the n of --at, as far as every set came. "unseen": the loss a
page, in percent, on pages that the critic was not trained on, at the last n. "elsewhere": relevant pages
on hosts that no seed lies on, at the last n. Losses are the judge's where there are labels. With --critic
the loss by the guiding critic stands in brackets instead, and a cell says how many sets came so far if not all did.
"""

import argparse
import collections
import csv
import pathlib


def read(report):
    cases = collections.defaultdict(lambda: collections.defaultdict(dict))
    with open(pathlib.Path(report) / "curves.csv") as file:
        for row in csv.DictReader(file):
            cases[row["topic"], row["crawler"]][row["seed_set"]][int(row["n"])] = row
    return cases


def cell(values, digits=0):
    mean = sum(values) / len(values)
    return f"{mean:.{digits}f} ({min(values):.{digits}f} - {max(values):.{digits}f})"


def by_critic(args):
    print("| topic | crawler |", *(f" L({n}) |" for n in args.at), sep="")
    print("|---" * (2 + len(args.at)), "|", sep="")
    for report in args.report:
        last = None
        for (topic, crawler), sets in read(report).items():
            cells = []
            for n in args.at:
                rows = [rows[n] for rows in sets.values() if n in rows]
                if not rows:
                    cells.append("")
                    continue
                judge = cell([float(row["loss_judge"]) for row in rows])
                critic = sum(float(row["loss_critic"]) for row in rows) / len(rows)
                few = f", {len(rows)} sets" if len(rows) < len(sets) else ""
                cells.append(f"{judge} [{critic:.0f}]{few}")
            print("|", " | ".join(["" if topic == last else topic, crawler, *cells]), "|")
            last = topic


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("report", nargs="+")
    parser.add_argument("--at", nargs="+", type=int, required=True)
    parser.add_argument("--critic", action="store_true")
    args = parser.parse_args()
    if args.critic:
        return by_critic(args)
    print("| run | topic | crawler |", *(f" L({n}) |" for n in args.at), " unseen, % | elsewhere |", sep="")
    print("|---" * (5 + len(args.at)), "|", sep="")
    for report in args.report:
        for (topic, crawler), sets in read(report).items():
            cells = []
            for n in args.at:
                rows = [rows[n] for rows in sets.values() if n in rows]
                losses = [float(row["loss_judge"] or row["loss_critic"]) for row in rows]
                cells.append(cell(losses) if len(rows) == len(sets) else "")
            ends = [rows[max(rows)] for rows in sets.values()]
            unseen = [100 * float(row["loss_unseen"]) / max(int(row["n_unseen"]), 1) for row in ends]
            elsewhere = [int(row["relevant_elsewhere"]) for row in ends]
            name = pathlib.Path(report).name
            print("|", " | ".join([name, topic, crawler, *cells, cell(unseen), cell(elsewhere)]), "|")


main()
