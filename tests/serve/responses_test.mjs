// Tests pippin serve with clients of OpenAI's Responses API. Run by ctest as serve_responses; skips the tests of
// clients that are not installed (install_clients.sh, --agents for Codex).
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { client, module, program, serve, sharedData } from "./serving.mjs";

const OpenAI = client("openai");
const Ajv = client("ajv/dist/2020");
const agents = await module("@openai/agents");
const aiSdk = await module("@ai-sdk/openai");
const ai = await module("ai");
const zod = await module("zod");
const codex = program("codex");
const unless = (found, name) => ({ skip: found ? false : name + " is not installed" });

const bundle = sharedData("serving/openapi/openai-bundle.schema.json");
const ajv = Ajv && new Ajv.default({ strict: false, validateFormats: false, allErrors: false });
if (ajv && bundle) ajv.addSchema(JSON.parse(fs.readFileSync(bundle, "utf8")), "openai");
function conforms(name, value) {
  if (!ajv || !bundle) return;
  const validate = ajv.getSchema("openai#/$defs/" + name);
  assert.ok(validate(value), name + ": " + JSON.stringify(validate.errors) + " in " + JSON.stringify(value));
}

const template = (name) => new URL(name, import.meta.url).pathname;
const story = "Tell me a story about a fox called Mia.";
const parameters = {
  type: "object", additionalProperties: false, required: ["animal", "legs"],
  properties: { animal: { type: "string", enum: ["fox", "hen"] }, legs: { type: "integer", minimum: 2, maximum: 4 } },
};
const note = { type: "function", name: "note", description: "Notes it", strict: true, parameters };

let server;
before(async () => { server = await serve("--quiet", "--chat-template", template("tools.jinja")); });
after(() => server?.stop());

