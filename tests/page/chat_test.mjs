// Tests chatting on the page, in a real browser with a real server. Run by ctest as page_chat; skips if the browser is
// not installed.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { openBrowser, openPage, reload, send, serve, serveDemo, skipWithoutBrowser, soon, story, texts, violations, waitForAnswer } from "./browsing.mjs";

skipWithoutBrowser();
let server, browser;
before(async () => {
  server = await serveDemo();
  browser = await openBrowser();
});
after(async () => {
  await browser.close();
  await server.stop();
});

// A page that must have no complaints at the end of its test.
async function withPage(options, use) {
  const page = await openPage(browser, options.url ?? server.url, options);
  try {
    await use(page);
    assert.deepEqual(page.complaints, []);
  } finally {
    await page.context().close();
  }
}
const button = (page, name, message = ".message:last-child") => page.locator(`${message} [data-do=${name}]`);

// The server's answer without a page.
async function answerTo(messages, more = {}) {
  const response = await fetch(server.url + "/v1/chat/completions", {
    method: "POST", body: JSON.stringify({ messages, ...more }) });
  return (await response.json()).choices[0].message.content;
}

describe("a conversation", () => {
  test("is answered, kept, and there again after a reload", () => withPage({}, async (page) => {
    await send(page);
    await waitForAnswer(page);
    const answer = await answerTo([{ role: "user", content: story }]);
    await soon(async () => assert.deepEqual(await texts(page), [story, answer]));
    await soon(async () => assert.match(await page.textContent(".message:last-child .stats"), /^demo · \d+ tokens · [\d.]+ tokens\/s · prompt \d+/));
    await soon(async () => assert.match(await page.getAttribute("#gauge", "aria-label"), /^\d+ of 512 tokens of context used$/));
    await soon(async () => assert.equal(await page.textContent("#chats a"), story));
    await soon(async () => assert.equal(await page.title(), story + " · Pippin"));
    await reload(page);
    await page.waitForSelector(".assistant");
    await soon(async () => assert.deepEqual(await texts(page), [story, answer]));
    // The second question is sent with the first.
    await send(page, "And then?");
    await page.waitForFunction(() => document.querySelectorAll(".assistant:not(.running)").length === 2);
    const both = [{ role: "user", content: story }, { role: "assistant", content: answer }, { role: "user", content: "And then?" }];
    await soon(async () => assert.equal((await texts(page)).at(-1), await answerTo(both)));
    await soon(async () => assert.match(await page.textContent(".message:last-child .stats"), /, \d+ cached/));
  }));

  test("has branches: by regenerating and by editing", () => withPage({}, async (page) => {
    await send(page);
    await waitForAnswer(page);
    await button(page, "again").click();
    await page.waitForFunction(() => document.querySelector(".assistant:last-child .which").textContent === "2 / 2");
    await waitForAnswer(page);
    await button(page, "previous").click();
    await soon(async () => assert.equal(await page.textContent(".assistant .which"), "1 / 2"));
    await soon(async () => assert.ok(await button(page, "previous").isDisabled()));
    // At an end of the alternatives, the focus moves to the other arrow.
    await soon(async () => assert.equal(await page.evaluate(() => document.activeElement.dataset.do), "next"));
    await button(page, "edit", ".user").click();
    await page.fill(".editor textarea", "Tell me about a boat.");
    await page.press(".editor textarea", "Enter");
    await waitForAnswer(page);
    await soon(async () => assert.deepEqual(await texts(page), ["Tell me about a boat.", await answerTo([{ role: "user", content: "Tell me about a boat." }])]));
    await soon(async () => assert.equal(await page.textContent(".user .which"), "2 / 2"));
    await button(page, "previous", ".user").click();
    await soon(async () => assert.equal((await texts(page))[0], story));
    await reload(page);
    await page.waitForSelector(".assistant");
    await soon(async () => assert.equal((await texts(page))[0], story));
    await soon(async () => assert.equal(await page.textContent(".user .which"), "1 / 2"));
  }));

  test("an answer is cut, and goes on", () => withPage({}, async (page) => {
    await page.click("main [data-do=settings]");
    await page.fill("#set-max_tokens", "8");
    await page.press("#set-max_tokens", "Escape");
    await send(page);
    await waitForAnswer(page);
    const begun = (await texts(page))[1];
    await soon(async () => assert.equal(await page.textContent(".assistant .note"), "The answer reached its limit."));
    await button(page, "continue").click();
    await page.waitForFunction((length) => document.querySelector(".assistant > .text").innerText.length > length, begun.length);
    await waitForAnswer(page);
    const whole = await answerTo([{ role: "user", content: story }], { max_tokens: 16 });
    await soon(async () => assert.equal((await texts(page))[1].trim(), whole.trim()));
  }));

  test("is stopped", () => withPage({}, async (page) => {
    await page.click("main [data-do=settings]");
    await page.fill("#more-fields", '{"ignore_eos": true}');
    await page.press("#more-fields", "Escape");
    await page.route("**/v1/chat/completions", async (route) => {
      await new Promise((done) => setTimeout(done, 200));
      await route.continue();
    });
    await send(page);
    await page.waitForSelector("#stop:not([hidden])");
    await page.keyboard.press("Escape");
    await page.waitForSelector("#stop", { state: "hidden" });
    await soon(async () => assert.equal(await page.textContent(".assistant .note"), "Stopped."));
    await soon(async () => assert.equal(await page.evaluate(() => document.activeElement.id), "input"));
  }));
});

