// Shows the description at /openapi.json and lets its reader try each operation. Everything that comes from there or
// from an answer is put into the page as text, never as markup.
"use strict";

const VERBS = ["get", "post", "put", "patch", "delete"];
let description = {};

/** A new element with attributes and children; a child that is no element becomes text. */
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  for (const child of children.flat()) {
    if (child === null || child === undefined) continue;
    made.append(child instanceof Node ? child : String(child));
  }
  return made;
}

/** What a reference stands for; anything else is itself. */
function resolved(part) {
  const reference = part && part["$ref"];
  if (!reference || !reference.startsWith("#/")) return part || {};
  const steps = reference.slice(2).split("/").map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  return steps.reduce((place, step) => (place || {})[step], description) || {};
}

/** The name that a schema is known by, if it has one. */
function nameOf(schema) {
  return schema && schema["$ref"] ? schema["$ref"].split("/").pop() : null;
}

/** A schema as people would write it down. */
function sketch(schema, depth = 0, seen = []) {
  const name = nameOf(schema);
  if (name && (seen.includes(name) || depth > 5)) return name;
  const known = name ? [...seen, name] : seen;
  const own = resolved(schema);
  const options = own.oneOf || own.anyOf;
  if (options) return options.map((option) => sketch(option, depth, known)).join(depth ? " | " : "\n| ");
  const types = [].concat(own.type || "any");
  if (types.includes("array")) return `[${sketch(own.items, depth, known)}]${nullable(types)}`;
  if (types.includes("object") && own.properties) {
    const pad = "  ".repeat(depth + 1);
    const lines = Object.entries(own.properties).map(([key, value]) => {
      const mark = (own.required || []).includes(key) ? "" : "?";
      const about = resolved(value).description || value.description;
      const note = about ? `  // ${about.replaceAll("\n", " ")}` : "";
      return `${pad}${key}${mark}: ${sketch(value, depth + 1, known)}${note}`;
    });
    return `{\n${lines.join("\n")}\n${"  ".repeat(depth)}}${nullable(types)}`;
  }
  if (types.includes("object") && own.additionalProperties) {
    return `{ …: ${sketch(own.additionalProperties, depth, known)} }${nullable(types)}`;
  }
  return types.join(" | ") + bounds(own);
}

function nullable(types) {
  return types.includes("null") ? " | null" : "";
}

/** What narrows a simple value. */
function bounds(schema) {
  const parts = [];
  if (schema.enum) parts.push(`one of ${schema.enum.join(", ")}`);
  if (schema.format) parts.push(schema.format);
  if (schema.minimum !== undefined) parts.push(`from ${schema.minimum}`);
  if (schema.exclusiveMinimum !== undefined) parts.push(`more than ${schema.exclusiveMinimum}`);
  if (schema.maximum !== undefined) parts.push(`to ${schema.maximum}`);
  if (schema.minLength !== undefined) parts.push(`at least ${schema.minLength} long`);
  if (schema.maxLength !== undefined) parts.push(`at most ${schema.maxLength} long`);
  if (schema.pattern) parts.push(schema.pattern);
  if (schema.default !== undefined) parts.push(`default ${JSON.stringify(schema.default)}`);
  return parts.length ? ` (${parts.join(", ")})` : "";
}

/** A body to begin with: what is required, with values of the right kind. */
function sample(schema) {
  const own = resolved(schema);
  if (own.example !== undefined) return own.example;
  if (own.default !== undefined) return own.default;
  if (own.oneOf) return sample(own.oneOf[own.oneOf.length > 2 ? 2 : 0]);
  const type = [].concat(own.type || "string")[0];
  if (type === "object") {
    return Object.fromEntries((own.required || []).map((key) => [key, sample((own.properties || {})[key])]));
  }
  if (type === "array") return [];
  if (type === "boolean") return false;
  if (type === "integer" || type === "number") return own.minimum || 1;
  return own.format === "uri" ? "https://example.com" : "";
}

function parametersTable(parameters) {
  if (!parameters.length) return null;
  const rows = parameters.map((parameter) =>
    element("tr", {},
      element("td", {}, element("code", {}, parameter.name), parameter.required ? " *" : ""),
      element("td", {}, parameter.in),
      element("td", {}, sketch(parameter.schema)),
      element("td", {}, parameter.description || "")));
  return [element("h3", {}, "Parameters"), element("table", {}, element("tbody", {}, rows))];
}

function bodyPart(body) {
  const content = body.content || {};
  const [media] = Object.keys(content);
  if (!media) return null;
  const need = body.required ? "required" : "may be left out";
  return [
    element("h3", {}, "Body ", element("span", { class: "faint" }, `${media}, ${need}`)),
    element("pre", {}, sketch(content[media].schema)),
  ];
}

function answersTable(responses) {
  const rows = Object.entries(responses).map(([status, reference]) => {
    const response = resolved(reference);
    const contents = Object.entries(response.content || {}).map(([media, content]) => {
      const name = nameOf(content.schema);
      const about = `${media}${name ? `: ${name}` : ""}`;
      if (name === "Problem") return element("div", { class: "faint" }, about);
      return element("div", {}, element("div", { class: "faint" }, about), element("pre", {}, sketch(content.schema)));
    });
    return element("tr", {},
      element("td", {}, element("code", {}, status)),
      element("td", {}, response.description || "", contents));
  });
  return [element("h3", {}, "Answers"), element("table", {}, element("tbody", {}, rows))];
}