describe("openai-node", unless(OpenAI && Ajv, "openai"), () => {
  let openai;
  before(() => { openai = new OpenAI.OpenAI({ baseURL: server.url + "/v1", apiKey: "any" }); });

  test("whole answers and streams", async () => {
    const request = { model: "demo", input: story, max_output_tokens: 20, include: ["message.output_text.logprobs"], top_logprobs: 2 };
    const whole = await openai.responses.create(request);
    conforms("Response", whole);
    assert.equal(whole.status, "incomplete");
    assert.ok(whole.output_text.length > 20);
    const events = [];
    for await (const event of await openai.responses.create({ ...request, stream: true })) events.push(event);
    for (const event of events) conforms("ResponseStreamEvent", event);
    assert.deepEqual(events.map((event) => event.sequence_number), events.map((_, i) => i));
    assert.equal(events.filter((event) => event.type === "response.output_text.delta").map((event) => event.delta).join(""),
      whole.output_text);
    assert.equal(events.at(-1).type, "response.incomplete");
  });

  test("the helper that gathers a stream", async () => {
    const stream = openai.responses.stream({ model: "demo", input: "Hello", max_output_tokens: 60 });
    let text = "";
    stream.on("response.output_text.delta", (event) => { text = event.snapshot; });
    const answer = await stream.finalResponse();
    assert.equal(answer.status, "completed");
    assert.equal(answer.output_text, text);
  });

  test("answers in a form", async () => {
    const request = { model: "demo", input: story, text: { format: { type: "json_schema", name: "animal", strict: true, schema: parameters } } };
    const parsed = await openai.responses.parse(request);
    conforms("Response", parsed);
    assert.ok(["fox", "hen"].includes(parsed.output_parsed.animal));
    const streamed = await openai.responses.stream(request).finalResponse();
    assert.deepEqual(streamed.output_parsed, parsed.output_parsed);
  });

  test("tools, and their results by the response's name", async () => {
    const request = { model: "demo", input: "Go", tools: [note, { type: "web_search" }], tool_choice: "required", parallel_tool_calls: false };
    const answer = await openai.responses.create(request);
    conforms("Response", answer);
    assert.deepEqual(answer.output.map((item) => item.type), ["function_call"]);
    const [call] = answer.output;
    assert.ok(ajv.compile(parameters)(JSON.parse(call.arguments)), call.arguments);
    const stream = openai.responses.stream(request);
    stream.on("event", (event) => { const { snapshot, ...sent } = event; conforms("ResponseStreamEvent", sent); });
    assert.equal((await stream.finalResponse()).output[0].arguments, call.arguments);
    const next = await openai.responses.create({
      model: "demo", previous_response_id: answer.id, max_output_tokens: 5,
      input: [{ type: "function_call_output", call_id: call.call_id, output: "noted" }] });
    assert.equal(next.output[0].type, "message");
    assert.equal(next.previous_response_id, answer.id);
  });

  test("stored responses", async () => {
    const made = await openai.responses.create({ model: "demo", input: story, max_output_tokens: 4, metadata: { a: "b" } });
    const { output_text, ...sent } = made;
    const given = await openai.responses.retrieve(made.id);
    assert.deepEqual(given.output, sent.output);
    conforms("Response", given);
    const next = await openai.responses.create({
      model: "demo", previous_response_id: made.id, max_output_tokens: 2, input: [{ role: "assistant", content: "So." }, { role: "user", content: "And?" }] });
    const items = [];
    for await (const item of openai.responses.inputItems.list(next.id, { order: "asc", limit: 3 })) {
      conforms("Item", item);
      items.push(item);
    }
    assert.deepEqual(items.map((item) => [item.role, item.content[0].text]),
      [["user", story], ["assistant", made.output_text], ["assistant", "So."], ["user", "And?"]]);
    await openai.responses.delete(made.id);
    await assert.rejects(openai.responses.retrieve(made.id), OpenAI.NotFoundError);
    await assert.rejects(openai.responses.create({ model: "demo", input: "x", previous_response_id: made.id }),
      (error) => error instanceof OpenAI.BadRequestError && error.code === "previous_response_not_found" &&
        error.param === "previous_response_id");
    const background = await openai.responses.create({ model: "demo", input: story, background: true, max_output_tokens: 4 });
    conforms("Response", background);
    conforms("Response", await openai.responses.cancel(background.id));
    const count = await openai.responses.inputTokens.count({ model: "demo", input: story });
    conforms("TokenCountsResource", count);
    assert.equal(count.input_tokens, made.usage.input_tokens);
  });

  test("a stream that another client cancels", async () => {
    const stream = await openai.responses.create({ model: "demo", input: story, stream: true, ignore_eos: true, max_output_tokens: 480 });
    let cancelled, last;
    for await (const event of stream) {
      conforms("ResponseStreamEvent", event);
      if (event.type === "response.created") cancelled = openai.responses.cancel(event.response.id);
      last = event;
    }
    const answer = await cancelled.catch((error) => error);
    if (last.type === "response.incomplete") return;  // the answer finished first
    assert.equal(last.type, "response.failed");
    assert.equal(last.response.status, "cancelled");
    assert.equal(answer.status, "cancelled");
    assert.deepEqual((await openai.responses.retrieve(answer.id)).output, last.response.output);
  });

  test("errors have their classes, and name the field", async () => {
    for (const [more, field] of [
      [{ input: [{ role: "king", content: "x" }] }, "input[0].role"],
      [{ input: [{ type: "function_call_output", call_id: "gone", output: "x" }] }, "input[0].call_id"],
      [{ tools: Array.from({ length: 10000 }, (_, i) => ({ ...note, name: "f" + i })) }, "tools"],
      [{ conversation: "conv_1" }, "conversation"],
      [{ text: { format: { type: "json_schema", name: "x", schema: { items: { uniqueItems: true } } } } }, "text.format"],
    ]) {
      await assert.rejects(openai.responses.create({ model: "demo", input: "x", ...more }), (error) =>
        error instanceof OpenAI.BadRequestError && error.param === field && error.message.includes(field));
    }
    let deep = "x";
    for (let i = 0; i < 1000; ++i) deep = [deep];
    await assert.rejects(openai.responses.create({ model: "demo", input: [{ role: "user", content: deep }] }),
      OpenAI.BadRequestError);
    await assert.rejects(openai.responses.create({ model: "gone", input: "x" }), OpenAI.NotFoundError);
    assert.equal((await openai.responses.create({ model: "demo", input: "x", max_output_tokens: 1 })).usage.output_tokens, 1);
  });
});

