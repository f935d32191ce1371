#!/usr/bin/env python3
"""openai-python's helpers for responses, against a server: openai_responses.py BASE_URL. Status 77: it is not installed."""

import sys
from typing import Literal

try:
    import openai
    import pydantic
except ImportError:
    sys.exit(77)


# The demo model ends a text of no length only where the context ends, and the helper takes no half of an object.
class Animal(pydantic.BaseModel):
    animal: Literal["fox", "hen"]
    legs: Literal[2, 4]


def streamed(client, kind, **request):
    """The joined deltas of a kind, and the response that the helper gathers."""
    with client.responses.stream(model="demo", **request) as stream:
        text = "".join(event.delta for event in stream if event.type == f"response.{kind}.delta")
        return text, stream.get_final_response()


def main(base_url):
    client = openai.OpenAI(base_url=base_url, api_key="any", max_retries=0)
    whole = client.responses.create(model="demo", input="Hello", max_output_tokens=20)
    assert whole.output_text and whole.usage.output_tokens > 0, whole
    text, final = streamed(client, "output_text", input="Hello", max_output_tokens=20)
    assert text == whole.output_text == final.output_text, (text, whole.output_text)

    parsed = client.responses.parse(model="demo", input="Hello", text_format=Animal)
    assert isinstance(parsed.output_parsed, Animal), parsed
    text, final = streamed(client, "output_text", input="Hello", text_format=Animal)
    assert text == parsed.output_text and final.output_parsed == parsed.output_parsed, (text, parsed)

    tools = [openai.pydantic_function_tool(Animal, name="note")]
    text, final = streamed(client, "function_call_arguments", input="Go", tools=tools, tool_choice="required",
                           parallel_tool_calls=False)
    (call,) = final.output
    assert call.arguments == text and isinstance(call.parsed_arguments, Animal), final
    told = client.responses.create(
        model="demo", previous_response_id=final.id, max_output_tokens=4,
        input=[{"type": "function_call_output", "call_id": call.call_id, "output": "noted"}])
    assert told.output[0].type == "message", told

    following = client.responses.create(model="demo", input="And then?", previous_response_id=whole.id, max_output_tokens=4)
    assert following.usage.input_tokens > whole.usage.input_tokens + 4, following.usage
    count = client.responses.input_tokens.count(model="demo", input="And then?", previous_response_id=whole.id)
    assert count.input_tokens == following.usage.input_tokens, count
    assert client.responses.retrieve(whole.id).output_text == whole.output_text
    items = [(item.role, item.content[0].text) for item in client.responses.input_items.list(following.id, order="asc")]
    assert items == [("user", "Hello"), ("assistant", whole.output_text), ("user", "And then?")], items
    client.responses.delete(whole.id)
    try:
        client.responses.retrieve(whole.id)
    except openai.NotFoundError:
        return
    raise AssertionError("a deleted response is there")


main(sys.argv[1])
