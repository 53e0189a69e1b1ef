"""Plays a job's steps through an SDK and prints what came of each as one JSON line; tests/interop/run judges them."""

import asyncio
import json
import sys

import anyio

# How long log messages that are due may come after the answer that they belong to.
LOGS_DUE_S = 2.0


def say(line):
    print(json.dumps(line), flush=True)


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def ping(session, step):
    await session.ping()
    return {}


async def level(session, step):
    await session.set_level(step["level"])
    return {}


async def list_tools(session, step):
    return {"tools": [plain(tool) for tool in await session.list_tools()]}


async def call(session, step):
    progress, logs_before = [], len(session.logs)

    async def on_progress(done, total, message):
        progress.append({"progress": done, "total": total, "message": message})

    result = await session.call(step["name"], step["arguments"], on_progress if step.get("progress") else None)
    told = list(progress)
    with anyio.move_on_after(LOGS_DUE_S):
        while len(session.logs) - logs_before < step.get("logs", 0):
            await anyio.sleep(0.01)
    return {"result": plain(result), "progress": told, "logs": session.logs[logs_before:]}


async def cancel(session, step):
    with anyio.move_on_after(step["after_ms"] / 1000):
        await session.call(step["name"], step["arguments"], None)
        return {"ended": "answered"}
    return {"ended": "cancelled"}


PLAY = {"ping": ping, "level": level, "list": list_tools, "call": call, "cancel": cancel}


async def play(connect):
    """`connect(endpoint, mode)` opens a session in the one shape that the steps use."""
    with open(sys.argv[1], encoding="utf-8") as file:
        job = json.load(file)
    for wanted in job["sessions"]:
        async with connect(wanted["endpoint"], wanted["mode"]) as session:
            say({"did": "connect", **session.agreed()})
            for step in wanted["steps"]:
                done = {"did": step["do"], "name": step.get("name")}
                try:
                    say({**done, **await PLAY[step["do"]](session, step)})
                except Exception as error:
                    say({**done, "error": f"{type(error).__name__}: {error}"})


def run(connect):
    asyncio.run(play(connect))
