// The client of the TypeScript SDK v1 (@modelcontextprotocol/sdk).
"use strict";
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { SSEClientTransport } = require("@modelcontextprotocol/sdk/client/sse.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { LoggingMessageNotificationSchema } = require("@modelcontextprotocol/sdk/types.js");
const { progressOf, run } = require("./steps.cjs");

function transport({ kind, url, command, args, env }) {
  if (kind === "http") return new StreamableHTTPClientTransport(new URL(url));
  if (kind === "sse") return new SSEClientTransport(new URL(url));
  return new StdioClientTransport({ command, args, env, stderr: "inherit" });
}

async function connect(endpoint) {
  const client = new Client({ name: "interop-typescript-v1", version: "1.0.0" });
  const logs = [];
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logs.push(params));
  const way = transport(endpoint);
  let revision;
  way.setProtocolVersion = ((inner) => (version) => {
    revision = version;
    inner?.call(way, version);
  })(way.setProtocolVersion);
  await client.connect(way);
  return {
    logs,
    progress: progressOf(way),
    agreed: () => ({ revision, server: client.getServerVersion() }),
    ping: () => client.ping(),
    setLevel: (level) => client.setLoggingLevel(level),
    list: () => client.listTools(),
    call: (params, options) => client.callTool(params, undefined, options),
    close: () => client.close(),
  };
}

run(connect);