describe("thoughts", unless(OpenAI && Ajv && aiSdk && ai, "openai or @ai-sdk/openai"), () => {
  // A grammar that determines everything the model writes.
  const grammar = 'root ::= "<think>\\nhm, hm\\n</think>\\n\\nYes."';
  let thinking;
  before(async () => { thinking = await serve("--quiet", "--chat-template", template("thinking.jinja")); });
  after(() => thinking.stop());

  test("openai-node", async () => {
    const openai = new OpenAI.OpenAI({ baseURL: thinking.url + "/v1", apiKey: "any" });
    const request = { model: "demo", input: "Hello", grammar, include: ["reasoning.encrypted_content"], store: false };
    const whole = await openai.responses.create(request);
    conforms("Response", whole);
    assert.deepEqual(whole.output.map((item) => item.content[0].text), ["hm, hm", "Yes."]);
    const stream = openai.responses.stream(request);
    stream.on("event", (event) => { const { snapshot, ...sent } = event; conforms("ResponseStreamEvent", sent); });
    assert.deepEqual((await stream.finalResponse()).output.map((item) => item.content[0].text), ["hm, hm", "Yes."]);
    // The whole output is sent back, as by clients without a store.
    const next = await openai.responses.create({
      model: "demo", store: false, max_output_tokens: 3,
      input: [{ role: "user", content: "Hello" }, ...whole.output, { role: "user", content: "And?" }] });
    assert.ok(next.usage.input_tokens > whole.usage.input_tokens + 10);
  });

  test("@ai-sdk/openai", async () => {
    const model = aiSdk.createOpenAI({
      baseURL: thinking.url + "/v1", apiKey: "any",
      fetch: (url, request) => fetch(url, { ...request, body: JSON.stringify({ ...JSON.parse(request.body), grammar }) }),
    })("demo");
    assert.equal((await ai.generateText({ model, prompt: "Hello" })).text, "Yes.");
    const stream = ai.streamText({ model, prompt: "Hello", onError: ({ error }) => { throw error; } });
    assert.equal(await stream.text, "Yes.");
  });
});

// The first request of a conversation must call this tool, which the demo model does not do by itself.
async function demand(name, url) {
  const outputs = [];  // the tool's outputs, as sent back by clients
  const proxy = http.createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    if (request.method === "POST" && request.url.endsWith("/responses")) {
      const asked = JSON.parse(body);
      const results = Array.isArray(asked.input) ? asked.input.filter((item) => item.type === "function_call_output") : [];
      outputs.push(...results.map((item) => JSON.stringify(item.output)));
      if (results.length === 0 && asked.tools?.some((tool) => tool.name === name)) asked.tool_choice = { type: "function", name };
      body = JSON.stringify(asked);
    }
    const answer = await fetch(url + request.url, {
      method: request.method, headers: { "content-type": "application/json" }, body: body || undefined });
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") });
    for await (const piece of answer.body) response.write(piece);
    response.end();
  });
  await new Promise((done) => proxy.listen(0, "127.0.0.1", done));
  return { outputs, url: `http://127.0.0.1:${proxy.address().port}`, stop: () => { proxy.closeAllConnections(); proxy.close(); } };
}

describe("@openai/agents", unless(agents && OpenAI && zod, "@openai/agents"), () => {
  let model, proxy;
  before(async () => {
    proxy = await demand("note", server.url);
    agents.setTracingDisabled(true);
    const openai = new OpenAI.OpenAI({ baseURL: proxy.url + "/v1", apiKey: "any" });
    model = new agents.OpenAIResponsesModel(openai, "demo");
  });
  after(() => proxy.stop());

  test("a run with a tool, whole and as a stream", async () => {
    const noted = [];
    const tool = agents.tool({
      name: "note", description: "Notes it", parameters: zod.z.object({ animal: zod.z.enum(["fox", "hen"]) }),
      execute: (what) => { noted.push(what.animal); return "noted"; } });
    const agent = new agents.Agent({ name: "Mia", instructions: "Be brief.", model, tools: [tool], modelSettings: { maxTokens: 60 } });
    const result = await agents.run(agent, "Hello");
    assert.ok(result.finalOutput.length > 0);
    assert.ok(["fox", "hen"].includes(noted[0]), JSON.stringify(noted));
    const stream = await agents.run(agent, "Hello", { stream: true });
    let text = "";
    for await (const piece of stream.toTextStream()) text += piece;
    await stream.completed;
    assert.equal(text, stream.finalOutput);
    assert.equal(noted.length, 2);
  });

  test("a conversation that the server stores", async () => {
    const agent = new agents.Agent({ name: "Mia", model, modelSettings: { maxTokens: 8 } });
    const first = await agents.run(agent, "Hello");
    const next = await agents.run(agent, "And then?", { previousResponseId: first.lastResponseId });
    assert.ok(next.state.usage.inputTokens > first.state.usage.inputTokens + 4);
  });
});

