// Tests pippin serve with programs that use ollama's API: its own client for JavaScript, the provider of the
// AI SDK, and the requests that Home Assistant and VS Code send. Run by ctest as serve_ollama; clients that are not
// installed (install_clients.sh) skip by name.
import assert from "node:assert/strict";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { after, before, describe, test } from "node:test";
import { client, serve, sharedData } from "./serving.mjs";

// For packages without CommonJS.
async function module(file) {
  const modules = process.env.PIPPIN_CLIENTS ?? new URL("../../build/clients/node_modules", import.meta.url).pathname;
  return import(pathToFileURL(path.join(modules, file))).catch(() => null);
}

const library = client("ollama");
const ai = await module("ai/dist/index.js");
const provider = await module("ollama-ai-provider-v2/dist/index.mjs");

const hello = [{ role: "user", content: "Tell me a story about a fox called Mia." }];
const parameters = {
  type: "object", properties: { city: { type: "string", pattern: "^[a-z]{2,5}$" } }, required: ["city"],
  additionalProperties: false,
};
const weather = { type: "function", function: { name: "weather", description: "Tells the weather", parameters } };

let server, tooled;
before(async () => {
  server = await serve("--quiet");
  tooled = await serve("--quiet", "--chat-template", new URL("tools.jinja", import.meta.url).pathname);
});
after(() => Promise.all([server.stop(), tooled.stop()]));

async function ask(url, body, method = body ? "POST" : "GET") {
  const response = await fetch(url, { method, body: body && JSON.stringify(body) });
  assert.equal(response.status, 200, await response.clone().text());
  return response;
}
const lines = async (response) => (await response.text()).trimEnd().split("\n").map((line) => JSON.parse(line));

describe("ollama's client", { skip: !library && "ollama is not installed" }, () => {
  const connect = (to) => new library.Ollama({ host: to.url });

  test("chat, whole and as a stream", async () => {
    const ollama = connect(server);
    const request = { model: "demo", messages: hello, options: { temperature: 0, num_predict: 20 } };
    const whole = await ollama.chat(request);
    assert.equal(whole.message.role, "assistant");
    assert.equal(whole.done_reason, "length");
    assert.equal(whole.eval_count, 20);
    let text = "", last;
    for await (const part of await ollama.chat({ ...request, stream: true })) {
      text += part.message.content;
      last = part;
    }
    assert.equal(text, whole.message.content);
    assert.ok(last.done && last.total_duration > 0 && last.prompt_eval_count === whole.prompt_eval_count);
  });

  test("generate, with a schema and with a context", async () => {
    const ollama = connect(server);
    const first = await ollama.generate({ model: "demo:latest", prompt: "Once", options: { num_predict: 5 } });
    assert.ok(first.response && first.context.length > 5);
    const second = await ollama.generate({ model: "demo", prompt: "On", context: first.context, options: { num_predict: 2 } });
    assert.deepEqual(second.context.slice(0, first.context.length), first.context);
    const formed = await ollama.generate({ model: "demo", prompt: "Where?", format: parameters });
    assert.match(JSON.parse(formed.response).city, /^[a-z]{2,5}$/);
  });

  test("an aborted stream frees the server", async () => {
    const ollama = connect(server);
    const stream = await ollama.chat({ model: "demo", messages: hello, stream: true });
    await assert.rejects(async () => {
      for await (const part of stream) if (part.message.content) ollama.abort();
    }, { name: "AbortError" });
  });

  test("tools", async () => {
    const ollama = connect(tooled);
    const messages = [{ role: "user", content: "Go" }];
    const first = await ollama.chat({ model: "demo", messages, tools: [weather], tool_choice: "required",
                                      options: { num_predict: 60 } });
    const [call] = first.message.tool_calls;
    assert.equal(call.function.name, "weather");
    assert.match(call.function.arguments.city, /^[a-z]{2,5}$/);
    messages.push(first.message, { role: "tool", tool_name: "weather", content: "Rain" });
    const next = await ollama.chat({ model: "demo", messages, tools: [weather], options: { num_predict: 3 } });
    assert.ok(next.done);
    await assert.rejects(connect(server).chat({ model: "demo", messages: hello, tools: [weather] }),
                         { status_code: 400, message: /does not support tools/ });
  });

  test("models", async () => {
    const ollama = connect(server);
    assert.match((await ollama.version()).version, /^\d+\.\d+\.\d+$/);
    const { models } = await ollama.list();
    assert.deepEqual(models.map((model) => model.name), ["demo:latest"]);
    assert.deepEqual((await ollama.show({ model: "demo" })).capabilities, ["completion"]);
    await ollama.copy({ source: "demo", destination: "tales" });
    assert.deepEqual((await ollama.list()).models.map((model) => model.model), ["demo:latest", "tales:latest"]);
    assert.equal((await ollama.chat({ model: "tales", messages: hello, options: { num_predict: 1 } })).model, "tales");
    await ollama.delete({ model: "tales" });
    assert.equal((await ollama.ps()).models.length, 1);
    await assert.rejects(ollama.chat({ model: "gone", messages: hello }), { status_code: 404, message: /not found/ });
    await assert.rejects(ollama.create({ model: "a", from: "demo" }), { status_code: 501, message: /not supported/ });
  });

  test("embeddings", async () => {
    const ollama = connect(server);
    const { embeddings } = await ollama.embed({ model: "demo", input: ["A fox.", "A hen."] });
    assert.equal(embeddings.length, 2);
    const { embedding } = await ollama.embeddings({ model: "demo", prompt: "A fox." });
    assert.deepEqual(embedding, embeddings[0]);
  });

  test("a model comes and goes", async () => {
    const ollama = connect(tooled);
    assert.equal((await ollama.generate({ model: "demo", prompt: "", keep_alive: 0 })).done_reason, "unload");
    assert.equal((await ollama.ps()).models.length, 0);
    assert.equal((await ollama.chat({ model: "demo", messages: [] })).done_reason, "load");
    assert.equal((await ollama.ps()).models.length, 1);
  });
});

