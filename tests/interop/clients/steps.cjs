// Plays a job's steps through an SDK and prints what came of each as one JSON line; tests/interop/run judges them.
"use strict";
const { readFileSync } = require("node:fs");
const { setTimeout: sleep } = require("node:timers/promises");
const { thought } = require("./thought.cjs");

const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");

/** How long what is due beside an answer may come after it: logs, news of a resource, tools that are found later. */
const LOGS_DUE_MS = 2000;
const UPDATE_DUE_MS = 8000;
const LIST_DUE_MS = 20000;

async function within(ms, isThere) {
  const until = Date.now() + ms;
  while (!(await isThere()) && Date.now() < until) await sleep(10);
}

/** What a server says and asks beside its answers, and the answers that the job has for what it asks. */
class Heard {
  logs = [];
  updated = [];
  asked = [];

  /** `sampling` is what a client that plays a model says of it; its wish is the step's. */
  constructor(answers, sampling) {
    const play = (params) => thought(this.wish, params);
    this.answers = { ...answers, ...(sampling && { "sampling/createMessage": play }) };
    this.sampling = sampling ?? {};
  }

  /** Who can answer says so. */
  get capabilities() {
    const can = (method) => method in this.answers;
    return {
      ...(can("sampling/createMessage") && { sampling: this.sampling }),
      ...(can("elicitation/create") && { elicitation: {} }),
      ...(can("roots/list") && { roots: { listChanged: true } }),
    };
  }

  answer(method, params) {
    this.asked.push({ method, params });
    const answer = this.answers[method];
    return typeof answer === "function" ? answer(params) : answer;
  }
}

/** Requests of which only the result is of interest; both SDKs name them alike. */
const ASK = {
  prompts: (client) => client.listPrompts(),
  prompt: (client, { name, arguments: given }) => client.getPrompt({ name, arguments: given }),
  resources: (client) => client.listResources(),
  read: (client, { uri }) => client.readResource({ uri }),
  templates: (client) => client.listResourceTemplates(),
  complete: (client, { ref, argument }) => client.complete({ ref, argument }),
};

const play = {
  async ping(session) {
    await session.client.ping();
    return {};
  },
  async level(session, step) {
    await session.setLevel(step.level);
    return {};
  },
  async list(session, step) {
    let tools = [];
    // Once, unless there are tools that have to turn up.
    const isThere = (due) => tools.some(({ name }) => name === due);
    await within(LIST_DUE_MS, async () => {
      ({ tools } = await session.client.listTools());
      return (step.until ?? []).every(isThere);
    });
    return { tools };
  },
  async call(session, step) {
    const { heard } = session;
    const [logsBefore, progressBefore] = [heard.logs.length, session.progress.length];
    const result = await session.call(
      { name: step.name, arguments: step.arguments },
      step.progress ? { onprogress: () => {} } : undefined,
    );
    const progress = session.progress.slice(progressBefore);
    const logs = () => heard.logs.slice(logsBefore);
    await within(LOGS_DUE_MS, () => (step.logs ?? []).every((due) => logs().some(({ data }) => data === due)));
    return { result, progress, logs: logs() };
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
  async subscribe(session, step) {
    await session.subscribe(step.uri);
    return {};
  },
  async updated(session, step) {
    const { updated } = session.heard;
    await within(UPDATE_DUE_MS, () => updated.includes(step.uri));
    return { updated: [...new Set(updated)] };
  },
};

/** What comes of a step, and what the client was asked meanwhile. */
async function done(session, step) {
  const before = session.heard.asked.length;
  session.heard.wish = step.wish;
  const came = play[step.do]
    ? await play[step.do](session, step)
    : { result: await ASK[step.do](session.client, step) };
  const asked = session.heard.asked.slice(before);
  return asked.length > 0 ? { ...came, asked } : came;
}

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

/** `connect(endpoint, mode, heard)` gives the SDK's client in the one shape that the steps use. */
async function run(connect) {
  const { sessions } = JSON.parse(readFileSync(process.argv[2], "utf8"));
  for (const { endpoint, mode, steps, answers, sampling } of sessions) {
    const heard = new Heard(answers, sampling);
    const session = { heard, ...(await connect(endpoint, mode, heard)) };
    say({ did: "connect", ...session.agreed() });
    for (const step of steps) {
      const { do: did, name = step.uri } = step;
      try {
        say({ did, name, ...(await done(session, step)) });
      } catch (error) {
        say({ did, name, error: `${error}` });
      }
    }
    await session.client.close();
  }
}

module.exports = { run, progressOf };
