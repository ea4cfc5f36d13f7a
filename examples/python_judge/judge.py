#!/usr/bin/env python3
"""A judge of pages for Apprentice: counts words, says how relevant a page is.

    pip install 'grpcio>=1.66' 'grpcio-tools>=1.66'
    python judge.py topics.toml --listen 127.0.0.1:7800

It implements the service of proto/apprentice/v1/judge.proto; how good it is at judging is not the point.
Replace `Words` by whatever you have.
"""

import argparse
import math
import os
import signal
import sys
import threading
import tomllib
import zlib
from collections import Counter
from concurrent import futures

import grpc

HERE = os.path.dirname(os.path.abspath(__file__))
OTHER = "other"


def load_protos(folder):
    """The messages and the service, generated from the .proto file by grpcio-tools while we start."""
    sys.path.insert(0, folder)
    return grpc.protos_and_services("apprentice/v1/judge.proto")


class Words:
    """A topic is a list of words. A page gets for each of its topic's words ln(1 + how often it has it),
    less what `other` gets for nothing; the softmax of that are the probabilities of the classes."""

    # What a page must have in words before a topic is as likely as `other`.
    threshold = 4.0

    def __init__(self, text):
        topics = tomllib.loads(text)
        self.topics = {name: words.split() for name, words in topics.items()}
        self.classes = [*self.topics, OTHER]
        # Another list judges otherwise, so it is another version.
        self.version = zlib.crc32(text.encode())

    def judge(self, text):
        """ln Pr(class | page) for each class, in the order of `classes`."""
        count = Counter(text.split())
        scores = [
            sum(math.log1p(count[word]) for word in words) - self.threshold
            for words in self.topics.values()
        ]
        scores.append(0.0)
        total = log_sum_exp(scores)
        return [score - total for score in scores]


def log_sum_exp(scores):
    largest = max(scores)
    return largest + math.log(sum(math.exp(score - largest) for score in scores))


def service(protos, services, words):
    class PageJudge(services.PageJudgeServicer):
        def Describe(self, request, context):
            check_topics(request.topics, words, context)
            return protos.DescribeResponse(
                name=f"word counts over {len(words.topics)} topics",
                version=words.version,
                classes=words.classes,
            )

        def JudgeBatch(self, request, context):
            check_topics(request.topics, words, context)
            return protos.JudgeBatchResponse(
                verdicts=[self.verdict(page, set(request.topics)) for page in request.pages],
                version=words.version,
            )

        def verdict(self, page, focus):
            logs = words.judge(page.title.lower() + " " + page.text)
            both = sorted(zip(words.classes, logs), key=lambda both: -both[1])
            inside = log_sum_exp([log for name, log in both if name in focus])
            outside = log_sum_exp([log for name, log in both if name not in focus])
            return protos.Verdict(
                log_odds=inside - outside,
                best=[protos.JudgedClass(name=n, log_posterior=min(l, 0.0)) for n, l in both[:5]],
                near_focus=both[0][0] in focus,
            )

    return PageJudge()


def check_topics(topics, words, context):
    unknown = [topic for topic in topics if topic not in words.topics]
    if unknown or not topics:
        there_are = ", ".join(words.topics)
        context.abort(grpc.StatusCode.NOT_FOUND, f"no topic {unknown}; there are {there_are}")


class AskForToken(grpc.ServerInterceptor):
    """Refuses calls that do not show the token."""

    def __init__(self, token):
        self.expected = ("authorization", f"Bearer {token}")
        self.refuse = grpc.unary_unary_rpc_method_handler(
            lambda _, context: context.abort(grpc.StatusCode.UNAUTHENTICATED, "not the token")
        )

    def intercept_service(self, continuation, details):
        if self.expected in details.invocation_metadata:
            return continuation(details)
        return self.refuse


def read(path, mode="r"):
    with open(path, mode) as file:
        return file.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("topics", help="TOML file: TOPIC = \"its words\"")
    parser.add_argument("--listen", default="127.0.0.1:7800", help="HOST:PORT or unix:/PATH")
    parser.add_argument("--tls-cert", help="PEM; needed for clients on other machines")
    parser.add_argument("--tls-key")
    parser.add_argument("--token-file")
    parser.add_argument("--proto", default=os.path.join(HERE, "..", "..", "proto"),
                        help="folder that holds apprentice/v1/judge.proto")
    args = parser.parse_args()

    protos, services = load_protos(args.proto)
    words = Words(read(args.topics))
    guard = [AskForToken(read(args.token_file).strip())] if args.token_file else []
    server = grpc.server(futures.ThreadPoolExecutor(4), interceptors=guard)
    services.add_PageJudgeServicer_to_server(service(protos, services, words), server)
    if args.tls_cert:
        pair = (read(args.tls_key, "rb"), read(args.tls_cert, "rb"))
        port = server.add_secure_port(args.listen, grpc.ssl_server_credentials([pair]))
    else:
        port = server.add_insecure_port(args.listen)
    server.start()
    address = args.listen if args.listen.startswith("unix:") else f"{args.listen.rsplit(':', 1)[0]}:{port}"
    print(f"judges {', '.join(words.topics)} (version {words.version}) on {address}", flush=True)

    stopped = threading.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, lambda *_: stopped.set())
    stopped.wait()
    server.stop(grace=2).wait()


if __name__ == "__main__":
    main()
