// Measures pippin serve with the long conversations of agents: the figures of docs/performance.md. The model has random
// weights, few dimensions and a context of 65,536 tokens; nothing but Node is needed.
//
//   node benchmarks/serving/agents.mjs [--program pippin] [--only turn,long,path,idle] [--rounds 5] [--minutes 10]
//        [--tokenizer FOLDER] [--make pippin-random-checkpoint] [--args="-t 2"]
//
//   turn    first token of a second turn: 40,000 known tokens and 200 new ones
//   long    a prompt of 50,000 tokens, as Claude Code sends it: accepted, cached, and the server's memory
//   path    time between a request of 50,000 tokens and the model: all of it is cached
//   idle    200 streams that wait and 20 that are answered, for so many minutes (also with a program of the preset asan)
//
// --tokenizer: a folder with tokenizer.json of a real model, in place of one with a token for each byte.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";

const { values: options } = parseArgs({
  options: {
    program: { type: "string", default: "build/release/pippin/cli/pippin" },
    make: { type: "string", default: "build/release/benchmarks/pippin-random-checkpoint" },
    only: { type: "string", default: "turn,long,path,idle" },
    rounds: { type: "string", default: "5" },
    minutes: { type: "string", default: "10" },
    tokenizer: { type: "string" },
    args: { type: "string", default: "" },
  },
});
const rounds = Number(options.rounds);
const chosen = options.only.split(",");
const kContext = 65_536;
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const now = () => performance.now();
const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
const MB = (bytes) => (bytes / 1e6).toFixed(1);

const folder = fs.mkdtempSync(path.join(process.env.TMPDIR ?? os.tmpdir(), "pippin-agents-"));
process.on("exit", () => fs.rmSync(folder, { recursive: true, force: true }));

// Of each message its role and text, of each tool its description: about as many tokens as agents send.
const kTemplate = `{% for t in tools or [] %}{{ t | tojson }}
{% endfor %}{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`;

function makeModel() {
  const model = path.join(folder, "model");
  const vocabulary = options.tokenizer ? 151_936 : 1024;
  const config = {
    architectures: ["LlamaForCausalLM"], model_type: "llama", vocab_size: vocabulary, hidden_size: 128, intermediate_size: 256,
    num_hidden_layers: 2, num_attention_heads: 2, num_key_value_heads: 1, max_position_embeddings: kContext, rms_norm_eps: 1e-5,
    rope_theta: 500_000, tie_word_embeddings: true, hidden_act: "silu", bos_token_id: 1, eos_token_id: 2,
  };
  const file = path.join(folder, "config.json");
  fs.writeFileSync(file, JSON.stringify(config));
  execFileSync(options.make, ["--config", file, "-o", model], { stdio: "ignore" });
  for (const name of options.tokenizer ? ["tokenizer.json", "tokenizer_config.json"] : []) {
    fs.copyFileSync(path.join(options.tokenizer, name), path.join(model, name));
  }
  fs.writeFileSync(path.join(folder, "template.jinja"), kTemplate);
  return model;
}

class Server {
  static async start(model, ...args) {
    const server = new Server();
    server.process = spawn(options.program, ["serve", `agent=${model}`, "--port", "0", "--context", String(kContext), "--chat-template",
      path.join(folder, "template.jinja"), ...options.args.split(" ").filter(Boolean), ...args], { stdio: ["ignore", "ignore", "pipe"] });
    server.log = "";
    server.url = await new Promise((resolve, reject) => {
      server.process.stderr.setEncoding("utf8").on("data", (text) => {
        server.log = (server.log + text).slice(-100_000);
        const found = server.log.match(/listening at (\S+)/);
        if (found) resolve(found[1]);
      });
      server.process.on("exit", () => reject(new Error(server.log)));
    });
    for (;;) {
      const health = await fetch(server.url + "/health");
      await health.text();
      if (health.ok) break;
      await sleep(50);
    }
    return server;
  }

