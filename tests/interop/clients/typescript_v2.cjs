// The client of the TypeScript SDK v2 (@modelcontextprotocol/client).
"use strict";
const {
  Client,
  LOG_LEVEL_META_KEY,
  SSEClientTransport,
  StreamableHTTPClientTransport,
} = require("@modelcontextprotocol/client");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");
const { progressOf, run } = require("./steps.cjs");

function transport({ kind, url, command, args, env }) {
  if (kind === "http") return new StreamableHTTPClientTransport(new URL(url));
  if (kind === "sse") return new SSEClientTransport(new URL(url));
  return new StdioClientTransport({ command, args, env, stderr: "inherit" });
}

/** `mode` is `legacy`, `auto`, or the revision that it insists on. */
async function connect(endpoint, mode, heard) {
  const client = new Client(
    { name: "interop-typescript-v2", version: "1.0.0" },
    {
      capabilities: heard.capabilities,
      versionNegotiation: { mode: /^\d/.test(mode) ? { pin: mode } : mode },
    },
  );
  client.setNotificationHandler("notifications/message", ({ params }) => void heard.logs.push(params));
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => void heard.updated.push(params.uri));
  for (const method of Object.keys(heard.answers)) {
    client.setRequestHandler(method, ({ params }) => heard.answer(method, params));
  }
  const way = transport(endpoint);
  await client.connect(way);
  return { client, progress: progressOf(way), ...inItsEra(client) };
}

/** What 2026-07-28 says in other words. */
function inItsEra(client) {
  const agreed = () => ({ revision: client.getNegotiatedProtocolVersion(), server: client.getServerVersion() });
  if (client.getProtocolEra() !== "modern") {
    return {
      agreed,
      setLevel: (level) => client.setLoggingLevel(level),
      call: (params, options) => client.callTool(params, options),
      subscribe: (uri) => client.subscribeResource({ uri }),
    };
  }
  const meta = {};
  return {
    agreed,
    setLevel: (level) => void (meta[LOG_LEVEL_META_KEY] = level),
    call: (params, options) => client.callTool({ ...params, _meta: meta }, options),
    subscribe: (uri) => client.listen({ resourceSubscriptions: [uri] }),
  };
}

run(connect);
