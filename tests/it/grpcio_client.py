"""A client of the daemon that nobody wrote for it: grpcio, which knows the service by reflection.

Usage: grpcio_client.py ADDRESS CREATE_CRAWL_REQUEST [CA_FILE TOKEN_FILE]

CREATE_CRAWL_REQUEST is that message as JSON. Prints what it saw as one JSON object.
"""

import json
import sys

import grpc
from google.protobuf import json_format, message_factory
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

SERVICE = "apprentice.v1.Crawler"
DEADLINE_SECONDS = 60


class Daemon:
    """Calls methods by name; messages are dictionaries."""

    def __init__(self, channel, token):
        self.channel = channel
        self.metadata = [("authorization", f"Bearer {token}")] if token else []
        self.database = ProtoReflectionDescriptorDatabase(channel)
        self.pool = DescriptorPool(self.database)

    def call(self, service, name, request):
        """The answers to a call, one or as many as the stream has."""
        method = self.pool.FindServiceByName(service).FindMethodByName(name)
        to_request = message_factory.GetMessageClass(method.input_type)
        to_answer = message_factory.GetMessageClass(method.output_type)
        make = self.channel.unary_stream if method.server_streaming else self.channel.unary_unary
        stub = make(
            f"/{service}/{name}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=to_answer.FromString,
        )
        message = json_format.ParseDict(request, to_request())
        answer = stub(message, metadata=self.metadata, timeout=DEADLINE_SECONDS)
        for item in answer if method.server_streaming else [answer]:
            yield json_format.MessageToDict(item, preserving_proto_field_name=True)

    def one(self, name, request, service=SERVICE):
        return next(self.call(service, name, request))


def channel_to(address, ca_file):
    if ca_file is None:
        return grpc.insecure_channel(address)
    with open(ca_file, "rb") as file:
        credentials = grpc.ssl_channel_credentials(root_certificates=file.read())
    return grpc.secure_channel(address, credentials)


def code_of(call):
    """The name of the status that a call fails with."""
    try:
        call()
    except grpc.RpcError as error:
        return error.code().name
    return "OK"


def main(address, create, ca_file=None, token_file=None):
    token = None
    if token_file is not None:
        with open(token_file, encoding="ascii") as file:
            token = file.read().strip()
    with channel_to(address, ca_file) as channel:
        daemon = Daemon(channel, token)
        create = json.loads(create)
        name = {"name": create["spec"]["name"]}
        seen = {
            "services": sorted(daemon.database.get_services()),
            "health": daemon.one("Check", {"service": SERVICE}, "grpc.health.v1.Health")["status"],
            "version": daemon.one("GetDaemon", {})["version"],
            "without_token": code_of(lambda: Daemon(channel, None).one("GetDaemon", {})),
            "unknown": code_of(lambda: daemon.one("GetCrawl", {"name": "nowhere"})),
            "created": daemon.one("CreateCrawl", create)["state"],
            "watched": list(daemon.call(SERVICE, "WatchCrawl", {**name, "interval_ms": 100})),
            "loss": list(daemon.call(SERVICE, "GetLoss", name)),
            "pages": list(daemon.call(SERVICE, "ExportPages", name)),
        }
    json.dump(seen, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