  // The answer and the milliseconds until its first token and its end.
  async ask(endpoint, body) {
    const text = JSON.stringify(body);
    const start = now();
    const answer = await fetch(this.url + endpoint, { method: "POST", body: text, headers: { "content-type": "application/json" } });
    if (!answer.ok) throw new Error(`${endpoint}: ${answer.status} ${await answer.text()}`);
    let all = "", first = 0;
    for await (const bytes of answer.body) {
      all += Buffer.from(bytes).toString("latin1");
      if (!first && /content_block_delta|"content":\s?"[^"]/.test(all)) first = now() - start;
    }
    return { all, first, total: now() - start };
  }
  memory() { return Number(fs.readFileSync(`/proc/${this.process.pid}/status`, "utf8").match(/VmRSS:\s*(\d+)/)[1]) * 1024; }
  // Milliseconds of processor time, all threads; in steps of 10.
  cpu() {
    const fields = fs.readFileSync(`/proc/${this.process.pid}/stat`, "utf8").replace(/^.*\) /, "").split(" ");
    return (Number(fields[11]) + Number(fields[12])) * 10;
  }
  async stop() {
    this.process.kill("SIGTERM");
    const [status, signal] = await once(this.process, "exit");
    return status ?? signal;
  }
}

const kWords = "the server reads a request and finds its file then writes one line of code for each name in this list".split(" ");
let seed = 1;
function random(count) {
  seed = (seed * 1103515245 + 12345) % 2 ** 31;
  return seed % count;
}
const line = () => `${Array.from({ length: 12 }, () => kWords[random(kWords.length)]).join(" ")} ${random(100_000)};\n`;

const kTools = ["Read", "Write", "Edit", "Bash", "Grep", "Glob", "Task", "WebFetch"].map((name) => ({
  name, description: `${name}: ${line()}${line()}`,
  input_schema: { type: "object", properties: { path: { type: "string", description: line() }, text: { type: "string" } }, required: ["path"] },
}));
// A request of an agent's session: a long system message in two blocks, tools, turns with texts of files.
function session(texts) {
  return {
    model: "agent", max_tokens: 8, stream: true, temperature: 0, tools: kTools, tool_choice: { type: "none" },
    system: [{ type: "text", text: "You are an agent.", cache_control: { type: "ephemeral" } }, { type: "text", text: texts.system }],
    messages: texts.turns.flatMap((text, index) => index === 0 ? [{ role: "user", content: [{ type: "text", text }] }] :
      [{ role: "assistant", content: [{ type: "text", text: "I see." }] }, { role: "user", content: [{ type: "text", text }] }]),
  };
}
async function count(server, body) {
  const { messages, system, tools, tool_choice } = body;
  const answer = await server.ask("/v1/messages/count_tokens", { model: "agent", messages, system, tools, tool_choice });
  return JSON.parse(answer.all).input_tokens;
}
// A session whose prompt has about so many tokens.
async function sessionOf(server, tokens, turns = 8) {
  const sample = Array.from({ length: 200 }, line).join("");
  const perLine = (await count(server, session({ system: sample, turns: ["Go on."] })) - await count(server, session({ system: "", turns: ["Go on."] }))) / 200;
  const base = await count(server, session({ system: "", turns: Array.from({ length: turns }, () => "") }));
  const lines = Math.floor((tokens - base) / perLine);
  const part = (share) => Array.from({ length: Math.max(1, Math.floor(lines * share)) }, line).join("");
  return { system: part(0.3), turns: Array.from({ length: turns }, () => part(0.7 / turns)) };
}
const numbers = (answer) => {
  const usages = [...answer.all.matchAll(/"usage":\s?(\{[^}]*\})/g)].map((one) => JSON.parse(one[1]));
  return Object.assign({}, ...usages);
};

function report(name, figures) {
  console.log(name.padEnd(10), Object.entries(figures).map(([key, value]) => `${key} ${typeof value === "number" ? +value.toPrecision(4) : value}`).join(", "));
}

