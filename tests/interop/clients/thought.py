"""A model as far as agents need one: it wishes for one tool, and then says what came of it."""

import json

NAME = "played"


def of(wish, params):
    """The answer to `sampling/createMessage`: by the tools of the request, or in words if it has none."""
    messages, has_tools = params["messages"], "tools" in params
    if len(messages) > 1:
        answer = f"I was told: {told(messages[-1]['content'])}"
        return said(answer if has_tools else json.dumps({"answer": answer}))
    if has_tools:
        use = {"type": "tool_use", "id": "wish", "name": wish["tool"], "input": wish["arguments"]}
        return {"role": "assistant", "model": NAME, "stopReason": "toolUse", "content": [use]}
    return said(json.dumps(wish))


def said(text):
    return {"role": "assistant", "model": NAME, "stopReason": "endTurn", "content": {"type": "text", "text": text}}


def told(content):
    """The text of a message, or of the results in it."""
    blocks = content if isinstance(content, list) else [content]
    return "\n".join(told(block["content"]) if block["type"] == "tool_result" else block["text"] for block in blocks)