describe("ollama-ai-provider-v2", {
  skip: (!ai && "ai is not installed") || (!provider && "ollama-ai-provider-v2 is not installed"),
}, () => {
  const model = (to) => provider.createOllama({ baseURL: to.url + "/api" })("demo");

  test("text, whole and as a stream", async () => {
    const request = { model: model(server), prompt: "Tell me a story.", temperature: 0, maxOutputTokens: 12 };
    const { text, usage, finishReason } = await ai.generateText(request);
    assert.ok(text.length > 10);
    assert.equal(usage.outputTokens, 12);
    assert.equal(finishReason, "length");
    let streamed = "";
    for await (const part of ai.streamText(request).textStream) streamed += part;
    assert.equal(streamed, text);
  });

  test("embeddings", async () => {
    const embedder = provider.createOllama({ baseURL: server.url + "/api" }).embeddingModel("demo");
    const { embeddings } = await ai.embedMany({ model: embedder, values: ["A fox.", "A hen."] });
    assert.equal(embeddings.length, 2);
  });
});

// The requests of Home Assistant's integration, which uses ollama's client for Python.
test("Home Assistant", async () => {
  const { models } = await (await ask(tooled.url + "/api/tags")).json();
  assert.ok(models.some((model) => model.model === "demo:latest"));
  const answer = await lines(await ask(tooled.url + "/api/chat", {
    model: "demo:latest", stream: true, keep_alive: "-1s", think: false, options: { num_ctx: 8192, num_predict: 4 },
    messages: [{ role: "system", content: "You are a voice assistant." }, { role: "user", content: "Hello" }],
    tools: [{ type: "function", function: { name: "HassTurnOn", description: "Turns on a device", parameters: {
      type: "object", properties: { name: { type: "string" }, area: { type: "string" },
                                    domain: { type: "array", items: { type: "string" } } }, required: [] } } }],
  }));
  assert.ok(answer.at(-1).done);
  const { models: loaded } = await (await ask(tooled.url + "/api/ps")).json();
  assert.ok(new Date(loaded[0].expires_at) > new Date("2100-01-01"));
});

// VS Code with models of an ollama server: it requests the version, the models and their capabilities, and chats with
// OpenAI's API.
test("VS Code", async () => {
  const { version } = await (await ask(tooled.url + "/api/version")).json();
  const [major, minor, patch] = version.split(".").map(Number);
  assert.ok(major > 0 || minor > 6 || (minor === 6 && patch >= 4));
  const { models } = await (await ask(tooled.url + "/api/tags")).json();
  const shown = await (await ask(tooled.url + "/api/show", { model: models[0].model })).json();
  const family = shown.model_info["general.architecture"];
  assert.ok(shown.model_info[family + ".context_length"] > 0);
  assert.ok(shown.model_info["general.basename"]);
  assert.ok(shown.capabilities.includes("tools"));
  const answer = await ask(tooled.url + "/v1/chat/completions", {
    model: models[0].model, messages: hello, stream: true, stream_options: { include_usage: true }, temperature: 0.1,
    top_p: 1, n: 1, max_tokens: 8, tools: [weather], tool_choice: "auto",
  });
  assert.match(await answer.text(), /data: \[DONE\]/);
});

const gguf = sharedData("architectures2/gguf_q5_k/model.gguf");
test("a model is described without being loaded", { skip: !gguf && "shared test data is absent: data/architectures2" }, async () => {
  const several = await serve("--quiet", "demo", `small=${gguf}`);
  try {
    const { models } = await (await ask(several.url + "/api/tags")).json();
    const { details } = models.find((model) => model.name === "small:latest");
    assert.deepEqual([details.format, details.family, details.quantization_level], ["gguf", "llama", ""]);
    const shown = await (await ask(several.url + "/api/show", { model: "small" })).json();
    assert.equal(shown.model_info["llama.context_length"], 256);
    const { models: loaded } = await (await ask(several.url + "/api/ps")).json();
    assert.deepEqual(loaded.map((model) => model.name), ["demo:latest"]);
  } finally {
    await several.stop();
  }
});

test("probes", async () => {
  assert.equal(await (await ask(server.url + "/")).text(), "Ollama is running");
  for (const route of ["/", "/api/tags", "/api/version"]) await ask(server.url + route, null, "HEAD");
  const page = await fetch(server.url + "/", { headers: { accept: "text/html,*/*;q=0.8" } });
  assert.match(page.headers.get("content-type"), /text\/(html|plain)/);
});
