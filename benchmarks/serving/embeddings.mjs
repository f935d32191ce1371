// Compares embeddings through pippin serve with `pippin embed` on the same texts, alternately: the figures of
// docs/performance-log.md. Clients keep their connections and send one text after another; only Node is required.
//
//   node benchmarks/serving/embeddings.mjs MODEL [--program pippin] [--clients 16] [--texts 256] [--shortest 10] [--longest 500]
//        [--rounds 3] [--args="-t 2"]
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import http from "node:http";
import { parseArgs } from "node:util";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    program: { type: "string", default: "build/release/pippin/cli/pippin" },
    clients: { type: "string", default: "16" },
    texts: { type: "string", default: "256" },
    shortest: { type: "string", default: "10" },
    longest: { type: "string", default: "500" },
    rounds: { type: "string", default: "3" },
    args: { type: "string", default: "" },
  },
});
const model = positionals[0];
const clients = Number(options.clients), rounds = Number(options.rounds);
const extra = options.args.split(" ").filter(Boolean);
const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
const now = () => performance.now() / 1000;

// Words that are a single token in most models. The texts are the same every time.
const WORDS = "the of and to in is was for on that by with as at from his it an were are which this be also has had its".split(" ");
let seed = 1;
const random = (count) => (seed = (seed * 48271) % 0x7fffffff) % count;
const shortest = Number(options.shortest), longest = Number(options.longest);
const texts = Array.from({ length: Number(options.texts) }, () =>
  Array.from({ length: shortest + random(longest - shortest + 1) }, () => WORDS[random(WORDS.length)]).join(" "));

// The seconds that `pippin embed` takes, from start to end.
function embed(list) {
  const start = now();
  const out = execFileSync(options.program, ["embed", model, "--jsonl", "--json", ...extra],
                           { input: list.map((text) => JSON.stringify(text)).join("\n") + "\n", maxBuffer: 1 << 30 });
  return { seconds: now() - start, ...JSON.parse(out) };
}

const server = spawn(options.program, ["serve", `model=${model}`, "--port", "0", "--quiet", ...extra],
                     { stdio: ["ignore", "ignore", "pipe"] });
const url = await new Promise((resolve, reject) => {
  let log = "";
  server.stderr.setEncoding("utf8").on("data", (text) => {
    log += text;
    const found = log.match(/listening at (\S+)/);
    if (found) resolve(found[1]);
  });
  server.on("exit", () => reject(new Error(log)));
});

function post(agent, text) {
  return new Promise((resolve, reject) => {
    const request = http.request(url + "/v1/embeddings", { method: "POST", agent }, (answer) => {
      const parts = [];
      answer.on("data", (part) => parts.push(part)).on("end", () => {
        const body = Buffer.concat(parts).toString();
        if (answer.statusCode !== 200) return reject(new Error(body));
        resolve(JSON.parse(body));
      });
    });
    request.on("error", reject);
    request.end(JSON.stringify({ input: text, encoding_format: "base64" }));
  });
}

async function serve() {
  const agents = Array.from({ length: clients }, () => new http.Agent({ keepAlive: true, maxSockets: 1 }));
  const start = now(), vectors = new Array(texts.length), times = [];
  let next = 0, tokens = 0;
  await Promise.all(agents.map(async (agent) => {
    while (next < texts.length) {
      const index = next++, begun = now();
      const answer = await post(agent, texts[index]);
      times.push(now() - begun);
      tokens += answer.usage.prompt_tokens;
      vectors[index] = new Float32Array(Uint8Array.from(Buffer.from(answer.data[0].embedding, "base64")).buffer);
    }
  }));
  const seconds = now() - start;
  for (const agent of agents) agent.destroy();
  return { seconds, tokens, vectors, times };
}

await serve();
const ratios = [], bare = [], served = [], waits = [];
let worst = 1;
for (let i = 0; i < rounds; ++i) {
  const opening = embed(["the"]).seconds, all = embed(texts), through = await serve();
  bare.push(all.tokens / (all.seconds - opening));
  served.push(through.tokens / through.seconds);
  ratios.push(served.at(-1) / bare.at(-1));
  waits.push(...through.times);
  through.vectors.forEach((vector, k) => {
    let ab = 0, aa = 0, bb = 0;
    vector.forEach((x, j) => { ab += x * all.embeddings[k][j]; aa += x * x; bb += all.embeddings[k][j] ** 2; });
    worst = Math.min(worst, ab / Math.sqrt(aa * bb));
  });
}
server.kill("SIGTERM");
await once(server, "exit");
console.log(`${texts.length} texts, ${clients} clients: ${median(served).toFixed(0)} tokens/s served, ${median(bare).toFixed(0)} by embed, ` +
            `ratio ${median(ratios).toFixed(3)} (${ratios.map((x) => x.toFixed(3)).join(", ")}); an answer takes ${(median(waits) * 1000).toFixed(0)} ms; ` +
            `least cosine ${worst.toFixed(6)}`);
