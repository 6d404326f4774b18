"""A collector of traces made of OpenTelemetry's own Python packages, as the other side of the exporter.

    collector.py [STATUS ...]        answers the first requests with these statuses, and 200 afterwards

Prints its port, then one line of JSON for each request it took: the spans as OpenTelemetry's generated classes read them,
and what OpenTelemetry's conventions do not know. A request that those classes do not read, or of which they would drop
something, is answered 400 and printed with why.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest, ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv._incubating.attributes import http_attributes as more_http_attributes
from opentelemetry.semconv.attributes import error_attributes, http_attributes, service_attributes
from opentelemetry.semconv._incubating.attributes import service_attributes as more_service_attributes

MODULES = [
    gen_ai_attributes, http_attributes, more_http_attributes, error_attributes, service_attributes,
    more_service_attributes,
]
# Names that the conventions have replaced by others.
REPLACED = ("gen_ai.system", "gen_ai.prompt", "gen_ai.completion", "gen_ai.usage.prompt_tokens",
            "gen_ai.usage.completion_tokens")
NAMES = {value for module in MODULES for value in vars(module).values() if isinstance(value, str)} - set(REPLACED)
OPERATIONS = {one.value for one in gen_ai_attributes.GenAiOperationNameValues}


def plain(value):
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [plain(one) for one in value.array_value.values]
    return getattr(value, kind)


def attributes(pairs):
    names = [pair.key for pair in pairs]
    if len(set(names)) != len(names):
        raise ValueError(f"a name stands twice: {names}")
    return {pair.key: plain(pair.value) for pair in pairs}


def unknown(found):
    """What is neither the conventions' nor, by its name, the exporter's own."""
    names = [name for name in found if name not in NAMES and not name.startswith("chancery.")]
    operation = found.get(gen_ai_attributes.GEN_AI_OPERATION_NAME)
    if operation is not None and operation not in OPERATIONS:
        names.append(f"operation {operation}")
    return names


def read(body):
    request = ExportTraceServiceRequest.FromString(body)
    if request.SerializeToString() != body:
        raise ValueError("the classes write it otherwise: a field is unknown, or not as it is written")
    spans, strange = [], []
    for of_resource in request.resource_spans:
        resource = attributes(of_resource.resource.attributes)
        strange += unknown(resource)
        for scoped in of_resource.scope_spans:
            for span in scoped.spans:
                if len(span.trace_id) != 16 or len(span.span_id) != 8 or not any(span.span_id):
                    raise ValueError("an id has another length, or is nothing")
                if span.end_time_unix_nano < span.start_time_unix_nano:
                    raise ValueError(f"`{span.name}` ends before it begins")
                found = attributes(span.attributes)
                events = [
                    {"name": event.name, "at": event.time_unix_nano, "attributes": attributes(event.attributes)}
                    for event in span.events
                ]
                strange += unknown(found)
                strange += [name for event in events for name in unknown(event["attributes"])]
                spans.append({
                    "trace": span.trace_id.hex(),
                    "id": span.span_id.hex(),
                    "parent": span.parent_span_id.hex(),
                    "name": span.name,
                    "kind": Span.SpanKind.Name(span.kind),
                    "began": span.start_time_unix_nano,
                    "ended": span.end_time_unix_nano,
                    "attributes": found,
                    "events": events,
                    "status": Status.StatusCode.Name(span.status.code),
                    "resource": resource,
                })
    return {"spans": spans, "strange": strange}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    statuses = [int(status) for status in sys.argv[1:]]

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.statuses:
            return self.answer(self.statuses.pop(0), b"")
        try:
            if self.path != "/v1/traces" or self.headers["content-type"] != "application/x-protobuf":
                raise ValueError(f"{self.path} {self.headers['content-type']}")
            told = read(body)
            told["authorization"] = self.headers["authorization"]
            print(json.dumps(told), flush=True)
            self.answer(200, ExportTraceServiceResponse().SerializeToString())
        except Exception as why:
            print(json.dumps({"wrong": str(why)}), flush=True)
            self.answer(400, b"")

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
