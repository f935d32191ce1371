#!/usr/bin/env python3
"""openai-python's helpers for responses, against a server: openai_responses.py BASE_URL. Status 77: it is not installed."""

import sys

try:
    import openai
    import pydantic
except ImportError:
    sys.exit(77)


class Animal(pydantic.BaseModel):
    animal: str
    legs: int


def main(base_url):
    client = openai.OpenAI(base_url=base_url, api_key="any", max_retries=0)
    whole = client.responses.create(model="demo", input="Hello", max_output_tokens=20)
    assert whole.output_text and whole.usage.output_tokens > 0, whole
    with client.responses.stream(model="demo", input="Hello", max_output_tokens=20) as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        final = stream.get_final_response()
    assert text == whole.output_text == final.output_text, (text, whole.output_text)
    parsed = client.responses.parse(model="demo", input="Hello", text_format=Animal, max_output_tokens=100)
    assert parsed.output_parsed is not None or parsed.status == "incomplete", parsed
    following = client.responses.create(model="demo", input="And then?", previous_response_id=whole.id, max_output_tokens=4)
    assert following.usage.input_tokens > whole.usage.input_tokens + 4, following.usage
    assert client.responses.retrieve(whole.id).output_text == whole.output_text
    client.responses.delete(whole.id)
    try:
        client.responses.retrieve(whole.id)
    except openai.NotFoundError:
        return
    raise AssertionError("a deleted response is there")


main(sys.argv[1])
