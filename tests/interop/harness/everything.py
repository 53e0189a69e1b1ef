"""What server-everything offers beside tools, and what it asks of clients: through the gateway, in both eras."""

from .clients import CLIENTS, Client, Visit, play
from .payloads import ANSWERS, difference
from .relay import SEPARATORS, Gateways, check_result, endpoint_of
from .report import Case, expect

SERVERS = ("everything", "everything-http", "everything-sse")
# Over Streamable HTTP every client; over the others two SDKs of each, in one era and the other.
OVER = {
    "http": [client.name for client in CLIENTS],
    "stdio": ["typescript-v1", "python-v2-auto"],
    "sse": ["python-v1", "typescript-v2-auto"],
}
LISTS = [{"do": what} for what in ("list", "prompts", "resources", "templates")]
DOCUMENT = "demo://resource/static/document/features.md"
TEXT, BLOB = "demo://resource/dynamic/text/7", "demo://resource/dynamic/blob/7"
GIVEN = ANSWERS | {"elicitation/create": {"action": "accept", "content": {"name": "Ada", "check": True}}}
# Tools that are listed only to clients that can be asked, and what comes of them.
ASKING = {
    "trigger-sampling-request": "Fair winds.",
    "trigger-elicitation-request": "- Name: Ada",
    "get-roots-list": "file:///harbour",
}


def cases(gateways: Gateways) -> list[Case]:
    return [
        Case(f"everything/{kind}/{client.name}", lambda kind=kind, client=client: through(gateways, client, kind))
        for kind, names in OVER.items()
        for client in CLIENTS
        if client.name in names
    ]


def through(gateways: Gateways, client: Client, kind: str) -> str:
    name = f"everything-{kind}-{client.name}"
    gateways.get("neighbourhood")
    prefixes = [f"{server}{SEPARATORS[kind]}" if kind == "stdio" else "" for server in SERVERS]
    doors = list(zip(ways(gateways, kind, name), prefixes, strict=True))
    # Two clients in a row: one that cannot be asked, and one that can.
    visits = [Visit(way, offered(prefix) + news(prefix, client)) for way, prefix in doors]
    visits += [Visit(way, asking(prefix), GIVEN) for way, prefix in doors]
    seen = play(gateways.places, client, name, visits)
    for connected, *lines in seen:
        expect(connected["revision"] == client.revision(kind), "the revision is another", connected)
        for line in lines:
            expect("error" not in line, f"{line['did']} {line.get('name') or ''} failed", line.get("error"))
    for server, prefix, first, second in zip(SERVERS, prefixes, seen, seen[len(SERVERS) :]):
        check_offered(first, prefix, server)
        check_asking(second, prefix, server)
    if client is CLIENTS[0]:
        check_lists(gateways, name, seen, prefixes)
    return f"{sum(len(visit.steps) for visit in visits)} steps at {len(SERVERS)} servers, {client.revision(kind)}"


def ways(gateways: Gateways, kind: str, name: str) -> list[dict]:
    """To each server by itself, at a gateway of one's own: what servers remember of others is not in the way."""
    if kind == "stdio":
        fronts = [gateways.started_by_client(f"{name}-{server}", only=(server,)) for server in SERVERS]
        return [front.endpoint(kind) for front in fronts]
    front = gateways.serve(name, only=SERVERS)
    place = "mcp" if kind == "http" else "sse"
    return [{"kind": kind, "url": f"{front.url}/servers/{server}/{place}"} for server in SERVERS]


def offered(prefix: str) -> list[dict]:
    prompt = {"type": "ref/prompt", "name": f"{prefix}completable-prompt"}
    template = {"type": "ref/resource", "uri": "demo://resource/dynamic/text/{resourceId}"}
    return [
        *LISTS,
        {"do": "prompt", "name": f"{prefix}simple-prompt"},
        {"do": "prompt", "name": f"{prefix}args-prompt", "arguments": {"city": "Alexandria"}},
        *({"do": "read", "uri": uri} for uri in (DOCUMENT, TEXT, BLOB)),
        {"do": "complete", "ref": prompt, "argument": {"name": "department", "value": "E"}},
        {"do": "complete", "ref": template, "argument": {"name": "resourceId", "value": "12"}},
    ]


