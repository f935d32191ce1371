// Tests /v1/files and /v1/batches of pippin serve with OpenAI's client, over restarts of the server. Run by ctest as
// serve_batches; skips if the client is not installed (install_clients.sh).
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { client, serve } from "./serving.mjs";

const OpenAI = client("openai");
const Ajv = client("ajv/dist/2020");
if (!OpenAI || !Ajv) {
  console.log("the clients are not installed (tests/serve/install_clients.sh)");
  process.exit(0);
}

// The types of the client's batches.d.ts and files.d.ts; absent members may be null, as in OpenAI's answers.
const ajv = new Ajv.default({ strict: false });
const integer = { type: "integer" }, string = { type: "string" }, time = { type: ["integer", "null"] };
const nullable = { type: ["string", "null"] };
const object = (required, more = {}) =>
  ({ type: "object", additionalProperties: false, required: Object.keys(required), properties: { ...required, ...more } });
const schemas = {
  file: object({ id: string, bytes: integer, created_at: integer, filename: string, object: { const: "file" },
    purpose: { enum: ["assistants", "batch", "batch_output", "fine-tune", "vision", "user_data"] }, status: { const: "processed" } },
  { expires_at: integer }),
  batch: object({ id: string, completion_window: string, created_at: integer, endpoint: string, input_file_id: string,
    object: { const: "batch" },
    status: { enum: ["validating", "failed", "in_progress", "finalizing", "completed", "expired", "cancelling", "cancelled"] },
    cancelled_at: time, cancelling_at: time, completed_at: time, error_file_id: nullable, expired_at: time, expires_at: integer,
    failed_at: time, finalizing_at: time, in_progress_at: time, metadata: { type: ["object", "null"] }, output_file_id: nullable,
    request_counts: object({ completed: integer, failed: integer, total: integer }),
    errors: { anyOf: [{ type: "null" }, object({ object: { const: "list" },
      data: { type: "array", items: object({ code: string, line: time, message: string, param: nullable }) } })] } },
  { usage: object({ input_tokens: integer, input_tokens_details: object({ cached_tokens: integer }), output_tokens: integer,
    output_tokens_details: object({ reasoning_tokens: integer }), total_tokens: integer }) }),
  line: object({ id: { type: "string", pattern: "^batch_req_" }, custom_id: string,
    response: { anyOf: [{ type: "null" }, object({ status_code: integer, request_id: string, body: { type: "object" } })] },
    error: { anyOf: [{ type: "null" }, object({ code: string, message: string })] } }),
};
function conforms(name, value) {
  const validate = ajv.compile(schemas[name]);
  const plain = JSON.parse(JSON.stringify(value));
  assert.ok(validate(plain), name + ": " + JSON.stringify(validate.errors) + " in " + JSON.stringify(plain));
}

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "pippin-batches-"));
const kept = path.join(folder, "kept");
const demo = new URL("../../pippin/demo/model", import.meta.url).pathname;  // the demo model, as a folder
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

let server, openai;
async function start() {
  server = await serve("--quiet", "--api-key", "secret", "--files", kept, "-t", "1");
  openai = new OpenAI.OpenAI({ baseURL: server.url + "/v1", apiKey: "secret", maxRetries: 0 });
}
before(start);
after(async () => {
  await server?.stop();
  fs.rmSync(folder, { recursive: true });
});

const chatLine = (id, more = {}) => JSON.stringify({
  custom_id: id, method: "POST", url: "/v1/chat/completions",
  body: { model: "demo", messages: [{ role: "user", content: `Tell me of number ${id}.` }], max_tokens: 24, temperature: 0.8, ...more } });
const chatLines = (count, more) => Array.from({ length: count }, (_, i) => chatLine("q" + i, more)).join("\n") + "\n";
const upload = async (text, name = "in.jsonl") =>
  openai.files.create({ file: await OpenAI.toFile(Buffer.from(text), name), purpose: "batch" });
