"""Is the critic's naive Bayes that of scikit-learn, and how much faster is it?

    python3 -m venv target/sklearn && target/sklearn/bin/pip install scikit-learn
    cargo bench --no-run --bench critic_scale          (prints the path of BENCH)
    target/sklearn/bin/python scripts/against_sklearn.py equal BENCH counts.svm ALPHA [FOLDS]
    target/sklearn/bin/python scripts/against_sklearn.py time  BENCH counts.svm ALPHA

counts.svm comes from `apprentice critic counts MODEL EXAMPLES --out DIR` or from `BENCH write FILE`.

equal: each K-th document is predicted from the others by both, same counts, same vocabulary, flat
priors, float64 on both sides of the comparison; every difference is printed with its margin.
time: both fit all documents and predict all of them from counts that lie in memory (CSR). Timed are
MultinomialNB.fit and .predict there, here Fit::fit with SparseNb::labeller, which takes the logarithms
as fit does there, and Labeller::predict, by the clock, best and median of as many rounds as ten seconds
hold.
scikit-learn uses one core; fit here as well, predict two where that is worth its while (with
`taskset -c 0` before the command it has one). Reading the file is not timed on either side. The labels
of all documents are compared.
"""

import os
import subprocess
import sys
import tempfile
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.naive_bayes import MultinomialNB


# Log likelihoods of whole documents are sums of hundreds of numbers; here they are summed in float32.
TIE = 1e-2


def load(path):
    counts, labels = load_svmlight_file(path, zero_based=True)
    return counts, labels.astype(int)


def critic(alpha):
    return MultinomialNB(alpha=alpha, fit_prior=False, force_alpha=True)


def equal(bench, path, alpha, folds=5):
    counts, labels = load(path)
    theirs = np.zeros(len(labels), dtype=int)
    margin = np.zeros(len(labels))
    for fold in range(folds):
        out = np.arange(len(labels)) % folds == fold
        model = critic(alpha).fit(counts[~out], labels[~out])
        joint = model.predict_joint_log_proba(counts[out])
        theirs[out] = model.classes_[joint.argmax(axis=1)]
        joint.sort(axis=1)
        margin[out] = joint[:, -1] - joint[:, -2]
    with tempfile.NamedTemporaryFile("r") as out:
        subprocess.run([bench, "folds", path, str(alpha), str(folds), out.name], check=True)
        lines = [line.split() for line in out]
    ours = np.array([int(line[0]) for line in lines])
    our_margin = np.array([float(line[1]) for line in lines])
    differ = np.flatnonzero(ours != theirs)
    print(
        f"{path}: {len(labels)} documents, {counts.shape[1]} terms, {labels.max() + 1} classes, "
        f"alpha {alpha}, {folds} folds: {len(differ)} predictions differ; accuracy "
        f"{(ours == labels).mean():.4f} here, {(theirs == labels).mean():.4f} there; "
        f"margins differ by at most {np.abs(margin - our_margin).max():.1e}"
    )
    empty = np.asarray(counts.sum(axis=1)).ravel() == 0
    unexplained = 0
    for place in differ:
        if empty[place]:
            why = "no known term: all classes tie"
        elif max(margin[place], our_margin[place]) < TIE:
            why = "a tie in floating point"
        else:
            why = "NO TIE: unexplained"
            unexplained += 1
        print(
            f"  document {place} (class {labels[place]}): here {ours[place]}, there {theirs[place]}; "
            f"best and second best differ by {margin[place]:.1e} there, {our_margin[place]:.1e} here: {why}"
        )
    if unexplained:
        sys.exit(f"{unexplained} differences are unexplained")


def rounds_of(run):
    """Best and median of as many rounds as ten seconds hold, and what the last one made."""
    rounds, begun = [], time.perf_counter()
    while time.perf_counter() - begun < 10:
        start = time.perf_counter()
        made = run()
        rounds.append(time.perf_counter() - start)
    return (min(rounds), float(np.median(rounds))), made


def timed(bench, path, alpha):
    counts, labels = load(path)
    fit, model = rounds_of(lambda: critic(alpha).fit(counts, labels))
    predict, theirs = rounds_of(lambda: model.predict(counts))
    with tempfile.NamedTemporaryFile("r") as out:
        run = subprocess.run(
            [bench, "time", path, str(alpha), out.name], check=True, capture_output=True, text=True
        )
        ours = np.array([int(line) for line in out])
    seconds = dict(line.split(": ") for line in run.stdout.splitlines())
    print(
        f"{path}: {len(labels)} documents, {counts.nnz} counts of {counts.shape[1]} terms, "
        f"{len(set(labels))} classes, alpha {alpha}, {len(os.sched_getaffinity(0))} cores; "
        f"{(ours != theirs).sum()} labels differ"
    )
    for what, there in (("fit", fit), ("predict", predict)):
        here = [float(word) for word in seconds[what].split()]
        print(
            f"  {what}: best {there[0] * 1e3:.2f} ms there, {here[0] * 1e3:.2f} here: "
            f"{there[0] / here[0]:.1f} times; median {there[1] * 1e3:.2f} ms there, "
            f"{here[1] * 1e3:.2f} here: {there[1] / here[1]:.1f} times"
        )


if __name__ == "__main__":
    mode, bench, path, alpha, *rest = sys.argv[1:]
    run = {"equal": equal, "time": timed}[mode]
    run(bench, path, float(alpha), *map(int, rest))
