// Runs Claude Code, unchanged, with the server: two turns, of which the first reads a file.
//
// The demo model does not call tools by itself. A proxy in between makes the first request demand a
// call of the tested tool, with the argument that the test expects, and constrains later answers to
// have no calls; everything else passes unchanged.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { program, serve } from "./serving.mjs";

const claude = program("claude");
if (!claude) console.log("Claude Code is not installed");

let server, proxy, folder;
const seen = [];  // {path, body, status, usage, ignored} of each request

function changed(body, file) {
  if (!body.tools?.length || !body.stream) return body;
  if (seen.some((one) => one.body.tools?.length)) {
    const schema = { type: "object", required: ["word"], additionalProperties: false,
      properties: { word: { enum: ["walnut"] } } };
    const format = { type: "json_schema", schema };
    return { ...body, tool_choice: { type: "none" }, output_config: { ...body.output_config, format } };
  }
  const tools = body.tools.map((tool) => tool.name !== "Read" ? tool : {
    ...tool,
    input_schema: { type: "object", required: ["file_path"], additionalProperties: false,
      properties: { file_path: { enum: [file] } } },
  });
  return { ...body, tools, tool_choice: { type: "tool", name: "Read" } };
}

before(async () => {
  if (!claude) return;
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "pippin-claude-"));
  for (const name of ["home", "work"]) fs.mkdirSync(path.join(folder, name));
  fs.writeFileSync(path.join(folder, "work/note.txt"), "The word is walnut.\n");
  server = await serve("--quiet", "--chat-template", new URL("agent.jinja", import.meta.url).pathname);
  proxy = http.createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const body = text ? JSON.parse(text) : {};
    const file = path.join(folder, "work/note.txt");
    const answer = await fetch(server.url + request.url, {
      method: request.method, headers: { "content-type": "application/json" },
      body: text ? JSON.stringify(request.url.includes("count_tokens") ? body : changed(body, file)) : undefined,
    });
    const bytes = await answer.text();
    const usages = [...bytes.matchAll(/"usage": ?(\{[^}]*\})/g)].map((one) => JSON.parse(one[1]));
    seen.push({ path: request.url, body, status: answer.status, usage: usages.at(-1), bytes,
      ignored: answer.headers.get("x-ignored-fields") });
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") }).end(bytes);
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
});
after(async () => {
  proxy?.close();
  proxy?.closeAllConnections();
  await server?.stop();
  if (folder) fs.rmSync(folder, { recursive: true, force: true });
});

async function say(...args) {
  const env = {
    PATH: process.env.PATH, HOME: path.join(folder, "home"), TMPDIR: folder,
    ANTHROPIC_BASE_URL: `http://127.0.0.1:${proxy.address().port}`, ANTHROPIC_API_KEY: "none",
    ANTHROPIC_MODEL: "demo", ANTHROPIC_SMALL_FAST_MODEL: "demo",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1", DISABLE_TELEMETRY: "1",
    DISABLE_ERROR_REPORTING: "1",
  };
  const child = spawn(claude, ["-p", "--output-format", "json", ...args],
    { cwd: path.join(folder, "work"), env, stdio: ["ignore", "pipe", "pipe"] });
  let out = "", errors = "";
  child.stdout.setEncoding("utf8").on("data", (text) => { out += text; });
  child.stderr.setEncoding("utf8").on("data", (text) => { errors += text; });
  const [code] = await once(child, "close");
  const bad = seen.filter((one) => one.status !== 200).map((one) => one.bytes);
  assert.equal(code, 0, `${errors}\n${out}\n${bad.join("\n")}`);
  return JSON.parse(out);
}

test("Claude Code reads a file and goes on", { skip: !claude && "Claude Code is not installed" }, async () => {
  const first = await say("Read note.txt");
  assert.equal(first.is_error, false, JSON.stringify(first));
  assert.deepEqual(JSON.parse(first.result), { word: "walnut" });
  const turns = seen.filter((one) => one.path.startsWith("/v1/messages?beta=true") && one.body.tools?.length);
  assert.equal(turns.length, 2, JSON.stringify(turns.map((one) => one.bytes)));
  for (const turn of turns) assert.equal(turn.status, 200, turn.bytes);
  assert.match(turns[0].bytes, /"stop_reason": ?"tool_use"/);
  // The result of the model's call contains the file's text.
  const result = turns[1].body.messages.flatMap((one) => one.content).find((one) => one.type === "tool_result");
  assert.match(JSON.stringify(result.content), /walnut/);
  // Only the new part of the prompt is read.
  const { cache_read_input_tokens: cached, input_tokens: read } = turns[1].usage;
  assert.ok(cached > 0 && cached >= turns[0].usage.input_tokens * 0.5, JSON.stringify(turns.map((one) => one.usage)));
  console.log(`the second request had ${cached} of ${cached + read} tokens cached`);

  const second = await say("--continue", "Go on");
  assert.equal(second.is_error, false, JSON.stringify(second));
  assert.deepEqual(JSON.parse(second.result), { word: "walnut" });
  assert.ok(seen.at(-1).usage.cache_read_input_tokens > 0, JSON.stringify(seen.at(-1).usage));
  assert.deepEqual(seen.filter((one) => one.status !== 200).map((one) => one.bytes), []);
});
