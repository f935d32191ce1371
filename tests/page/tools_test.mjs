// Tools on the page, the texts for other programs, and models that only embed.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { sharedData } from "../serve/serving.mjs";
import { openBrowser, openPage, reload, send, serve, serveDemo, skipWithoutBrowser, soon, texts, violations, waitForAnswer } from "./browsing.mjs";
import { finish, piece, standIn } from "./stand_in.mjs";

skipWithoutBrowser();
const template = new URL("../serve/tools.jinja", import.meta.url).pathname;
const kHostile = "<img src=x onerror=alert(1)>";
let folder, server, browser, stand;
const log = () => (fs.existsSync(path.join(folder, "log")) ? fs.readFileSync(path.join(folder, "log"), "utf8") : "");

before(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "pippin-tools-"));
  server = await serveDemo("--chat-template", template, "--tool", `note=echo {words} | tee -a ${folder}/log`,
    "--tool", `wait=echo begun >> ${folder}/log; sleep 30; echo ended >> ${folder}/log`);
  stand = await standIn(server.url);
  browser = await openBrowser();
});
after(async () => {
  await browser.close();
  await stand.stop();
  await server.stop();
  fs.rmSync(folder, { recursive: true });
});

const call = (index, name, given) => ({ choices: [{ index: 0, finish_reason: null, delta: { tool_calls: [
  { index, id: `call_${index}`, type: "function", function: { name, arguments: "" } }] } }], ...given });
const part = (index, text) => ({ choices: [{ index: 0, finish_reason: null, delta: { tool_calls: [{ index, function: { arguments: text } }] } }] });

// A model that calls tools in its first answers, one list of calls after the other, and then tells what it got.
function calling(...rounds) {
  const bodies = [];
  const chat = (body, write, end) => {
    bodies.push(body);
    const calls = rounds[bodies.length - 1];
    if (calls) {
      write(piece("Let me see."));
      calls.forEach(([name, given], index) => {
        const text = JSON.stringify(given);
        write(call(index, name));
        write(part(index, text.slice(0, 5)));
        write(part(index, text.slice(5)));
      });
      write(finish("tool_calls"));
    } else {
      write(piece(`Done ${bodies.length}.`));
      write(finish());
    }
    end();
  };
  return { chat, bodies };
}

async function withPage({ model, ...options }, use) {
  stand.chat = model?.chat ?? null;
  fs.rmSync(path.join(folder, "log"), { force: true });
  const page = await openPage(browser, options.url ?? stand.url, options);
  try {
    if (!options.url) await page.waitForSelector("#show-tools:not([hidden])");
    await use(page, model?.bodies);
    assert.deepEqual(page.complaints, []);
  } finally {
    await page.context().close();
  }
}
const asked = (page, state = "asked") => page.waitForSelector(`.call[data-state=${state}]`);
const waitForText = (page, text) => page.waitForFunction((wanted) => [...document.querySelectorAll(".assistant > .text")].at(-1)?.innerText === wanted, text);