const createBatch = (file, more = {}) => openai.batches.create({
  input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h", ...more });
async function until(id, reached) {
  for (;;) {
    const batch = await openai.batches.retrieve(id);
    conforms("batch", batch);
    if (reached(batch)) return batch;
    await pause(10);
  }
}
const isFinal = (batch) => ["completed", "failed", "expired", "cancelled"].includes(batch.status);
const read = async (id) => (await openai.files.content(id)).text();
async function lines(id) {
  const found = (await read(id)).trimEnd().split("\n").map((line) => JSON.parse(line));
  for (const line of found) conforms("line", line);
  return found;
}
const textOf = (line) => line.response.body.choices[0].message.content;

describe("files", () => {
  test("come back as they were", async () => {
    const text = chatLines(3) + "\u{1F98A}\n";
    const file = await openai.files.create({ file: await OpenAI.toFile(Buffer.from(text), "a fox.jsonl"), purpose: "batch",
      expires_after: { anchor: "created_at", seconds: 7200 } });
    conforms("file", file);
    assert.equal(file.filename, "a fox.jsonl");
    assert.equal(file.expires_at, file.created_at + 7200);
    assert.deepEqual(await openai.files.retrieve(file.id), file);
    assert.equal(await read(file.id), text);
    assert.deepEqual(await openai.files.delete(file.id), { id: file.id, object: "file", deleted: true });
    await assert.rejects(openai.files.retrieve(file.id), OpenAI.NotFoundError);
    await assert.rejects(openai.files.content(file.id), OpenAI.NotFoundError);
  });

  test("are listed, newest first", async () => {
    const ids = [];
    for (let i = 0; i < 5; ++i) ids.unshift((await upload("" + i)).id);
    const listed = [];
    for await (const file of openai.files.list({ limit: 2, purpose: "batch" })) listed.push(file.id);
    assert.deepEqual(listed, ids);
    for (const id of ids) await openai.files.delete(id);
  });

  test("need a key", async () => {
    const stranger = new OpenAI.OpenAI({ baseURL: server.url + "/v1", apiKey: "wrong", maxRetries: 0 });
    await assert.rejects(stranger.files.list(), OpenAI.AuthenticationError);
    await assert.rejects(stranger.batches.list(), OpenAI.AuthenticationError);
  });
});

describe("batches", () => {
  test("answer as requests do", async () => {
    const file = await upload(chatLines(6, { seed: 5 }) + chatLine("bad", { temperature: -1 }));
    const created = await createBatch(file, { metadata: { from: "a test" },
      output_expires_after: { anchor: "created_at", seconds: 3600 } });
    conforms("batch", created);
    assert.equal(created.status, "validating");
    const batch = await until(created.id, isFinal);
    assert.equal(batch.status, "completed");
    assert.deepEqual(batch.metadata, { from: "a test" });
    assert.deepEqual(batch.request_counts, { total: 7, completed: 6, failed: 1 });
    const answers = await lines(batch.output_file_id);
    assert.deepEqual(answers.map((line) => line.custom_id), ["q0", "q1", "q2", "q3", "q4", "q5"]);
    for (const line of answers) {
      const alone = await openai.chat.completions.create(JSON.parse(chatLine(line.custom_id, { seed: 5 })).body);
      assert.equal(textOf(line), alone.choices[0].message.content);
    }
    assert.equal(batch.usage.output_tokens, answers.reduce((sum, line) => sum + line.response.body.usage.completion_tokens, 0));
    const [failed] = await lines(batch.error_file_id);
    assert.equal(failed.custom_id, "bad");
    assert.equal(failed.response.status_code, 400);
    assert.equal(failed.response.body.error.param, "temperature");
    const output = await openai.files.retrieve(batch.output_file_id);
    conforms("file", output);
    assert.equal(output.purpose, "batch_output");
    assert.equal(output.expires_at, output.created_at + 3600);
    const first = (await openai.batches.list({ limit: 1 })).data[0];
    assert.deepEqual(first, batch);
  });

  test("have other endpoints, and several models", async () => {
    const two = await serve("--quiet", "--files", path.join(folder, "two"), "first=demo", `second=${demo}`);
    try {
      const other = new OpenAI.OpenAI({ baseURL: two.url + "/v1", apiKey: "any", maxRetries: 0 });
      const bodies = {
        "/v1/embeddings": (model) => ({ model, input: "A fox" }),
        "/v1/responses": (model) => ({ model, input: "A fox", max_output_tokens: 8 }),
        "/v1/completions": (model) => ({ model, prompt: ["A fox", "A hen"], max_tokens: 8, n: 2 }),
      };
      for (const [url, body] of Object.entries(bodies)) {
        const text = ["first", "second"].map((model) => JSON.stringify({ custom_id: model, method: "POST", url, body: body(model) }));
        const file = await other.files.create({ file: await OpenAI.toFile(Buffer.from(text.join("\n")), "in.jsonl"), purpose: "batch" });
        let batch = await other.batches.create({ input_file_id: file.id, endpoint: url, completion_window: "24h" });
        while (!isFinal(batch)) batch = await pause(10).then(() => other.batches.retrieve(batch.id));
        conforms("batch", batch);
        assert.equal(batch.status, "completed");
        const output = await (await other.files.content(batch.output_file_id)).text();
        const answers = output.trimEnd().split("\n").map((line) => JSON.parse(line));
        assert.deepEqual(answers.map((line) => line.response.body.model), ["first", "second"], url);
        assert.ok(batch.usage.input_tokens > 0, url);
        if (url === "/v1/responses") assert.equal((await other.responses.retrieve(answers[0].response.body.id)).status, "incomplete");
      }
    } finally {
      await two.stop();
    }
  });

  test("with faults fail before their first request", async () => {
    const text = ["no JSON", chatLine("a"), chatLine("a"), chatLine("b").replace("chat/completions", "embeddings"),
      chatLine("c", { model: "gone" }), chatLine("d", { stream: true })].join("\n");
    const batch = await until((await createBatch(await upload(text))).id, isFinal);
    assert.equal(batch.status, "failed");
    assert.ok(batch.failed_at);
    assert.equal(batch.output_file_id, null);
    assert.deepEqual(batch.errors.data.map((error) => [error.line, error.code, error.param]), [
      [1, "invalid_json_line", null], [3, "duplicate_custom_id", "custom_id"], [4, "invalid_url", "url"],
      [5, "model_not_found", "body.model"], [6, "invalid_value", "body.stream"]]);
    const empty = await until((await createBatch(await upload("\n"))).id, isFinal);
    assert.deepEqual(empty.errors.data.map((error) => error.code), ["empty_file"]);
  });

  test("outlive their input file", async () => {
    const file = await upload(chatLines(30));
    const created = await createBatch(file);
    await openai.files.delete(file.id);
    const batch = await until(created.id, isFinal);
    assert.equal(batch.status, "completed");
    assert.equal((await lines(batch.output_file_id)).length, 30);
    await assert.rejects(createBatch(file), (error) => error.status === 400 && error.param === "input_file_id");
  });

  test("keep their answers when cancelled", async () => {
    const created = await createBatch(await upload(chatLines(400, { max_tokens: 60 })));
    await until(created.id, (batch) => batch.request_counts.completed >= 3);
    const cancelling = await openai.batches.cancel(created.id);
    conforms("batch", cancelling);
    assert.equal(cancelling.status, "cancelling");
    const batch = await until(created.id, isFinal);
    assert.equal(batch.status, "cancelled");
    const answers = await lines(batch.output_file_id), others = await lines(batch.error_file_id);
    assert.ok(answers.length >= 3 && answers.length < 400, `${answers.length} answers`);
    assert.equal(batch.request_counts.completed, answers.length);
    assert.equal(answers.length + others.length, 400);
    assert.deepEqual([...new Set(others.map((line) => line.error.code))], ["batch_cancelled"]);
    await assert.rejects(openai.batches.cancel(created.id), (error) => error.status === 400);
  });

  test("yield to other requests", async () => {
    const one = await serve("--quiet", "--parallel", "1", "--files", path.join(folder, "yielding"));
    try {
      const busy = new OpenAI.OpenAI({ baseURL: one.url + "/v1", apiKey: "any", maxRetries: 0 });
      const text = chatLines(100, { max_tokens: 400, ignore_eos: true });
      const file = await busy.files.create({ file: await OpenAI.toFile(Buffer.from(text), "in.jsonl"), purpose: "batch" });
      await busy.batches.create({ input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "1d" });
      const model = async () => (await (await fetch(one.url + "/status")).json()).models[0];
      while ((await model()).decoding === 0) await pause(1);
      const answer = await busy.chat.completions.create({ model: "demo", messages: [{ role: "user", content: "Hello" }],
        max_tokens: 20, ignore_eos: true });
      assert.equal(answer.usage.completion_tokens, 20);
      assert.match(await (await fetch(one.url + "/metrics")).text(), /preempted_total\S* [1-9]/);
    } finally {
      await one.stop();
    }
  });

  test("go on after the server was killed, or ended", async () => {
    const count = 240;
    const text = chatLines(count);
    const created = await createBatch(await upload(text));
    let done = 0;
    for (const signal of ["SIGKILL", "SIGKILL", "SIGTERM", "SIGKILL"]) {
      const batch = await until(created.id, (now) => isFinal(now) || now.request_counts.completed >= done + 20);
      assert.equal(batch.status, "in_progress");
      await server.stop(signal);
      await start();
      const next = await until(created.id, (now) => now.request_counts.completed > 0);
      assert.ok(next.request_counts.completed >= done + 20, `${next.request_counts.completed} after ${done}`);
      done = next.request_counts.completed;
    }
    const batch = await until(created.id, isFinal);
    assert.equal(batch.status, "completed");
    assert.deepEqual(batch.request_counts, { total: count, completed: count, failed: 0 });
    assert.equal(batch.error_file_id, null);
    const answers = await lines(batch.output_file_id);
    assert.deepEqual(answers.map((line) => line.custom_id), Array.from({ length: count }, (_, i) => "q" + i));
    // Each text is the one of an undisturbed job of the command.
    const input = path.join(folder, "in.jsonl"), output = path.join(folder, "out.jsonl");
    fs.writeFileSync(input, text);
    const command = spawnSync(process.env.PIPPIN ?? "pippin", ["batch", input, "-q", "-t", "1", "-o", output], { encoding: "utf8" });
    assert.equal(command.status, 0, command.stderr);
    const expected = fs.readFileSync(output, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
    assert.deepEqual(answers.map(textOf), expected.map(textOf));
    // Nothing but the record is left of it.
    assert.deepEqual(fs.readdirSync(path.join(kept, "batches", created.id)), ["batch.json"]);
  });
});

test("a second server does not share the folder", async () => {
  await assert.rejects(serve("--files", kept), /another server keeps its files there/);
});
