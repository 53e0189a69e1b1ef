// The client of the TypeScript SDK v1 (@modelcontextprotocol/sdk).
"use strict";
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { SSEClientTransport } = require("@modelcontextprotocol/sdk/client/sse.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
const types = require("@modelcontextprotocol/sdk/types.js");
const { progressOf, run } = require("./steps.cjs");

const ASKED = {
  "sampling/createMessage": types.CreateMessageRequestSchema,
  "elicitation/create": types.ElicitRequestSchema,
  "roots/list": types.ListRootsRequestSchema,
};

function transport({ kind, url, command, args, env }) {
  if (kind === "http") return new StreamableHTTPClientTransport(new URL(url));
  if (kind === "sse") return new SSEClientTransport(new URL(url));
  return new StdioClientTransport({ command, args, env, stderr: "inherit" });
}

async function connect(endpoint, _mode, heard) {
  const { capabilities } = heard;
  const client = new Client({ name: "interop-typescript-v1", version: "1.0.0" }, { capabilities });
  client.setNotificationHandler(types.LoggingMessageNotificationSchema, ({ params }) => void heard.logs.push(params));
  client.setNotificationHandler(
    types.ResourceUpdatedNotificationSchema,
    ({ params }) => void heard.updated.push(params.uri),
  );
  for (const method of Object.keys(heard.answers)) {
    client.setRequestHandler(ASKED[method], ({ params }) => heard.answer(method, params));
  }
  const way = transport(endpoint);
  let revision;
  way.setProtocolVersion = ((inner) => (version) => {
    revision = version;
    inner?.call(way, version);
  })(way.setProtocolVersion);
  await client.connect(way);
  return {
    client,
    progress: progressOf(way),
    agreed: () => ({ revision, server: client.getServerVersion() }),
    setLevel: (level) => client.setLoggingLevel(level),
    call: (params, options) => client.callTool(params, undefined, options),
    subscribe: (uri) => client.subscribeResource({ uri }),
  };
}

run(connect);
