// Measures pippin serve with a model: the figures of docs/performance-log.md. Prompts are random tokens, so that
// lengths are exact; only Node is required.
//
//   node benchmarks/serving/measure.mjs MODEL [--program pippin] [--rounds 3] [--only overhead,prefix,disk,clients,gap,cancel]
//        [--args="-t 2 --context 8192"]
import { spawn, execFileSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    program: { type: "string", default: "build/release/pippin/cli/pippin" },
    rounds: { type: "string", default: "3" },
    only: { type: "string", default: "overhead,prefix,disk,clients,gap,cancel" },
    args: { type: "string", default: "" },
  },
});
const model = positionals[0] ?? "demo";
const rounds = Number(options.rounds);
const extra = options.args.split(" ").filter(Boolean);
const chosen = new Set(options.only.split(","));

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
const now = () => performance.now() / 1000;
const random = (count) => Array.from({ length: count }, () => 3 + Math.floor(Math.random() * vocabulary));
let vocabulary = 1000;

class Server {
  static async start(...args) {
    const server = new Server();
    server.process = spawn(options.program, ["serve", `model=${model === "demo" ? "demo" : path.resolve(model)}`, "--port", "0",
                                             "--quiet", ...extra, ...args], { stdio: ["ignore", "ignore", "pipe"] });
    let log = "";
    server.url = await new Promise((resolve, reject) => {
      server.process.stderr.setEncoding("utf8").on("data", (text) => {
        log += text;
        const found = log.match(/listening at (\S+)/);
        if (found) resolve(found[1]);
      });
      server.process.on("exit", () => reject(new Error(log)));
    });
    while (!(await fetch(server.url + "/health")).ok) await new Promise((done) => setTimeout(done, 20));
    const { data } = await (await fetch(server.url + "/v1/models")).json();
    vocabulary = data[0].vocab_size - 10;
    server.context = data[0].context_length;
    return server;
  }

  // Returns the times of the pieces, in seconds from the request on, and the usage.
  async complete(prompt, maxTokens, { onPiece, signal } = {}) {
    const start = now();
    const answer = await fetch(this.url + "/v1/completions", {
      method: "POST", signal,
      body: JSON.stringify({ prompt, max_tokens: maxTokens, stream: true, ignore_eos: true, logprobs: 0,
                             stream_options: { include_usage: true } }),
    });
    if (!answer.ok) throw new Error(await answer.text());
    const times = [];
    let usage, rest = "";
    for await (const bytes of answer.body) {
      rest += Buffer.from(bytes).toString("utf8");
      for (let end; (end = rest.indexOf("\n\n")) >= 0; rest = rest.slice(end + 2)) {
        const data = rest.slice(0, end).replace(/^data: /, "");
        if (data.startsWith("{")) {
          const event = JSON.parse(data);
          if (event.choices?.[0]?.logprobs) { times.push(now() - start); onPiece?.(times.length); }
          if (event.usage) usage = { ...event.usage, ...event.timings };
        }
      }
    }
    return { times, usage, total: now() - start };
  }

  async slots() { return (await (await fetch(this.url + "/status")).json()).models[0]; }
  async idle() {
    for (;;) {
      const s = await this.slots();
      if (s.waiting + s.reading + s.decoding === 0) return;
      await new Promise((done) => setTimeout(done, 2));
    }
  }
  async stop() { this.process.kill("SIGTERM"); await once(this.process, "exit"); }
}

function report(name, figures) {
  console.log(name.padEnd(34), Object.entries(figures).map(([key, value]) => `${key} ${typeof value === "number" ? +value.toPrecision(4) : value}`).join(", "));
}

const speedOf = (times) => (times.length - 1) / (times.at(-1) - times[0]);

