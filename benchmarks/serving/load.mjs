// Runs many clients of pippin serve at once: half of them read slowly, a tenth leave early. Reports errors, the
// server's memory over time, and the time between tokens.
//
//   node benchmarks/serving/load.mjs [MODEL] [--clients 200] [--minutes 10] [--program pippin] [--args="..."]
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import { parseArgs } from "node:util";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    program: { type: "string", default: "build/release/pippin/cli/pippin" },
    clients: { type: "string", default: "200" },
    minutes: { type: "string", default: "10" },
    args: { type: "string", default: "" },
  },
});
const server = spawn(options.program, ["serve", positionals[0] ?? "demo", "--port", "0", "--quiet",
                                       ...options.args.split(" ").filter(Boolean)], { stdio: ["ignore", "ignore", "pipe"] });
const url = await new Promise((resolve) => {
  let log = "";
  server.stderr.setEncoding("utf8").on("data", (text) => {
    log += text;
    const found = log.match(/listening at (\S+)/);
    if (found) resolve(found[1]);
  });
});
while (!(await fetch(url + "/health")).ok) await new Promise((done) => setTimeout(done, 50));
const port = Number(new URL(url).port);
const end = Date.now() + Number(options.minutes) * 60_000;
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

const counts = { done: 0, left: 0, refused: 0, errors: 0 };
const faults = new Map();
let prompts = 0;

// One request over a new connection, read at the client's own pace.
function request(isSlow, leaves) {
  const body = JSON.stringify({ stream: true, max_tokens: 60, temperature: 1,
                                messages: [{ role: "user", content: `Tell me story ${++prompts} about a fox.` }] });
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1");
    let text = "", isOver = false;
    const finish = (kind, why) => {
      if (isOver) return;
      isOver = true;
      ++counts[kind];
      if (why) faults.set(why, (faults.get(why) ?? 0) + 1);
      socket.destroy();
      resolve();
    };
    socket.setTimeout(60_000, () => finish("errors", "no byte for a minute"));
    socket.on("error", (error) => finish("errors", error.code));
    socket.on("data", async (bytes) => {
      text = (text + bytes.toString("latin1")).slice(-20_000);
      if (leaves && text.length > 2000) return finish("left");
      if (text.includes("data: [DONE]")) return finish("done");
      if (text.startsWith("HTTP/1.1 503")) return finish("refused");
      if (isSlow) { socket.pause(); await sleep(20); socket.resume(); }
    });
    socket.on("end", () => finish("errors", "cut off: " + text.slice(-120).replace(/\s+/g, " ")));
    socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`);
  });
}

async function client(index) {
  while (Date.now() < end) await request(index % 2 === 0, index % 10 === 1);
}

const memory = () => Number(fs.readFileSync(`/proc/${server.pid}/status`, "utf8").match(/VmRSS:\s*(\d+)/)[1]) / 1024;
async function watch() {
  while (Date.now() < end) {
    await sleep(Math.min(30_000, Math.max(end - Date.now(), 100)));
    const slots = (await (await fetch(url + "/status")).json()).models[0];
    console.log(`${memory().toFixed(0)} MB, ${counts.done} done, ${counts.left} left, ${counts.refused} refused, ` +
                `${counts.errors} errors, ${slots.waiting} wait, ${slots.decoding} decode, cache ${(slots.prompt_cache_bytes / 1e6).toFixed(0)} MB`);
  }
}

await Promise.all([watch(), ...Array.from({ length: Number(options.clients) }, (_, i) => client(i))]);
const metrics = await (await fetch(url + "/metrics")).text();
for (const name of ["token_seconds", "first_token_seconds"]) {
  const buckets = [...metrics.matchAll(new RegExp(`pippin_${name}_bucket{le="([^"]+)"} (\\d+)`, "g"))];
  const total = Number(buckets.at(-1)[2]);
  const at = (part) => buckets.find(([, , count]) => Number(count) >= part * total)[1];
  console.log(`${name}: half within ${at(0.5)} s, 99 % within ${at(0.99)} s, of ${total}`);
}
for (const [why, count] of faults) console.log(`${count}x ${why}`);
server.kill("SIGTERM");
const [status] = await once(server, "exit");
console.log(`the server ended with ${status}`);
