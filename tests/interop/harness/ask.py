"""The two tools that ask: an agent of a server, whose model is the client's own, and one question to every server."""

import json
from pathlib import Path

from .clients import CLIENTS, Client, Visit, play
from .relay import Gateways
from .report import Case, expect

QUERY, CONNECTOR = "mcp__proxy__aggregator__query", "query_mcp_connector"
# What a client can sample: with tools as MCP has them, or text alone, in which calls are wished for in words.
SAMPLING = {"tools": {"tools": {}}, "words": {}}
SAMPLE, ELICIT = "sampling/createMessage", "elicitation/create"
CONSENT = {"declined": {"action": "decline"}, "accepted": {"action": "accept", "content": {"confirm": True}}}
BEFORE, AFTER = "three fathoms\n", "five fathoms\n"
# Who knows it, and what is known.
QUESTIONS = {
    "When was the lighthouse Pharos built?": ("memory", "280 BC"),
    "What does the chart say?": ("filesystem", "here be dragons"),
}
# The SDKs hold an answer against the schema that they were shown.
LIST = {"do": "list"}


def cases(gateways: Gateways) -> list[Case]:
    agents = [
        Case(f"ask/{way}/{client.name}", lambda way=way, client=client: agent(gateways, client, way))
        for way in SAMPLING
        for client in CLIENTS
    ]
    queries = [Case(f"ask/query/{client.name}", lambda client=client: query(gateways, client)) for client in CLIENTS]
    return [*agents, *queries]


def agent(gateways: Gateways, client: Client, way: str) -> str:
    """The client's model calls a tool of each server, and one that destroys: its user declines, and then accepts."""
    front = gateways.get("serving_agents")
    name = f"ask-{way}-{client.name}"
    calls = [(server.name, server.calls[-1]) for server in front.servers]
    files = {said: gateways.neighbourhood.files / f"{name}-{said}.txt" for said in CONSENT}
    visits = []
    for said, file in files.items():
        file.write_text(BEFORE)
        asked = [ask(server, call.tool, call.arguments) for server, call in calls]
        asked.append(ask("filesystem", "write_file", {"path": str(file), "content": AFTER}))
        visits.append(Visit(front.endpoint("http"), [LIST, *asked], {ELICIT: CONSENT[said]}, SAMPLING[way]))
    for (said, file), lines in zip(files.items(), play(gateways.places, client, name, visits), strict=True):
        *safe, destructive = answered(lines, client)
        for (_, call), line in zip(calls, safe, strict=True):
            check_thought(line, way, call.tool, [call.tool], call.answer)
        check_consent(destructive, way, said, file)
    return f"{sum(len(visit.steps) - 1 for visit in visits)} questions, {client.revision('http')}"


def ask(connector: str, tool: str, arguments: dict) -> dict:
    """A question to an agent, and what the client's model will wish for."""
    asked = {"connectorId": connector, "query": f"What comes of {tool}?"}
    wish = {"tool": tool, "arguments": arguments}
    return {"do": "call", "name": CONNECTOR, "arguments": asked, "wish": wish, "progress": True}


def query(gateways: Gateways, client: Client) -> str:
    front = gateways.get("serving_agents")
    asked = [{"do": "call", "name": QUERY, "arguments": {"query": question}} for question in QUESTIONS]
    visit = Visit(front.endpoint("http"), [LIST, *asked])
    (lines,) = play(gateways.places, client, f"ask-query-{client.name}", [visit])
    for (question, (server, known)), line in zip(QUESTIONS.items(), answered(lines, client), strict=True):
        answer = line["result"]["structuredContent"]
        expect(answer == json.loads(line["result"]["content"][0]["text"]), f"{question} The text is another", answer)
        first = answer["results"][0]
        expect(first["server"] == server and known in first["content"], f"{question} Another is first", answer)
        expect(answer["metadata"]["serversSucceeded"] == len(front.servers), f"{question} Not all answered", answer)
    return f"{len(QUESTIONS)} questions to {len(front.servers)} servers, {client.revision('http')}"


def answered(lines: list[dict], client: Client) -> list[dict]:
    """What came of the questions."""
    for line in lines:
        expect("error" not in line, f"{line['did']} {line.get('name') or ''} failed", line.get("error"))
    connected, listed, *rest = lines
    expect(connected["revision"] == client.revision("http"), "the revision is another", connected)
    shown = {tool["name"] for tool in listed["tools"] if "outputSchema" in tool}
    expect(shown == {QUERY, CONNECTOR}, "other tools are shown", listed)
    return rest


def check_thought(line: dict, way: str, tool: str, used: list[str], quoted: str) -> None:
    """Two turns of the client's model, asked in the way that it knows, its answer, and the steps as they were told."""
    report = line["result"]["structuredContent"]
    metadata = report["metadata"]
    expect(report["status"] == "success", f"{tool}: no success", report)
    expect(metadata["toolsUsed"] == used, f"{tool}: other tools were used", metadata)
    expect(metadata["model"] == "played", f"{tool}: another model thought", metadata)
    expect(quoted in metadata["answer"], f"{tool}: the answer is without {quoted!r}", metadata)
    expect(report["data"].endswith(metadata["answer"]), f"{tool}: the data is without the answer", report)
    sampled = [each["params"] for each in line["asked"] if each["method"] == SAMPLE]
    expect(len(sampled) == 2, f"{tool}: the model had {len(sampled)} turns", line["asked"])
    for params in sampled:
        offered = [each["name"] for each in params.get("tools", [])]
        expect((tool in offered) == (way == "tools"), f"{tool}: offered in the other way", params)
    steps = [event["progress"] for event in line["progress"]]
    expect(len(steps) >= 2 and steps == sorted(set(steps)), f"{tool}: other steps were told", line["progress"])


def check_consent(line: dict, way: str, said: str, file: Path) -> None:
    """What destroys is done if the user accepts it, and only then."""
    questions = [each["params"]["message"] for each in line["asked"] if each["method"] == ELICIT]
    expect(len(questions) == 1 and "write_file" in questions[0], "the user was not asked once", line["asked"])
    if said == "accepted":
        check_thought(line, way, "write_file", ["write_file"], "Successfully wrote")
    else:
        check_thought(line, way, "write_file", [], "the user was asked and declined")
    expect(file.read_text() == (AFTER if said == "accepted" else BEFORE), f"{said}, and the file is another")
