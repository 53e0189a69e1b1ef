"""What clients of both eras get through the gateway from each form of server, held against the direct path."""

import json

from .bench import FORMS, LEGACY, MODERN, Bench, Form
from .clients import CLIENTS, Client, Visit, play
from .relay import LOGGED
from .report import Case, expect

# One client for each era; the server behind speaks one of the two.
CLIENT_OF = {
    LEGACY: CLIENTS[0],
    MODERN: Client("typescript-v2-pinned", "typescript_v2.cjs", MODERN),
}
FRONTS = {"mcp": "http", "sse": "sse"}

CALLED = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_error_handling",
    "test_tool_with_progress",
    "json_schema_2020_12_tool",
]
ASKING = ["test_sampling", "test_elicitation"]
GOT = {
    "test_simple_prompt": {},
    "test_prompt_with_arguments": {"arg1": "north", "arg2": "south"},
    "test_prompt_with_embedded_resource": {"resourceUri": "test://static-text"},
    "test_prompt_with_image": {},
    "test_input_required_result_prompt": {},
}
READ = [
    "test://static-text",
    "test://static-binary",
    "test://watched-resource",
    "test://input-required",
    "test://template/7/data",
]
ANSWERS = {
    "sampling/createMessage": {
        "role": "assistant",
        "content": {"type": "text", "text": "Fair winds."},
        "model": "none",
        "stopReason": "endTurn",
    },
    "elicitation/create": {"action": "accept", "content": {"response": "aye", "context": "harbour", "reason": "tide"}},
    "roots/list": {"roots": [{"uri": "file:///harbour", "name": "harbour"}]},
}

# What one revision demands of an answer, or of a tool (`execution`), and another does not know.
OF_THE_REVISION = ("resultType", "ttlMs", "cacheScope")
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
NOTHING = "(nothing)"


def cases(bench: Bench) -> list[Case]:
    return [Case(f"payloads/{form.name}", lambda form=form: compare(bench, form)) for form in FORMS]


def compare(bench: Bench, form: Form) -> str:
    played = steps()
    direct, seen = None, {}
    for revision, client in CLIENT_OF.items():
        ways = [{"kind": kind, "url": bench.url(form, front)} for front, kind in FRONTS.items()]
        if revision == form.revision:
            ways.append(bench.direct(form))
        name = f"payloads-{form.name}-{revision}"
        sessions = play(bench.places, client, name, [Visit(way, played, ANSWERS) for way in ways])
        for front, (connected, *lines) in zip(FRONTS, sessions):
            expect(connected["revision"] == revision, f"{revision}: the revision is another", connected)
            seen[f"{revision} at /{front}"] = lines
        if revision == form.revision:
            direct = sessions[-1][1:]
    for its in direct:
        expect("error" not in its, f"{its['did']} failed on the direct path", its)
    for where, lines in seen.items():
        for mine, its in zip(lines, direct, strict=True):
            found = difference(settled(mine), settled(its))
            expect(not found, f"{where}: {its['did']} {its.get('name') or ''} differs from the direct path in {found}")
    return f"{len(played)} answers, {len(seen)} times equal to the direct path"


def steps() -> list[dict]:
    calls = [{"do": "call", "name": tool, "arguments": {"a": 1}, "progress": True} for tool in CALLED]
    for call in calls:
        call["logs"] = LOGGED if call["name"] == "test_tool_with_logging" else []
    prompt, template = {"type": "ref/prompt", "name": "test_prompt_with_arguments"}, "test://template/{id}/data"
    return [
        {"do": "level", "level": "info"},
        {"do": "list"},
        *calls,
        *({"do": "call", "name": tool, "arguments": {"prompt": "Sail?", "message": "Where?"}} for tool in ASKING),
        {"do": "prompts"},
        *({"do": "prompt", "name": name, "arguments": arguments} for name, arguments in GOT.items()),
        {"do": "resources"},
        *({"do": "read", "uri": uri} for uri in READ),
        {"do": "templates"},
        {"do": "complete", "ref": prompt, "argument": {"name": "arg1", "value": "par"}},
        {"do": "complete", "ref": {"type": "ref/resource", "uri": template}, "argument": {"name": "id", "value": "te"}},
    ]


def settled(line: dict) -> dict:
    """What came of a step, without what another revision would not have."""
    result = {key: value for key, value in line.get("result", {}).items() if key not in OF_THE_REVISION}
    meta = {key: value for key, value in result.pop("_meta", {}).items() if key != SERVER_INFO}
    tools = [without(tool, "execution") for tool in line.get("tools", [])]
    return {**line, "tools": tools, "result": result | ({"_meta": meta} if meta else {})}


def without(tool: dict, key: str) -> dict:
    return {name: value for name, value in tool.items() if name != key}


def difference(mine: object, its: object, place: str = "") -> str:
    """The first place where the two are not the same, and what is there; nothing if they are."""
    if isinstance(mine, dict) and isinstance(its, dict):
        keys = sorted(mine.keys() | its.keys())
        pairs = [(f"{place}.{key}", mine.get(key, NOTHING), its.get(key, NOTHING)) for key in keys]
    elif isinstance(mine, list) and isinstance(its, list) and len(mine) == len(its):
        pairs = [(f"{place}[{index}]", *pair) for index, pair in enumerate(zip(mine, its))]
    else:
        return "" if mine == its else f"{place.lstrip('.')}: {json.dumps(mine)} here, {json.dumps(its)} there"
    return next((found for at, one, other in pairs if (found := difference(one, other, at))), "")