describe("for everybody", () => {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1200, 380]) {
      test(`axe finds nothing: ${colorScheme}, ${width} pixels`, () => withPage({ colorScheme, viewport: { width, height: 800 } }, async (page) => {
        await soon(async () => assert.deepEqual(await violations(page), []));
        await send(page);
        await waitForAnswer(page);
        await button(page, "again").click();
        await waitForAnswer(page);
        await soon(async () => assert.deepEqual(await violations(page), []));
        if (width < 500) {
          await page.click("#show-chats");
          await page.waitForFunction(() => document.querySelector("#sidebar").getBoundingClientRect().left === 0);
          await soon(async () => assert.deepEqual(await violations(page), []));
          await page.click("#sidebar .bar [data-do=sidebar]");
        }
        await page.click("main [data-do=settings]");
        await soon(async () => assert.deepEqual(await violations(page), []));
        await page.keyboard.press("Escape");
        await page.keyboard.press("Control+/");
        await soon(async () => assert.deepEqual(await violations(page), []));
      }));
    }
  }
});

test("another model is chosen, loaded, and asked", async () => {
  // A copy, because two names for one path are one model.
  const copy = fs.mkdtempSync(path.join(os.tmpdir(), "pippin-page-"));
  fs.cpSync(path.join(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "../../pippin/demo/model"), copy, { recursive: true });
  const both = await serve("--quiet", "demo", `other=${copy}`);
  try {
    await withPage({ url: both.url }, async (page) => {
      await soon(async () => assert.deepEqual(await page.$$eval("#model option", (options) => options.map((option) => option.textContent)), ["demo", "other (not loaded)"]));
      await page.selectOption("#model", "other");
      await page.waitForSelector("#model-state[data-state=ready]");
      await soon(async () => assert.equal(await page.getAttribute("#model-state", "aria-label"), "other: ready"));
      await send(page);
      await waitForAnswer(page);
      await soon(async () => assert.match(await page.textContent(".assistant .stats"), /^other · /));
      await reload(page);
      await page.waitForSelector(".assistant");
      await page.waitForFunction(() => document.querySelector("#model").value === "other");
    });
  } finally {
    await both.stop();
    fs.rmSync(copy, { recursive: true });
  }
});

test("everything is reached by keys", () => withPage({}, async (page) => {
  const focused = () => page.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent);
  await soon(async () => assert.equal(await focused(), "Message"));
  await page.keyboard.type("Hi");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("there");
  await soon(async () => assert.equal(await page.inputValue("#input"), "Hi\nthere"));
  await page.keyboard.press("Enter");
  await waitForAnswer(page);
  await soon(async () => assert.equal(await focused(), "Message"));
  await page.keyboard.press("ArrowUp");
  await soon(async () => assert.equal(await focused(), "Edit the message"));
  await page.keyboard.press("Escape");
  await soon(async () => assert.equal(await focused(), "Edit"));
  for (const wanted of ["Copy", "Regenerate"]) {
    await page.keyboard.press("Tab");
    await soon(async () => assert.equal(await focused(), wanted));
  }
  await page.keyboard.press("Control+B");
  await soon(async () => assert.ok(await page.isHidden("#sidebar")));
  await soon(async () => assert.equal(await focused(), "Show the chats"));
  await page.keyboard.press("Control+K");
  await soon(async () => assert.equal(await focused(), "Search the chats"));
  await page.keyboard.press("Control+/");
  await soon(async () => assert.ok(await page.isVisible("#keys")));
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+Shift+Backspace");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#empty:not([hidden])");
  await soon(async () => assert.equal(await page.locator("#chats a").count(), 0));
}));

test("a key is asked for, and kept", async () => {
  const guarded = await serve("--quiet", "--api-key", "secret", "demo");
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(30_000);
    await page.goto(guarded.url);
    await page.fill("#question-input", "wrong");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector("#question-text").textContent.includes("does not know"));
    await page.fill("#question-input", "secret");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector("#model").options.length === 1);
    await page.reload();
    await page.waitForFunction(() => document.querySelector("#model").options.length === 1);
    await send(page);
    await waitForAnswer(page);
    await soon(async () => assert.equal((await texts(page)).length, 2));
    await page.close();
  } finally {
    await guarded.stop();
  }
});
