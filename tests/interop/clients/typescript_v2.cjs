// The client of the TypeScript SDK v2 (@modelcontextprotocol/client).
"use strict";
const { Client, SSEClientTransport, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");
const { progressOf, run } = require("./steps.cjs");

function transport({ kind, url, command, args, env }) {
  if (kind === "http") return new StreamableHTTPClientTransport(new URL(url));
  if (kind === "sse") return new SSEClientTransport(new URL(url));
  return new StdioClientTransport({ command, args, env, stderr: "inherit" });
}

async function connect(endpoint, mode) {
  const client = new Client(
    { name: "interop-typescript-v2", version: "1.0.0" },
    { versionNegotiation: { mode } },
  );
  const logs = [];
  client.setNotificationHandler("notifications/message", ({ params }) => void logs.push(params));
  const way = transport(endpoint);
  await client.connect(way);
  return {
    logs,
    progress: progressOf(way),
    agreed: () => ({ revision: client.getNegotiatedProtocolVersion(), server: client.getServerVersion() }),
    ping: () => client.ping(),
    setLevel: (level) => client.setLoggingLevel(level),
    list: () => client.listTools(),
    call: (params, options) => client.callTool(params, options),
    close: () => client.close(),
  };
}

run(connect);