def news(prefix: str, client: Client) -> list[dict]:
    """The server has news for the session that calls for some, and no other."""
    toggle = {"do": "call", "name": f"{prefix}toggle-subscriber-updates", "arguments": {}}
    return [{"do": "subscribe", "uri": TEXT}, toggle, {"do": "updated", "uri": TEXT}] if client.subscribes else []


def asking(prefix: str) -> list[dict]:
    """Portolan finds out what such clients are shown when the first of them lists, and keeps none waiting for that."""
    names = [f"{prefix}{tool}" for tool in ASKING]
    calls = [{"do": "call", "name": name, "arguments": {"prompt": "Sail?"}} for name in names]
    return [LISTS[0] | {"until": names}, *LISTS[1:], *calls]


def check_offered(lines: list[dict], prefix: str, server: str) -> None:
    every = {(line["did"], line.get("name")): line for line in lines}
    text = lambda name: every["prompt", f"{prefix}{name}"]["result"]["messages"][0]["content"]["text"]
    expect(text("simple-prompt") == "This is a simple prompt without arguments.", f"{server}: another prompt")
    expect("Alexandria" in text("args-prompt"), f"{server}: a prompt without its argument", text("args-prompt"))
    (document,), (plain,), (blob,) = (every["read", uri]["result"]["contents"] for uri in (DOCUMENT, TEXT, BLOB))
    expect(document["text"].startswith("# Everything Server"), f"{server}: another document", document)
    expect("Resource 7" in plain["text"] and plain["uri"] == TEXT, f"{server}: another resource", plain)
    expect(blob["blob"] != "" and blob["uri"] == BLOB, f"{server}: another blob", blob)
    completed = [line["result"]["completion"]["values"] for line in lines if line["did"] == "complete"]
    expect(completed == [["Engineering"], ["12"]], f"{server}: other completions", completed)
    updated = [line["updated"] for line in lines if line["did"] == "updated"]
    expect(updated in ([], [[TEXT]]), f"{server}: no news of {TEXT}", updated)


def check_asking(lines: list[dict], prefix: str, server: str) -> None:
    for tool, answer in ASKING.items():
        (line,) = (line for line in lines if line.get("name") == f"{prefix}{tool}")
        check_result(line["result"], answer, f"{server}: {tool}")
    asked = {each["method"] for line in lines for each in line.get("asked", [])}
    expect(asked >= {"sampling/createMessage", "elicitation/create"}, f"{server} did not ask", sorted(asked))


def check_lists(gateways: Gateways, name: str, seen: list[list[dict]], prefixes: list[str]) -> None:
    """Each list as the server itself gives it to the same client, but for the names."""
    servers = gateways.servers(gateways.folder(f"{name}-direct"), SERVERS)
    visits = [Visit(endpoint_of(server), LISTS, answers) for answers in ({}, GIVEN) for server in servers]
    direct = play(gateways.places, CLIENTS[0], f"{name}-direct", visits)
    for server, prefix, its, mine in zip(SERVERS * 2, prefixes * 2, direct, seen, strict=True):
        for here, there in zip(mine[1:], its[1:]):
            found = difference(unprefixed(here, prefix), there)
            expect(not found, f"{server}: {here['did']} differs from the direct path in {found}")


def unprefixed(line: dict, prefix: str) -> dict:
    bare = lambda named: [{**each, "name": each["name"].removeprefix(prefix)} for each in named]
    if "tools" in line:
        return {**line, "tools": bare(line["tools"])}
    return {**line, "result": {key: bare(named) for key, named in line["result"].items()}}