describe("@ai-sdk/openai", unless(aiSdk && ai && zod, "@ai-sdk/openai"), () => {
  let model, proxy;
  before(async () => {
    proxy = await demand("note", server.url);
    model = aiSdk.createOpenAI({ baseURL: proxy.url + "/v1", apiKey: "any" })("demo");
  });
  after(() => proxy.stop());

  test("text, whole and as a stream", async () => {
    const whole = await ai.generateText({ model, prompt: story, maxOutputTokens: 20 });
    assert.equal(whole.finishReason, "length");
    const stream = ai.streamText({ model, prompt: story, maxOutputTokens: 20 });
    let text = "";
    for await (const piece of stream.textStream) text += piece;
    assert.equal(text, whole.text);
    assert.equal((await stream.usage).outputTokens, 20);
  });

  // It refers to items of earlier steps, which the server must have stored.
  test("steps with a tool, whole and as a stream", async () => {
    const noted = [];
    const request = () => ({
      model, prompt: "Hello", maxOutputTokens: 60, stopWhen: ai.stepCountIs(2),
      tools: { note: ai.tool({ description: "Notes it", inputSchema: zod.z.object({ animal: zod.z.enum(["fox", "hen"]) }),
                               execute: async (what) => { noted.push(what.animal); return "noted"; } }) },
    });
    const result = await ai.generateText(request());
    assert.equal(result.steps.length, 2);
    const stream = ai.streamText(request());
    await stream.consumeStream({ onError: (error) => { throw error; } });
    assert.equal((await stream.steps).length, 2);
    assert.equal(await stream.text, result.text);
    assert.equal(noted.length, 2);
  });

  test("an object", async () => {
    const schema = zod.z.object({ animal: zod.z.enum(["fox", "hen"]), legs: zod.z.number().int().min(2).max(4) });
    const { output } = await ai.generateText({ model, prompt: story, output: ai.Output.object({ schema }) });
    assert.ok(schema.safeParse(output).success, JSON.stringify(output));
  });
});

describe("Codex", unless(codex, "Codex"), () => {
  let brief, proxy, home;
  before(async () => {
    // Its prompt has several thousand tokens, but the demo model's context is 512: the template shortens it.
    brief = await serve("--quiet", "--chat-template", template("brief.jinja"));
    proxy = await demand("get_goal", brief.url);
    home = fs.mkdtempSync(path.join(os.tmpdir(), "pippin-codex-"));
  });
  after(async () => {
    proxy.stop();
    await brief.stop();
    fs.rmSync(home, { recursive: true, force: true });
  });

  // Its events, one JSON object per line.
  async function run(url, prompt) {
    const provider = `{name="pippin",base_url="${url}/v1",wire_api="responses",request_max_retries=0,stream_max_retries=0}`;
    const child = spawn(codex, ["exec", "--json", "--skip-git-repo-check", "--sandbox", "read-only", "-C", home,
      "-c", "model_provider=pippin", "-c", "model=demo", "-c", "model_providers.pippin=" + provider, prompt],
      { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, CODEX_HOME: home } });
    let out = "", err = "";
    child.stdout.setEncoding("utf8").on("data", (text) => { out += text; });
    child.stderr.setEncoding("utf8").on("data", (text) => { err += text; });
    const code = await new Promise((done) => child.on("close", done));
    return { code, events: out.trim().split("\n").map((line) => JSON.parse(line)), err };
  }

  test("answers a prompt", async () => {
    const { code, events, err } = await run(brief.url, "Hello");
    assert.equal(code, 0, err + JSON.stringify(events));
    const said = events.filter((event) => event.item?.type === "agent_message");
    assert.ok(said.length === 1 && said[0].item.text.length > 0, JSON.stringify(events));
    assert.ok(events.at(-1).usage.output_tokens > 0);
  });

  test("calls a tool and goes on with its result", async () => {
    const { code, events, err } = await run(proxy.url, "Hello");
    assert.equal(code, 0, err + JSON.stringify(events));
    assert.ok(events.some((event) => event.item?.type === "agent_message"), JSON.stringify(events));
    assert.deepEqual(proxy.outputs.length, 1);
    assert.match(proxy.outputs[0], /goal/);
  });
});

describe("openai-python", () => {
  test("its helpers", async (context) => {
    const child = spawn("python3", [template("openai_responses.py"), server.url + "/v1"], { stdio: ["ignore", "pipe", "pipe"] });
    let out = "", err = "";
    child.stdout.setEncoding("utf8").on("data", (text) => { out += text; });
    child.stderr.setEncoding("utf8").on("data", (text) => { err += text; });
    const code = await new Promise((done) => child.on("close", done).on("error", () => done(77)));
    if (code === 77) return context.skip("openai-python is not installed");
    assert.equal(code, 0, out + err);
  });
});
