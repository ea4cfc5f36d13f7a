"""What a crawler of the lab gains over the baseline, against what the oracle could.

    python3 scripts/gains.py ftrl REPORT [REPORT ..] [--reach REPORT]

REPORT is the --out folder of `apprentice lab run` with the crawlers baseline, oracle and the one that is
named. Each pair of topic and seed set is a case by itself, at 10, 25, 50 and 90 % of the relevant pages
that can be reached, and at 250, 500, 1,000 and 2,000 fetches as far as that number goes; --reach is a run
of breadth-first with the same seeds and a budget that leaves nothing over, which counts them (without
it all of the grid is used). Losses are the judge's.

A case has room if the oracle loses at most 0.7 of what the baseline loses, and at least 20 pages less.
cut = 1 - L / L_baseline; G = (L_baseline - L) / (L_baseline - L_oracle). Harm is a case where, at some n
from 100 on, L is above 1.03 L_baseline + 5.
"""

import argparse
import collections
import csv
import pathlib
import statistics


def read(report):
    runs = collections.defaultdict(dict)
    for row in csv.DictReader(open(pathlib.Path(report) / "curves.csv")):
        curve = runs[row["topic"], row["seed_set"]].setdefault(row["crawler"], {})
        curve[int(row["n"])] = float(row["loss_judge"]), int(row["relevant_judge"])
    return runs


def places(grid, reachable):
    if reachable is None:
        return sorted(n for n in grid if n >= 100), max(grid)
    wanted = [share * reachable for share in (0.1, 0.25, 0.5, 0.9)]
    wanted += [n for n in (250, 500, 1000, 2000) if n <= 0.9 * reachable]
    near = {min(grid, key=lambda n: abs(n - want)) for want in wanted if want >= 75}
    return sorted(near), 0.9 * reachable + 50


def main():
    parser = argparse.ArgumentParser(usage=__doc__.replace("%", "%%"))
    parser.add_argument("system")
    parser.add_argument("report", nargs="+")
    parser.add_argument("--reach")
    args = parser.parse_args()
    reach = {}
    for case, run in (read(args.reach) if args.reach else {}).items():
        curve = run["breadth-first"]
        reach[case] = curve[max(curve)][1]
    cuts, shares, harm, cases = collections.defaultdict(list), collections.defaultdict(list), [], 0
    for report in args.report:
        for case, run in sorted(read(report).items()):
            system, baseline, oracle = run[args.system], run["baseline"], run["oracle"]
            at, most = places([n for n in system if n in baseline and n in oracle], reach.get(case))
            cases += 1
            worst = max(
                ((system[n][0] - 1.03 * baseline[n][0] - 5, n) for n in system if 100 <= n <= most and n in baseline),
                default=(0, 0),
            )
            if worst[0] > 0:
                n = worst[1]
                harm.append(f"{report} {case[0]}, seed set {case[1]}: {system[n][0]:.0f} against {baseline[n][0]:.0f} at {n}")
            for n in at:
                lost, base, best = system[n][0], baseline[n][0], oracle[n][0]
                if best <= 0.7 * base and base - best >= 20:
                    cuts[case[0]].append(1 - lost / base)
                    shares[case[0]].append((base - lost) / (base - best))
    for topic in cuts:
        print(f"{topic:20} {len(cuts[topic]):3} places with room: cut {statistics.median(cuts[topic]):.2f}, G {statistics.median(shares[topic]):.2f} (medians)")
    every_cut = [cut for topic in cuts.values() for cut in topic]
    every_share = [share for topic in shares.values() for share in topic]
    if every_cut:
        print(f"{'all':20} {len(every_cut):3} places with room: cut {statistics.median(every_cut):.2f}, G {statistics.median(every_share):.2f} (medians)")
    print(f"harm in {len(harm)} of {cases} crawls", *harm, sep="\n  ")


main()