const measures = {
  // Tokens per second through SSE compared with `pippin run`, alternately.
  async overhead() {
    const count = 128, ratios = [], served = [], ran = [];
    const server = await Server.start("--cache-ram", "0");
    for (let i = 0; i < rounds; ++i) {
      served.push(speedOf((await server.complete(random(16), count)).times));
      const out = execFileSync(options.program, ["run", ...(model === "demo" ? [] : [path.resolve(model)]), "--raw", "--json", "--temp", "0",
                                                 "-n", String(count), ...extra, "once upon a time in a land far far away there was"],
                               { stdio: ["ignore", "pipe", "ignore"], encoding: "utf8" });
      const statistics = JSON.parse(out);
      ran.push(statistics.statistics.tokens_per_second.mean);
      ratios.push(served.at(-1) / ran.at(-1));
    }
    await server.stop();
    report("SSE against run", { served: median(served), ran: median(ran), ratio: median(ratios) });
  },

  // The time to the first token for a prompt with 2048 cached and 50 new tokens.
  async prefix() {
    const server = await Server.start();
    const length = Math.min(2048, Math.floor(server.context / 2));
    const cold = [], warm = [], alone = [], step = [];
    for (let i = 0; i < rounds; ++i) {
      const known = random(length);
      cold.push((await server.complete([...known, ...random(50)], 8)).times[0]);
      const again = await server.complete([...known, ...random(50)], 8);
      if (again.usage.prompt_tokens_details.cached_tokens < length) throw new Error("not cached");
      warm.push(again.times[0]);
      const few = await server.complete(random(50), 8);
      alone.push(few.times[0]);
      step.push(1 / speedOf(again.times));
    }
    await server.stop();
    const wanted = median(alone) + median(step);
    report(`prefix ${length} + 50`, { cold: median(cold), warm: median(warm), "50 alone + a step": wanted, ratio: median(warm) / wanted });
  },

  // The same after a restart, from disk.
  async disk() {
    const folder = fs.mkdtempSync(path.join(process.env.TMPDIR ?? os.tmpdir(), "pippin-measure-"));
    const results = [];
    for (let i = 0; i < rounds; ++i) {
      let server = await Server.start("--cache-disk", folder);
      const length = Math.min(2048, Math.floor(server.context / 2));
      const known = random(length);
      await server.complete([...known, ...random(50)], 2);
      await server.stop();
      server = await Server.start("--cache-disk", folder);
      await server.complete(random(8), 2);
      const again = await server.complete([...known, ...random(50)], 8);
      const alone = (await server.complete(random(50), 8)).times[0];
      results.push({ first: again.times[0], cached: again.usage.prompt_tokens_details.cached_tokens, alone });
      await server.stop();
    }
    let bytes = 0;
    for (const name of fs.readdirSync(folder, { recursive: true })) {
      const file = path.join(folder, name);
      if (fs.statSync(file).isFile()) bytes += fs.statSync(file).size;
    }
    fs.rmSync(folder, { recursive: true });
    report("prefix from disk", { first: median(results.map((r) => r.first)), "less the new tokens": median(results.map((r) => r.first - r.alone)),
                                 cached: results[0].cached, "MB each": bytes / rounds / 1e6 });
  },

  // Several clients at once: the sum of their speeds compared with one.
  async clients() {
    const server = await Server.start("--cache-ram", "0");
    const count = 48, speeds = new Map();
    for (let i = 0; i < rounds; ++i) {
      for (const many of [1, 4, 8, 16]) {
        const all = await Promise.all(Array.from({ length: many }, () => server.complete(random(16), count)));
        // Counts only while all of them decode.
        const from = Math.max(...all.map((one) => one.times[0])), to = Math.min(...all.map((one) => one.times.at(-1)));
        const tokens = all.reduce((sum, one) => sum + one.times.filter((t) => t > from && t <= to).length, 0);
        speeds.set(many, [...(speeds.get(many) ?? []), tokens / (to - from)]);
      }
    }
    await server.stop();
    const one = median(speeds.get(1));
    report("clients", Object.fromEntries([...speeds].map(([many, list]) => [many, `${median(list).toFixed(1)} t/s (${(median(list) / one).toFixed(2)}x)`])));
  },

  // The longest gap between tokens of one client while a prompt of 4096 tokens is read for another, and the server's
  // response time for other requests meanwhile.
  async gap() {
    const server = await Server.start("--cache-ram", "0");
    const length = Math.min(4096, server.context - 64);
    const gaps = [], health = [], slowest = [];
    for (let i = 0; i < rounds; ++i) {
      let begun;
      const started = new Promise((resolve) => { begun = resolve; });
      const cancel = new AbortController();
      const stamps = [];
      const decoding = server.complete(random(16), server.context - 32, {
        signal: cancel.signal, onPiece: (n) => { stamps.push(now()); if (n === 5) begun(); } }).catch(() => {});
      await started;
      const from = now();
      let reading = true;
      const polling = (async () => {
        while (reading) {
          const start = now();
          await (await fetch(server.url + "/health")).text();
          health.push(now() - start);
          await new Promise((done) => setTimeout(done, 20));
        }
      })();
      await server.complete(random(length), 2);
      const to = now();
      reading = false;
      await polling;
      cancel.abort();
      await decoding;
      const inside = stamps.filter((t) => t >= from && t <= to);
      gaps.push(Math.max(...inside.slice(1).map((t, k) => t - inside[k])));
      slowest.push(Math.max(...health));
      await server.idle();
    }
    await server.stop();
    report(`gap while ${length} are read`, { "longest gap ms": median(gaps) * 1000, "health median ms": median(health) * 1000, "slowest ms": Math.max(...slowest) * 1000 });
  },

  // The number of steps from a closed connection to a free sequence.
  async cancel() {
    const server = await Server.start("--cache-ram", "0");
    const steps = [], times = [];
    for (let i = 0; i < rounds * 3; ++i) {
      const cancel = new AbortController();
      let before;
      const closed = server.complete(random(16), server.context - 32, { signal: cancel.signal, onPiece: (n) => { if (n === 5) cancel.abort(); } }).catch(() => {});
      await closed;
      const start = now();
      before = (await server.slots()).steps;
      await server.idle();
      times.push(now() - start);
      steps.push((await server.slots()).steps - before);
    }
    await server.stop();
    report("cancel", { "steps until free": median(steps), "most": Math.max(...steps), ms: median(times) * 1000 });
  },
};

for (const [name, measure] of Object.entries(measures)) if (chosen.has(name)) await measure();
