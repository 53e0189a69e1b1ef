// A model as far as agents need one: it wishes for one tool, and then says what came of it.
"use strict";

const MODEL = "played";

/** The answer to `sampling/createMessage`: by the tools of the request, or in words if it has none. */
function thought(wish, { messages, tools }) {
  if (messages.length > 1) {
    const answer = `I was told: ${told(messages.at(-1).content)}`;
    return said(tools ? answer : JSON.stringify({ answer }));
  }
  if (tools) {
    const use = { type: "tool_use", id: "wish", name: wish.tool, input: wish.arguments };
    return { role: "assistant", model: MODEL, stopReason: "toolUse", content: [use] };
  }
  return said(JSON.stringify(wish));
}

const said = (text) => ({ role: "assistant", model: MODEL, stopReason: "endTurn", content: { type: "text", text } });

/** The text of a message, or of the results in it. */
const told = (content) =>
  [content]
    .flat()
    .map((block) => (block.type === "tool_result" ? told(block.content) : block.text))
    .join("\n");

module.exports = { thought };