/** The form that sends a request, and the place where its answer is shown. */
function tryIt(verb, path, parameters, body) {
  const inputs = parameters.map((parameter) => {
    const input = element("input", { autocomplete: "off", spellcheck: "false" });
    return { parameter, input, label: element("label", {}, `${parameter.name} (${parameter.in})`, input) };
  });
  const content = body && body.content && body.content["application/json"];
  const text = content ? element("textarea", { rows: "8", spellcheck: "false" }) : null;
  if (text && body.required) text.value = JSON.stringify(sample(content.schema), null, 2);
  const send = element("button", { type: "submit" }, "Send");
  const stop = element("button", { type: "button" }, "Stop");
  stop.disabled = true;
  const status = element("p", { role: "status" });
  const shown = element("pre", {});
  shown.hidden = true;
  const form = element("form", {},
    element("h3", {}, "Try it"), inputs.map((entry) => entry.label),
    text ? element("label", {}, "Body", text) : null, send, stop, status, shown);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const abort = new AbortController();
    stop.onclick = () => abort.abort();
    [send.disabled, stop.disabled, shown.hidden, shown.textContent] = [true, false, true, ""];
    status.textContent = "Sent, waiting for the answer…";
    try {
      await exchange(request(verb, path, inputs, text, abort.signal), status, shown);
    } catch (error) {
      if (error.name !== "AbortError") status.textContent = `No answer: ${error.message}`;
    }
    [send.disabled, stop.disabled] = [false, true];
  });
  return form;
}

/** The request as the form says. */
function request(verb, path, inputs, text, signal) {
  const query = new URLSearchParams();
  const headers = {};
  let place = path;
  for (const { parameter, input } of inputs) {
    if (parameter.in === "path") place = place.replace(`{${parameter.name}}`, () => encodeURIComponent(input.value));
    else if (input.value !== "" && parameter.in === "query") query.set(parameter.name, input.value);
    else if (input.value !== "" && parameter.in === "header") headers[parameter.name] = input.value;
  }
  const options = { method: verb.toUpperCase(), headers, signal, cache: "no-store" };
  if (text && text.value.trim() !== "") {
    options.body = text.value;
    headers["Content-Type"] = "application/json";
  }
  const asked = query.toString();
  return [asked ? `${place}?${asked}` : place, options];
}

/** Sends a request and shows the answer while it comes: an event stream does not end by itself. */
async function exchange([place, options], status, shown) {
  const begun = performance.now();
  const answer = await fetch(place, options);
  const kind = answer.headers.get("Content-Type") || "no content";
  const total = answer.headers.get("X-Total-Count");
  const took = Math.round(performance.now() - begun);
  const count = total === null ? "" : `, ${total} in all`;
  status.textContent = `${options.method} ${place} → ${answer.status} ${answer.statusText} (${kind}${count}, ${took} ms)`;
  if (!answer.body || answer.status === 204) return;
  shown.hidden = false;
  const decoder = new TextDecoder();
  const reader = answer.body.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    shown.append(decoder.decode(part.value, { stream: true }));
  }
  if (kind.includes("json")) shown.textContent = pretty(shown.textContent);
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function operationPart(verb, path, operation) {
  const parameters = (operation.parameters || []).map(resolved);
  const body = operation.requestBody ? resolved(operation.requestBody) : null;
  const part = element("details", { id: operation.operationId },
    element("summary", {},
      element("span", { class: `verb ${verb}` }, verb), element("code", {}, path),
      element("span", { class: "faint" }, operation.summary || "")));
  // Made when it is first opened: most never are.
  part.addEventListener("toggle", () => {
    part.append(element("div", { class: "inside" },
      operation.description ? element("p", {}, operation.description) : null,
      parametersTable(parameters), body ? bodyPart(body) : null,
      answersTable(operation.responses || {}), tryIt(verb, path, parameters, body)));
  }, { once: true });
  return part;
}

function show() {
  document.getElementById("title").textContent = `${description.info.title} ${description.info.version}`;
  document.getElementById("about").textContent = description.info.description || "";
  const operations = Object.entries(description.paths).flatMap(([path, item]) =>
    VERBS.filter((verb) => item[verb]).map((verb) => ({ path, verb, operation: item[verb] })));
  for (const tag of description.tags || []) {
    const own = operations.filter(({ operation }) => (operation.tags || []).includes(tag.name));
    document.getElementById("tags").append(element("a", { href: `#${tag.name}` }, tag.name));
    document.getElementById("operations").append(element("section", { id: tag.name },
      element("h2", {}, tag.name), element("p", { class: "faint" }, tag.description || ""),
      own.map(({ verb, path, operation }) => operationPart(verb, path, operation))));
  }
  const meant = document.getElementById(location.hash.slice(1));
  if (meant) meant.scrollIntoView();
  if (meant && meant.tagName === "DETAILS") meant.open = true;
}

fetch("/openapi.json").then((answer) => answer.json()).then((read) => {
  description = read;
  show();
}).catch((error) => {
  document.getElementById("about").textContent = `The description could not be read: ${error.message}`;
});
