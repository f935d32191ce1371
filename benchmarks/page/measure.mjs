// Measures the cost of the page in a browser: bytes of the first load, the time to open a chat of 500 messages of 2 KB,
// and frames while an answer is written at 100 tokens per second.
//
//   PIPPIN=build/release/pippin/cli/pippin node benchmarks/page/measure.mjs [--messages 500] [--seconds 20]
//
// Requires the same setup as the page tests: ./setup.sh --browser, tests/serve/install_clients.sh.
import { parseArgs } from "node:util";
import { openBrowser, send, serveDemo, skipWithoutBrowser } from "../../tests/page/browsing.mjs";
import { finish, piece, standIn } from "../../tests/page/stand_in.mjs";

skipWithoutBrowser();
const { values: options } = parseArgs({ options: { messages: { type: "string", default: "500" }, seconds: { type: "string", default: "20" } } });
const count = Number(options.messages);
const seconds = Number(options.seconds);

// About 2 KB of typical model output.
const answer = (i) => `## Part ${i}

Here is **what matters** about the *${i}th* question, with a [link](https://example.org/${i}) and \`code\`:

${Array.from({ length: 6 }, (_, n) => `${n + 1}. A point that takes up a line or two, as points in answers mostly do, for better or worse.`).join("\n")}

\`\`\`python
def part(n):  # the ${i}th
    return [x * n for x in range(10) if x % 2 == 0]
\`\`\`

| name | value | unit |
|------|------:|------|
| first | ${i} | s |
| second | ${i * 2} | MB |

${"And some more words, so that there is enough to read on this page. ".repeat(14)}`;

const percentile = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
const server = await serveDemo();
const stand = await standIn(server.url);
const browser = await openBrowser();
const results = {};
try {
  // --- first load ---
  const page = await (await browser.newContext({ viewport: { width: 1200, height: 800 } })).newPage();
  const wire = await page.context().newCDPSession(page);
  await wire.send("Network.enable");
  results.bytes = 0;
  results.requests = 0;
  wire.on("Network.loadingFinished", ({ encodedDataLength }) => { results.bytes += encodedDataLength; ++results.requests; });
  const start = performance.now();
  await page.goto(stand.url);
  await page.waitForSelector("body.ready");
  results.firstLoad = performance.now() - start;
  await page.waitForTimeout(500);
  await wire.detach();

  // --- a long chat ---
  await page.evaluate(async ({ texts }) => {
    const folder = document.querySelector("script[src]").src.replace("main.js", "");
    const { openStore } = await import(folder + "store.js");
    const store = await openStore();
    const message = (i) => ({ id: "m" + i, chat: "long", parent: i ? "m" + (i - 1) : null, role: i % 2 ? "assistant" : "user", text: texts[i],
                              thoughts: "", created: i + 1, files: [], finish: "stop", model: "demo" });
    await store.put({ chats: [{ id: "long", title: "long", created: 1, updated: 1, leaf: "m" + (texts.length - 1), settings: {} }],
                      messages: texts.map((_, i) => message(i)) });
    store.close();
  }, { texts: Array.from({ length: count }, (_, i) => answer(i)) });
  results.open = [];
  for (let i = 0; i < 5; ++i) {
    await page.goto("about:blank");
    await page.goto(stand.url + "/#new");
    await page.waitForSelector("body.ready");
    await page.waitForTimeout(300);
    results.open.push(await page.evaluate(async (wanted) => {
      const begin = performance.now();
      location.hash = "long";
      while (document.querySelectorAll(".message").length < wanted) await new Promise((done) => setTimeout(done));
      // The next frame.
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      const shown = performance.now() - begin;
      while (document.querySelector(".assistant > .text.plain")) await new Promise((done) => setTimeout(done, 20));
      return { shown, all: performance.now() - begin };
    }, count));
  }

  // --- streaming, at the end of that chat ---
  const text = Array.from({ length: 400 }, (_, i) => answer(i)).join("\n\n");
  const tokens = text.match(/\s*\S{1,4}/g);
  stand.chat = (body, write, end, response) => {
    let sent = 0;
    const begin = performance.now();
    const timer = setInterval(() => {
      const due = Math.min(tokens.length, Math.floor((performance.now() - begin) / 10), seconds * 100);
      while (sent < due) write(piece(tokens[sent++]));
      if (due < Math.min(tokens.length, seconds * 100)) return;
      clearInterval(timer);
      write(finish());
      end();
    }, 10);
    response.on("close", () => clearInterval(timer));
  };
  for (const where of ["new", "long"]) {
    await page.goto(stand.url + "/#" + where);
    await page.waitForTimeout(1500);
    await page.evaluate(() => {
      window.frames_ = [];
      window.tasks = [];
      new PerformanceObserver((list) => tasks.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: "longtask" });
      let last = performance.now();
      const frame = (time) => {
        frames_.push(time - last);
        last = time;
        requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
    });
    await send(page, "Go on.");
    await page.waitForTimeout(seconds * 1000);
    const frames = (await page.evaluate(() => frames_)).slice(2).sort((a, b) => a - b);
    const tasks = await page.evaluate(() => tasks);
    results["frames, " + where] = { median: percentile(frames, 0.5), p99: percentile(frames, 0.99), worst: frames.at(-1), over33: frames.filter((time) => time > 33).length / frames.length,
                                    long_tasks: tasks.length };
    await page.waitForFunction(() => !document.querySelector(".running"), null, { timeout: 20_000 });
  }
  console.log(JSON.stringify(results, (key, value) => (typeof value === "number" && !Number.isInteger(value) ? Number(value.toFixed(3)) : value), 1));
} finally {
  await browser.close();
  await stand.stop();
  await server.stop();
}
