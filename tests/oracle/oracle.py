"""The vendors' own libraries as the other side of the model plugins.

    oracle.py serve                  a server whose requests are checked, and whose answers are made, by their types
    oracle.py read VENDOR BASE_URL   their client, asking whoever is there, and what it understood of the answer

`serve` prints its port. It answers 400, with what is wrong, to a request that its types do not take or of which they
would drop something. Its answer calls the first tool on offer once, and finishes when a result came back.
"""

import json
import sys
import typing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

if sys.argv[1] == "serve":
    # Their types say `Iterable` where a list is meant, and pydantic reads one lazily, outside its own definitions.
    typing.Iterable = typing.List

import pydantic


def plain(value):
    """The value without models in it."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, pydantic.BaseModel):
        return value.model_dump(mode="json", exclude_unset=True)
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value


def checked(kind, body):
    """Raises when `body` is not of `kind`, or has what `kind` does not know."""
    read = plain(pydantic.TypeAdapter(kind).validate_python(body))
    if read != body:
        raise ValueError(f"the types drop something: {lost(body, read, '')}")


def lost(asked, read, path):
    if isinstance(asked, dict) and isinstance(read, dict):
        for key, value in asked.items():
            if key not in read:
                return f"{path}/{key}"
            if value != read[key]:
                return lost(value, read[key], f"{path}/{key}")
    if isinstance(asked, list) and isinstance(read, list):
        for number, (one, other) in enumerate(zip(asked, read)):
            if one != other:
                return lost(one, other, f"{path}/{number}")
    return f"{path}: {asked!r} became {read!r}"


# Anthropic


def messages_events(body):
    from anthropic.types.beta import (
        BetaMessage, BetaMessageDeltaUsage, BetaRawContentBlockDeltaEvent, BetaRawContentBlockStartEvent,
        BetaRawContentBlockStopEvent, BetaRawMessageDeltaEvent, BetaRawMessageStartEvent, BetaRawMessageStopEvent,
    )
    from anthropic.types.beta.message_create_params import MessageCreateParamsStreaming

    checked(MessageCreateParamsStreaming, body)
    validate = lambda kind, value: kind.model_validate(value)
    usage = {"input_tokens": 100, "cache_creation_input_tokens": 40, "cache_read_input_tokens": 60, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": [],
               "stop_reason": None, "stop_sequence": None, "usage": usage}
    yield validate(BetaRawMessageStartEvent, {"type": "message_start", "message": message})
    name, input, stop = answer([tool["name"] for tool in body.get("tools", [])], json.dumps(body["messages"]))
    block = {"type": "thinking", "thinking": "", "signature": ""}
    blocks = [(block, [{"type": "thinking_delta", "thinking": "Hm."}, {"type": "signature_delta", "signature": "c2ln"}])]
    if name is None:
        deltas = [{"type": "text_delta", "text": half} for half in ("All ", "read.")]
        blocks.append(({"type": "text", "text": ""}, deltas))
    else:
        cut = len(input) // 2
        deltas = [{"type": "input_json_delta", "partial_json": half} for half in (input[:cut], input[cut:])]
        blocks.append(({"type": "tool_use", "id": "toolu_1", "name": name, "input": {}}, deltas))
    for index, (block, deltas) in enumerate(blocks):
        start = {"type": "content_block_start", "index": index, "content_block": block}
        yield validate(BetaRawContentBlockStartEvent, start)
        for delta in deltas:
            more = {"type": "content_block_delta", "index": index, "delta": delta}
            yield validate(BetaRawContentBlockDeltaEvent, more)
        yield validate(BetaRawContentBlockStopEvent, {"type": "content_block_stop", "index": index})
    stop = "tool_use" if stop else "end_turn"
    delta = {"stop_reason": stop, "stop_sequence": None, "container": None}
    usage = {"output_tokens": 30, "input_tokens": 100, "cache_creation_input_tokens": 40, "cache_read_input_tokens": 60}
    BetaMessageDeltaUsage.model_validate(usage)
    yield validate(BetaRawMessageDeltaEvent, {"type": "message_delta", "delta": delta, "usage": usage})
    yield validate(BetaRawMessageStopEvent, {"type": "message_stop"})
    BetaMessage.model_validate({**message, "content": [{"type": "text", "text": ""}]})


def answer(tools, conversation):
    """The tool to call with its input, if one is to be called."""
    if tools and "the-result" not in conversation:
        return tools[0], json.dumps({"url": "https://a.example/ü"}), True
    return None, None, False


# OpenAI


def chat_events(body):
    from openai.types.chat import ChatCompletionChunk
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

    checked(CompletionCreateParamsStreaming, body)
    name, input, stop = answer([tool["function"]["name"] for tool in body.get("tools", [])], json.dumps(body["messages"]))
    deltas = [{"role": "assistant", "content": ""}]
    if name is None:
        deltas += [{"content": half} for half in ("All ", "read.")]
    else:
        cut = len(input) // 2
        call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": ""}}
        deltas.append({"tool_calls": [call]})
        deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": half}}]} for half in (input[:cut], input[cut:])]
    choices = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
    choices.append([{"index": 0, "delta": {}, "finish_reason": "tool_calls" if stop else "stop"}])
    usage = {"prompt_tokens": 200, "completion_tokens": 30, "total_tokens": 230,
             "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 40},
             "completion_tokens_details": {"reasoning_tokens": 10}}
    for one, told in [(choice, None) for choice in choices] + [([], usage)]:
        yield ChatCompletionChunk.model_validate({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1790000000, "model": body["model"],
            "choices": one, "usage": told})


def responses_events(body):
    from openai.types.responses import (
        Response, ResponseCompletedEvent, ResponseCreatedEvent, ResponseOutputItemAddedEvent,
        ResponseOutputItemDoneEvent, ResponseTextDeltaEvent,
    )
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

    checked(ResponseCreateParamsStreaming, body)
    name, input, _ = answer([tool["name"] for tool in body.get("tools", [])], json.dumps(body["input"]))
    items = [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbGVk"}]
    if name is None:
        content = [{"type": "output_text", "text": "All read.", "annotations": []}]
        items.append({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content})
    else:
        items.append({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": name, "arguments": input,
                      "status": "completed"})
    usage = {"input_tokens": 200, "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 40},
             "output_tokens": 30, "output_tokens_details": {"reasoning_tokens": 10}, "total_tokens": 230}
    response = {"id": "resp_1", "object": "response", "created_at": 1790000000, "model": body["model"], "output": [],
                "status": "in_progress", "parallel_tool_calls": True, "tool_choice": "auto",
                "tools": body.get("tools", [])}
    number = iter(range(1000))
    say = lambda kind, told: kind.model_validate({**told, "sequence_number": next(number)})
    yield say(ResponseCreatedEvent, {"type": "response.created", "response": response})
    for index, item in enumerate(items):
        yield say(ResponseOutputItemAddedEvent, {"type": "response.output_item.added", "output_index": index, "item": item})
        if item["type"] == "message":
            for half in ("All ", "read."):
                yield say(ResponseTextDeltaEvent, {"type": "response.output_text.delta", "item_id": "msg_1",
                                                   "output_index": index, "content_index": 0, "delta": half, "logprobs": []})
        yield say(ResponseOutputItemDoneEvent, {"type": "response.output_item.done", "output_index": index, "item": item})
    done = {**response, "status": "completed", "output": items, "usage": usage}
    Response.model_validate(done)
    yield say(ResponseCompletedEvent, {"type": "response.completed", "response": done})


WAYS = {"/v1/messages": messages_events, "/v1/chat/completions": chat_events, "/v1/responses": responses_events}


class Oracle(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        try:
            events = list(WAYS[self.path](body))
        except BaseException as wrong:  # whatever it is, the test is told
            print(f"{self.path}: {wrong}", file=sys.stderr, flush=True)
            return self.say(400, "application/json", json.dumps({"error": {"type": "oracle", "message": str(wrong)}}))
        told = [(getattr(event, "type", ""), event.model_dump_json(exclude_unset=True)) for event in events]
        text = "".join(f"event: {name}\ndata: {data}\n\n" if name else f"data: {data}\n\n" for name, data in told)
        if self.path.endswith("chat/completions"):
            text += "data: [DONE]\n\n"
        self.say(200, "text/event-stream", text)

    def say(self, status, kind, text):
        text = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def read(vendor, base_url):
    """What their client understands of the answer that stands there, as one JSON line."""
    if vendor == "messages":
        import anthropic
        client = anthropic.Anthropic(base_url=base_url, api_key="none", max_retries=0)
        with client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}]) as stream:
            got = stream.get_final_message().model_dump(mode="json")
        print(json.dumps({"parts": got["content"], "stop": got["stop_reason"], "usage": got["usage"]}))
        return
    import openai
    client = openai.OpenAI(base_url=f"{base_url}/v1", api_key="none", max_retries=0)
    if vendor == "responses":
        stream = client.responses.create(model="m", input="hi", stream=True)
        got = [event for event in stream if event.type == "response.completed"][0].response.model_dump(mode="json")
        print(json.dumps({"parts": got["output"], "stop": got["status"], "usage": got["usage"]}))
        return
    text, stop, usage, calls = "", None, None, {}
    asked = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}
    for chunk in client.chat.completions.create(**asked, stream_options={"include_usage": True}):
        usage = chunk.usage.model_dump(mode="json") if chunk.usage else usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            stop = choice.finish_reason or stop
            for call in choice.delta.tool_calls or []:
                calls.setdefault(call.index, "")
                calls[call.index] += call.function.arguments or ""
    print(json.dumps({"parts": [text, *calls.values()], "stop": stop, "usage": usage}))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        server = ThreadingHTTPServer(("127.0.0.1", 0), Oracle)
        print(server.server_address[1], flush=True)
        server.serve_forever()
    else:
        read(sys.argv[2], sys.argv[3])