describe("a call of a tool", () => {
  test("is shown, and runs when it is allowed", () => withPage({ model: calling([["note", { words: kHostile }]]) }, async (page, bodies) => {
    await send(page, "Note it.");
    await asked(page);
    assert.deepEqual(bodies[0].tools.map((tool) => tool.function.name), ["note", "wait"]);
    assert.equal("command" in bodies[0].tools[0], false);
    await soon(async () => assert.equal(await page.textContent(".call strong"), "note"));
    await soon(async () => assert.equal(await page.textContent(".call [aria-label=Arguments]"), JSON.stringify({ words: kHostile }, null, 2)));
    await soon(async () => assert.match(await page.textContent(".call .command"), /^echo \{words\} \| tee/));
    await soon(async () => assert.equal(await page.locator(".call img").count(), 0));
    await soon(async () => assert.deepEqual(await violations(page), []));
    await reload(page);  // the question stays, and nothing has run
    await asked(page);
    assert.equal(log(), "");
    assert.equal(bodies.length, 1);
    await page.click("[data-do=allow]");
    await waitForText(page, "Done 2.");
    assert.equal(log(), kHostile + "\n");
    assert.deepEqual(bodies[1].messages.slice(1), [
      { role: "assistant", content: "Let me see.", tool_calls: [{ id: "call_0", type: "function", function: { name: "note", arguments: JSON.stringify({ words: kHostile }) } }] },
      { role: "tool", tool_call_id: "call_0", content: kHostile + "\n" }]);
    assert.equal("continue_final_message" in bodies[1], false);
    await page.click(".call summary");
    await soon(async () => assert.equal(await page.textContent(".call [aria-label=Result]"), kHostile + "\n"));
    await soon(async () => assert.deepEqual(await violations(page), []));
  }));

  test("is denied", () => withPage({ model: calling([["note", { words: "a" }]]) }, async (page, bodies) => {
    await send(page, "Note it.");
    await asked(page);
    await page.click("[data-do=deny]");
    await waitForText(page, "Done 2.");
    assert.equal(log(), "");
    assert.equal(bodies[1].messages.at(-1).content, "error: the user did not allow this call");
    await soon(async () => assert.equal(await page.textContent(".call-head span"), "not allowed"));
  }));

  test("is denied by another message", () => withPage({ model: calling([["note", { words: "a" }]]) }, async (page, bodies) => {
    await send(page, "Note it.");
    await asked(page);
    await send(page, "No.");
    await waitForText(page, "Done 2.");
    assert.deepEqual(bodies[1].messages.slice(-2).map(({ role }) => role), ["tool", "user"]);
    assert.equal(log(), "");
  }));

  test("goes without a question once it always may, until that is taken back", () => withPage(
    { model: calling([["note", { words: "a" }]], [["note", { words: "b" }]], null, [["note", { words: "c" }]]) }, async (page, bodies) => {
      await send(page, "Note it.");
      await asked(page);
      await page.click("[data-do=allow-always]");
      await waitForText(page, "Done 3.");
      assert.equal(log(), "a\nb\n");
      assert.equal(bodies.length, 3);
      await page.click("#show-tools");
      await soon(async () => assert.deepEqual(await page.$$eval("#tool-list select", (selects) => selects.map(({ value }) => value)), ["always", "ask"]));
      await soon(async () => assert.deepEqual(await violations(page), []));
      await page.selectOption("#tool-list select >> nth=0", "ask");
      await page.keyboard.press("Escape");
      await send(page, "Again.");
      await asked(page);
      assert.equal(log(), "a\nb\n");
    }));

  test("is asked for again where the tool has another command", () => withPage({ model: calling([["note", { words: "a" }]]) }, async (page) => {
    await page.evaluate(() => localStorage.setItem("pippin.tools", JSON.stringify({ note: { command: "rm -r {words}", use: "always" } })));
    await send(page, "Note it.");
    await asked(page);
    assert.equal(log(), "");
  }));

  test("is one of several, each decided by itself, by keys", () => withPage(
    { model: calling([["note", { words: "a" }], ["note", { words: "b" }], ["absent", {}]]) }, async (page, bodies) => {
      await send(page, "Note them.");
      await asked(page);
      await soon(async () => assert.equal(await page.locator(".call[data-state=asked]").count(), 2));
      await soon(async () => assert.equal(await page.textContent(".call[data-state=failed] strong"), "absent"));
      await page.focus(".call[data-state=asked] [data-do=deny]");
      await page.keyboard.press("Enter");
      // The focus is at the next question.
      await soon(async () => assert.equal(await page.evaluate(() => document.activeElement.dataset.do + document.activeElement.dataset.call), "allow1"));
      await page.keyboard.press("Enter");
      await waitForText(page, "Done 2.");
      assert.equal(log(), "b\n");
      assert.deepEqual(bodies[1].messages.slice(-3).map(({ content }) => content), ["error: the user did not allow this call", "b\n", "error: unknown tool absent"]);
    }));

  test("is stopped, and the command with it", () => withPage({ model: calling([["wait", {}]]) }, async (page, bodies) => {
    await send(page, "Wait.");
    await asked(page);
    await page.click("[data-do=allow]");
    await asked(page, "running");
    while (log() === "") await new Promise((done) => setTimeout(done, 20));
    await page.click("#stop");
    await asked(page, "stopped");
    assert.equal(bodies.length, 1);
    await page.click(".assistant [data-do=continue]");
    await waitForText(page, "Done 2.");
    assert.equal(bodies[1].messages.at(-1).content, "error: the user stopped the call");
    assert.equal(log(), "begun\n");
  }));

  test("that the answer broke off does not run", () => withPage({ model: { bodies: [], chat: (body, write, end) => {
    write(call(0, "note"));
    write(part(0, '{"words": "a'));
    write(finish("length"));
    end();
  } } }, async (page) => {
    await page.evaluate(() => localStorage.setItem("pippin.tools", JSON.stringify({ note: { command: "x", use: "always" } })));
    await send(page, "Note it.");
    await asked(page, "cut");
    assert.equal(log(), "");
  }));

  test("of a tool that is off is not offered", () => withPage({ model: calling(null) }, async (page, bodies) => {
    await page.click("#show-tools");
    await page.selectOption("#tool-list select >> nth=0", "off");
    await page.keyboard.press("Escape");
    await send(page, "Note it.");
    await waitForAnswer(page);
    assert.deepEqual(bodies[0].tools.map((tool) => tool.function.name), ["wait"]);
  }));
});

test("without tools the box is hidden, and none are sent", async () => {
  const plain = await serveDemo();
  try {
    await withPage({ url: plain.url }, async (page) => {
      await send(page);
      await waitForAnswer(page);
      await soon(async () => assert.ok(await page.isHidden("#show-tools")));
    });
  } finally {
    await plain.stop();
  }
});

test("a model whose template takes no tools gets none", async () => {
  const plain = await serveDemo("--tool", "note=echo {words}");
  try {
    await withPage({ url: plain.url }, async (page) => {
      await page.waitForSelector("#show-tools:not([hidden])");
      await send(page);
      await waitForAnswer(page);
      await soon(async () => assert.equal((await texts(page)).length, 2));
      await soon(async () => assert.equal(await page.isHidden(".assistant .note"), true));
      await page.click("#show-tools");
      await soon(async () => assert.match(await page.textContent("#tools-note"), /^demo calls no tools/));
      await soon(async () => assert.deepEqual(await violations(page), []));
    });
  } finally {
    await plain.stop();
  }
});

