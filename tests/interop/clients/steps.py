"""Plays a job's steps through an SDK and prints what came of each as one JSON line; tests/interop/run judges them."""

import asyncio
import json
import sys
from contextlib import AsyncExitStack

import anyio

import thought

# How long what is due beside an answer may come after it: logs, news of a resource, tools that are found later.
LOGS_DUE_S = 2.0
UPDATE_DUE_S = 8.0
LIST_DUE_S = 20.0
LOG_LEVEL = "io.modelcontextprotocol/logLevel"


def say(line):
    print(json.dumps(line), flush=True)


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def within(seconds, is_there):
    with anyio.move_on_after(seconds):
        while not is_there():
            await anyio.sleep(0.01)


class Heard:
    """What a server says and asks beside its answers, and the answers that the job has for what it asks."""

    def __init__(self, answers, sampling):
        self.logs, self.updated, self.asked = [], [], []
        self.answers = answers or {}
        self.sampling, self.wish = sampling, None

    async def log(self, params):
        self.logs.append(plain(params))

    async def message(self, message):
        """Of all that comes in, the news of resources."""
        message = getattr(message, "root", message)
        if getattr(message, "method", None) == "notifications/resources/updated":
            self.updated.append(str(message.params.uri))

    def answering(self, method, result):
        """What an SDK is to call when it is asked for `method`, if the job has an answer."""
        if method not in self.answers:
            return None

        async def answer(context, params=None):
            self.asked.append({"method": method, "params": plain(params) if params else None})
            return result.model_validate(self.answers[method])

        return answer

    def thinking(self, types):
        """The same for sampling, which a job has an answer for or a model that is played."""
        if self.sampling is None:
            return self.answering("sampling/createMessage", types.CreateMessageResult)

        async def think(context, params):
            asked = plain(params)
            self.asked.append({"method": "sampling/createMessage", "params": asked})
            result = types.CreateMessageResultWithTools if "tools" in asked else types.CreateMessageResult
            return result.model_validate(thought.of(self.wish, asked))

        return think

    def capability(self, types):
        """What a client that plays a model says of its sampling."""
        return None if self.sampling is None else types.SamplingCapability.model_validate(self.sampling)


class Session:
    """An SDK's client in the one shape that the steps use, as most SDKs have it."""

    def __init__(self, client, heard, types, revision, server):
        self.client, self.heard, self.revision, self.server = client, heard, revision, server
        self.references = {"ref/prompt": types.PromptReference, "ref/resource": types.ResourceTemplateReference}
        self.is_modern = revision >= "2026-07-28"
        self.meta = None
        self.open = AsyncExitStack()

    async def ping(self):
        await self.client.send_ping()

    async def set_level(self, level):
        if self.is_modern:
            self.meta = {LOG_LEVEL: level}
        else:
            await self.client.set_logging_level(level)

    async def tools(self):
        return (await self.client.list_tools()).tools

    async def call(self, name, arguments, on_progress):
        return await self.client.call_tool(name, arguments, progress_callback=on_progress, meta=self.meta)

    async def prompts(self):
        return await self.client.list_prompts()

    async def prompt(self, name, arguments):
        return await self.client.get_prompt(name, arguments)

    async def resources(self):
        return await self.client.list_resources()

    async def read(self, uri):
        return await self.client.read_resource(uri)

    async def templates(self):
        return await self.client.list_resource_templates()

    async def complete(self, ref, argument):
        return await self.client.complete(ref, argument)

    async def subscribe(self, uri):
        if self.is_modern:
            await self.open.enter_async_context(self.client.listen(resource_subscriptions=[uri]))
        else:
            await self.client.subscribe_resource(uri)


async def ping(session, step):
    await session.ping()
    return {}


async def level(session, step):
    await session.set_level(step["level"])
    return {}


async def list_tools(session, step):
    """Once, unless there are tools that have to turn up."""
    tools = [plain(tool) for tool in await session.tools()]
    with anyio.move_on_after(LIST_DUE_S):
        while not {tool["name"] for tool in tools}.issuperset(step.get("until", ())):
            await anyio.sleep(0.01)
            tools = [plain(tool) for tool in await session.tools()]
    return {"tools": tools}


async def call(session, step):
    logs = session.heard.logs
    progress, logs_before = [], len(logs)

    async def on_progress(done, total, message):
        progress.append({"progress": done, "total": total, "message": message})

    result = await session.call(step["name"], step["arguments"], on_progress if step.get("progress") else None)
    told = list(progress)
    due = step.get("logs", [])
    await within(LOGS_DUE_S, lambda: all(data in [log["data"] for log in logs[logs_before:]] for data in due))
    return {"result": plain(result), "progress": told, "logs": logs[logs_before:]}


async def cancel(session, step):
    with anyio.move_on_after(step["after_ms"] / 1000):
        await session.call(step["name"], step["arguments"], None)
        return {"ended": "answered"}
    return {"ended": "cancelled"}


async def prompts(session, step):
    return {"result": plain(await session.prompts())}


async def prompt(session, step):
    return {"result": plain(await session.prompt(step["name"], step.get("arguments")))}


async def resources(session, step):
    return {"result": plain(await session.resources())}


async def read(session, step):
    return {"result": plain(await session.read(step["uri"]))}


async def templates(session, step):
    return {"result": plain(await session.templates())}


async def complete(session, step):
    ref = session.references[step["ref"]["type"]].model_validate(step["ref"])
    return {"result": plain(await session.complete(ref, step["argument"]))}


async def subscribe(session, step):
    await session.subscribe(step["uri"])
    return {}


async def updated(session, step):
    await within(UPDATE_DUE_S, lambda: step["uri"] in session.heard.updated)
    return {"updated": sorted(set(session.heard.updated))}


PLAY = {
    "ping": ping,
    "level": level,
    "list": list_tools,
    "call": call,
    "cancel": cancel,
    "prompts": prompts,
    "prompt": prompt,
    "resources": resources,
    "read": read,
    "templates": templates,
    "complete": complete,
    "subscribe": subscribe,
    "updated": updated,
}


async def done(session, step):
    """What comes of a step, and what the client was asked meanwhile."""
    before = len(session.heard.asked)
    session.heard.wish = step.get("wish")
    came = await PLAY[step["do"]](session, step)
    asked = session.heard.asked[before:]
    return {**came, "asked": asked} if asked else came


async def play(connect):
    """`connect(endpoint, mode, heard)` opens a session."""
    with open(sys.argv[1], encoding="utf-8") as file:
        job = json.load(file)
    for wanted in job["sessions"]:
        heard = Heard(wanted.get("answers"), wanted.get("sampling"))
        async with connect(wanted["endpoint"], wanted["mode"], heard) as session, session.open:
            say({"did": "connect", "revision": session.revision, "server": plain(session.server)})
            for step in wanted["steps"]:
                line = {"did": step["do"], "name": step.get("name", step.get("uri"))}
                try:
                    say({**line, **await done(session, step)})
                except Exception as error:
                    say({**line, "error": f"{type(error).__name__}: {error}"})


def run(connect):
    asyncio.run(play(connect))
