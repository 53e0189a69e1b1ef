// Plays a job's steps through an SDK and prints what came of each as one JSON line; tests/interop/run judges them.
"use strict";
const { readFileSync } = require("node:fs");
const { setTimeout: sleep } = require("node:timers/promises");

const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");

/** How long log messages that are due may come after the answer that they belong to. */
const LOGS_DUE_MS = 2000;

const play = {
  async ping(session) {
    await session.ping();
    return {};
  },
  async level(session, step) {
    await session.setLevel(step.level);
    return {};
  },
  async list(session) {
    return { tools: (await session.list()).tools };
  },
  async call(session, step) {
    const [logsBefore, progressBefore] = [session.logs.length, session.progress.length];
    const result = await session.call(
      { name: step.name, arguments: step.arguments },
      step.progress ? { onprogress: () => {} } : undefined,
    );
    const progress = session.progress.slice(progressBefore);
    const until = Date.now() + LOGS_DUE_MS;
    while (session.logs.length - logsBefore < (step.logs ?? 0) && Date.now() < until) await sleep(10);
    return { result, progress, logs: session.logs.slice(logsBefore) };
  },
  async cancel(session, step) {
    const abort = new AbortController();
    const call = session.call({ name: step.name, arguments: step.arguments }, { signal: abort.signal });
    const ended = call.then(
      () => "answered",
      () => "cancelled",
    );
    await sleep(step.after_ms);
    abort.abort(step.reason);
    return { ended: await ended };
  },
};

/**
 * Notes the progress that a transport delivers, from after the handshake on. The SDKs' own `onprogress` is no witness:
 * it misses what was read together with the answer, with or without a gateway.
 */
function progressOf(transport) {
  const seen = [];
  const inner = transport.onmessage;
  transport.onmessage = (message, ...rest) => {
    if (message.method === "notifications/progress") {
      const { progressToken: _, ...event } = message.params;
      seen.push(event);
    }
    inner(message, ...rest);
  };
  return seen;
}

/** `connect(endpoint, mode)` gives the SDK's client in the one shape that the steps use. */
async function run(connect) {
  const { sessions } = JSON.parse(readFileSync(process.argv[2], "utf8"));
  for (const { endpoint, mode, steps } of sessions) {
    const session = await connect(endpoint, mode);
    say({ did: "connect", ...session.agreed() });
    for (const step of steps) {
      try {
        say({ did: step.do, name: step.name, ...(await play[step.do](session, step)) });
      } catch (error) {
        say({ did: step.do, name: step.name, error: `${error}` });
      }
    }
    await session.close();
  }
};

module.exports = { run, progressOf };