const measures = {
  // Against the same tokens and a step at that depth, as `pippin bench` measures them without a server.
  async turn(model) {
    const server = await Server.start(model);
    const texts = await sessionOf(server, 40_000);
    const cold = await server.ask("/v1/messages", session(texts));
    const first = [], fresh = [], cached = [], told = [];
    for (let i = 0; i < rounds; ++i) {
      const result = Array.from({ length: 200 }, line).join("").slice(0, options.tokenizer ? 600 : 180);
      const answer = await server.ask("/v1/messages", session({ ...texts, turns: [...texts.turns, result] }));
      const usage = numbers(answer);
      first.push(answer.first);
      fresh.push(usage.input_tokens);
      cached.push(usage.cache_read_input_tokens);
    }
    const log = server.log.split("\n").filter((text) => text.includes("/v1/messages ")).slice(-rounds);
    for (const one of log) told.push(Number(one.match(/read=([\d.]+) ms/)?.[1]));
    await server.stop();
    report("turn", { known: median(cached), new: median(fresh), "cold, s": cold.first / 1000, "first token, ms": median(first), "least": Math.min(...first),
                     "of it reading new tokens, by the server": median(told) });
    const depth = median(cached), tokens = median(fresh);
    const bench = JSON.parse(execFileSync(options.program, ["bench", "--json", "-m", model, "--context", String(kContext), "-p", String(tokens), "-n", "8",
      "-d", String(depth), "-r", "1", ...options.args.split(" ").filter(Boolean)], { stdio: ["ignore", "pipe", "ignore"], encoding: "utf8", maxBuffer: 1 << 28 }));
    const { prompt, step } = times(bench);
    report("  bench", { "new tokens, ms": prompt, "a step, ms": step, ratio: median(first) / (prompt + step) });
  },

  async long(model) {
    const server = await Server.start(model);
    const before = server.memory();
    const body = session(await sessionOf(server, 50_000));
    const cold = await server.ask("/v1/messages", body);
    const warm = await server.ask("/v1/messages", body);
    const usage = numbers(warm);
    const after = server.memory();
    const [state] = (await (await fetch(server.url + "/status")).json()).models;
    report("long", { tokens: usage.input_tokens + usage.cache_read_input_tokens, cached: usage.cache_read_input_tokens,
                     "cold, s": cold.first / 1000, "again, ms": warm.first, "memory before, MB": MB(before), "after, MB": MB(after),
                     "grown, MB": MB(after - before), "kept prompts by /status, MB": MB(state.prompt_cache_bytes) });
    console.log(server.log.split("\n").filter((text) => / loaded in /.test(text)).join("\n"));
    await server.stop();
  },

  // The parts of the request path, of a prompt that is cached as a whole.
  async path(model) {
    const server = await Server.start(model, "--quiet");
    const body = session(await sessionOf(server, 50_000));
    const { system, messages, tools, ...rest } = body;
    const text = (content) => content.map((part) => part.text).join("\n");
    const flat = [{ role: "system", content: text(system) }, ...messages.map(({ role, content }) => ({ role, content: text(content) }))];
    const functions = tools.map(({ name, description, input_schema }) => ({ type: "function", function: { name, description, parameters: input_schema } }));
    const tokens = await count(server, body);
    const plain = { model: "agent", stream: true, temperature: 0, max_tokens: 1 };
    const without = flat.slice(1);
    const ways = {
      "count_tokens": ["/v1/messages/count_tokens", { model: "agent", messages, system, tools, tool_choice: body.tool_choice }],
      "render, with a system message": ["/apply-template", { model: "agent", messages: flat }],
      "render, without": ["/apply-template", { model: "agent", messages: [{ ...flat[0], role: "user" }, { role: "assistant", content: "Yes." }, ...without] }],
      "tokenize": ["/tokenize", { model: "agent", content: flat.map(({ content }) => content).join("\n") }],
      "/v1/messages": ["/v1/messages", { ...rest, max_tokens: 1, messages, system, tools }],
      "/v1/chat/completions": ["/v1/chat/completions", { ...plain, messages: flat, tools: functions, tool_choice: "none" }],
      "/api/chat": ["/api/chat", { model: "agent", stream: true, messages: flat, options: { temperature: 0, num_predict: 1 } }],
      "/v1/completions, tokens": null,
    };
    const ids = JSON.parse((await server.ask("/tokenize", { model: "agent", content: flat.map(({ content }) => content).join("\n") })).all).tokens;
    ways["/v1/completions, tokens"] = ["/v1/completions", { ...plain, prompt: ids }];
    console.log(`path: ${tokens} tokens; 1 % of them at 10,000 tokens/s are ${(tokens / 1000).toFixed(1)} ms`);
    for (const [name, [endpoint, request]] of Object.entries(ways)) {
      const samples = [];
      for (let i = 0; i < 2; ++i) await server.ask(endpoint, request);
      const before = server.cpu();
      for (let i = 0; i < rounds; ++i) samples.push((await server.ask(endpoint, request)).total);
      report("  " + name.padEnd(32), { "CPU, ms": (server.cpu() - before) / rounds, "median, ms": median(samples), "least": Math.min(...samples),
                                       "KB": JSON.stringify(request).length / 1000 });
    }
    await server.stop();
  },

  // The streams that are answered have all places; the others wait in the queue, and get comments.
  async idle(model) {
    const server = await Server.start(model, "--quiet", "--parallel", "20", "--ping", "1", "--cache-ram", "64M");
    const port = Number(new URL(server.url).port);
    const end = Date.now() + Number(options.minutes) * 60_000;
    const counts = { idle: 0, active: 0, tokens: 0, comments: 0, errors: 0 };
    const faults = new Map();
    const open = (kind, request) => new Promise((resolve) => {
      const body = JSON.stringify(request);
      const socket = net.connect(port, "127.0.0.1");
      let tail = "", isOver = false;
      const finish = (why) => {
        if (isOver) return;
        isOver = true;
        if (why) faults.set(why, (faults.get(why) ?? 0) + 1), ++counts.errors;
        else ++counts[kind];
        socket.destroy();
        resolve();
      };
      const timer = setTimeout(() => { isOver = true; socket.destroy(); resolve(); }, Math.max(end - Date.now(), 0));
      socket.on("close", () => clearTimeout(timer));
      socket.setTimeout(30_000, () => finish(`${kind}: no byte for half a minute`));
      socket.on("error", (error) => finish(`${kind}: ${error.code}`));
      socket.on("end", () => finish(`${kind}: cut off: ${tail.slice(-120).replace(/\s+/g, " ")}`));
      socket.on("data", (bytes) => {
        const text = bytes.toString("latin1");
        if (!tail && !text.startsWith("HTTP/1.1 200")) return finish(`${kind}: ${text.slice(0, 80)}`);
        counts.comments += text.split(": keep-alive").length - 1;
        counts.tokens += text.split("\ndata: {").length - 1;
        if (text.includes('"error"')) return finish(`${kind}: ${text.slice(-200)}`);
        tail = (tail + text).slice(-400);
        if (tail.includes("data: [DONE]")) finish();
      });
      socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`);
    });
    const ask = (number, more) => ({ model: "agent", stream: true, temperature: 1, messages: [{ role: "user", content: `Line ${number}.` }], ...more });
    const client = async (kind, number, more) => {
      while (Date.now() < end) await open(kind, ask(number, more));
    };
    const active = Array.from({ length: 20 }, (_, i) => client("active", i, { ignore_eos: true, max_tokens: 60_000 }));
    await sleep(2000);
    const waiting = Array.from({ length: 200 }, (_, i) => client("idle", 100 + i, { max_tokens: 1 }));
    const watch = async () => {
      while (Date.now() < end) {
        await sleep(Math.min(30_000, Math.max(end - Date.now(), 100)));
        const answer = await fetch(server.url + "/status");
        const state = (await answer.json()).models[0];
        console.log(`  ${MB(server.memory())} MB, ${state.waiting} wait, ${state.decoding} decode, ${counts.tokens} tokens, ${counts.comments} comments, ` +
                    `${counts.idle} + ${counts.active} complete, ${counts.errors} errors`);
      }
    };
    await Promise.all([watch(), ...active, ...waiting]);
    const status = await server.stop();
    for (const [why, times] of faults) console.log(`  ${times}x ${why}`);
    const told = server.log.split("\n").filter((text) => text && !text.includes("listening at"));
    report("idle", { ...counts, "status at the end": status, "lines on stderr": told.length });
    if (told.length > 0) console.log(told.slice(0, 40).join("\n"));
  },
};

// Milliseconds of the prompt's tokens and of a step, from `pippin bench --json`.
function times({ results }) {
  const prompt = results.find((one) => one.n_prompt > 0), generation = results.find((one) => one.n_gen > 0);
  return { prompt: 1000 * prompt.n_prompt / prompt.median_tokens_per_second, step: 1000 / generation.median_tokens_per_second };
}

const model = makeModel();
for (const name of chosen) {
  if (!measures[name]) throw new Error(`no measure "${name}", but ${Object.keys(measures).join(", ")}`);
  await measures[name](model);
}