describe("other programs", () => {
  test("are told of the server by texts to paste", () => withPage({}, async (page) => {
    await page.click("[data-do=connect]");
    await page.waitForSelector("#connect-clients details");
    const titles = await page.$$eval("#connect-clients summary", (all) => all.map(({ textContent }) => textContent));
    for (const title of ["Claude Code", "Codex", "opencode", "Continue", "VS Code", "llama.vscode", "Open WebUI", "curl"]) assert.ok(titles.includes(title), title);
    assert.equal(titles.some((title) => title.startsWith("Embeddings")), false);
    const text = (title) => page.locator("#connect-clients details", { has: page.locator("summary", { hasText: title }) }).first().locator("code").textContent();
    await soon(async () => assert.match(await text("Claude Code"), new RegExp(`ANTHROPIC_BASE_URL='${stand.url}' ANTHROPIC_AUTH_TOKEN='pippin' .*ANTHROPIC_MODEL='demo'.* claude$`)));
    await page.locator("#connect-clients summary", { hasText: "curl" }).press("Enter");
    await page.getByRole("button", { name: "Copy for curl" }).press("Enter");
    await soon(async () => assert.deepEqual(await violations(page), []));
    const { stdout } = await promisify(execFile)("sh", ["-c", await text("curl")]);
    assert.equal(JSON.parse(stdout).choices[0].message.role, "assistant");
    await page.keyboard.press("Escape");
    await soon(async () => assert.ok(await page.isHidden("#connect")));
    // The key itself is in none of them.
    await page.evaluate(() => localStorage.setItem("pippin.key", "secret-of-mine"));
    await page.reload();
    await page.waitForSelector("body.ready");
    await page.click("[data-do=connect]");
    await page.waitForSelector("#connect-clients details");
    const all = await page.textContent("#connect-clients");
    assert.ok(all.includes("YOUR_API_KEY") && !all.includes("secret-of-mine"));
  }));
});

const encoder = sharedData("architectures2/bert_mean");
describe("encoders", { skip: encoder ? false : "shared test data is absent: data/architectures2/bert_mean" }, () => {
  // Golden folders have no tokenizer: words are ids.
  let model;
  before(() => {
    model = path.join(folder, "encoder");
    fs.cpSync(encoder, model, { recursive: true });
    fs.chmodSync(model, 0o755);
    const vocab = Object.fromEntries(Array.from({ length: 100 }, (_, id) => [String(id), id]));
    fs.writeFileSync(path.join(model, "tokenizer.json"), JSON.stringify({ version: "1.0", added_tokens: [], normalizer: null,
      pre_tokenizer: { type: "WhitespaceSplit" }, post_processor: null, decoder: null, model: { type: "WordLevel", vocab, unk_token: "0" } }));
  });

  test("are named, and not offered to chat with", async () => {
    const both = await serve("--quiet", `vectors=${model}`, "demo");
    try {
      await withPage({ url: both.url }, async (page) => {
        await page.waitForFunction(() => document.querySelector("#model optgroup option")?.disabled);
        await soon(async () => assert.match(await page.getAttribute("#model optgroup", "label"), /^Encoders/));
        await soon(async () => assert.equal(await page.textContent("#model optgroup option"), "vectors"));
        await soon(async () => assert.equal(await page.inputValue("#model"), "demo"));
        await send(page);
        await waitForAnswer(page);
        await soon(async () => assert.match(await page.textContent(".assistant .stats"), /^demo · /));
        await page.click("[data-do=connect]");
        await page.waitForSelector("#connect-clients details");
        await page.selectOption("#connect-model", "vectors");
        await page.waitForFunction(() => document.querySelector("#connect-clients summary").textContent.startsWith("Embeddings"));
        await soon(async () => assert.equal(await page.locator("#connect-clients summary", { hasText: "Claude" }).count(), 0));
        await soon(async () => assert.deepEqual(await violations(page), []));
      });
    } finally {
      await both.stop();
    }
  });

  test("are known before they are loaded", async () => {
    const both = await serve("--quiet", "demo", `vectors=${model}`);
    try {
      await withPage({ url: both.url }, async (page) => {
        await page.waitForFunction(() => document.querySelector("#model optgroup option")?.textContent === "vectors (not loaded)");
      });
    } finally {
      await both.stop();
    }
  });

  test("alone close the message box", async () => {
    const alone = await serve("--quiet", `vectors=${model}`);
    try {
      await withPage({ url: alone.url }, async (page) => {
        await page.waitForSelector("#banner-encoders");
        await soon(async () => assert.ok(await page.isDisabled("#input")));
        await soon(async () => assert.deepEqual(await violations(page), []));
        await page.click("#banner-encoders button");
        await page.waitForSelector("#connect-clients details");
      });
    } finally {
      await alone.stop();
    }
  });
});
