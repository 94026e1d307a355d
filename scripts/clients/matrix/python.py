"""Calls of the official clients of Python: a call a line in JSON, and what came of it as a line."""

import json
import sys

import anthropic
import openai

CLIENTS = {"openai": openai.OpenAI, "anthropic": anthropic.Anthropic}
opened = {}


def client_of(asked):
    of = (asked["client"], asked["url"])
    if of not in opened:
        opened[of] = CLIENTS[asked["client"]](base_url=asked["url"], api_key=asked["key"], max_retries=0)
    return opened[of]


# Anthropic's newest has no names for how tokens are drawn; a server of open models does.
DRAWN = ("temperature", "top_k")


def call(asked):
    place = client_of(asked)
    if asked["client"] == "anthropic":
        drawn = {name: asked["body"].pop(name) for name in DRAWN if name in asked["body"]}
        asked["body"]["extra_body"] = drawn
    else:
        # Else made-up weights go round until they are cut off, which its streams take for an error.
        asked["body"]["extra_body"] = {"frequency_penalty": 1.5}
    for name in asked["path"]:
        place = getattr(place, name)
    if "final" not in asked:
        return place.create(**asked["body"])
    with place.stream(**asked["body"]) as stream:
        for _ in stream:
            pass
        return getattr(stream, asked["final"])()


for line in sys.stdin:
    try:
        result = call(json.loads(line))
        # As people keep what came, to send it back.
        value = result.model_dump(mode="json")
        if hasattr(result, "output_text"):
            value["output_text"] = result.output_text
        print(json.dumps({"value": value}), flush=True)
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
