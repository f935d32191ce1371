// Failures that a page can meet: a server that disconnects, proxies, full and newer storage, other tabs, long answers,
// hostile ones.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { openBrowser, openPage, reload, send, serveDemo, skipWithoutBrowser, soon, story, texts, violations, waitForAnswer, watchComplaints } from "./browsing.mjs";
import { answering, finish, piece, standIn, thought } from "./stand_in.mjs";

skipWithoutBrowser();
let server, browser, stand;
before(async () => {
  server = await serveDemo();
  stand = await standIn(server.url);
  browser = await openBrowser();
});
after(async () => {
  await browser.close();
  await stand.stop();
  await server.stop();
});

async function withPage(options, use) {
  stand.chat = options.chat ?? null;
  const page = await openPage(browser, options.url ?? stand.url, options);
  try {
    await use(page);
    assert.deepEqual(page.complaints, []);
  } finally {
    await page.context().close();
  }
}
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

describe("the server", () => {
  test("goes away in the middle of an answer, and comes back", () => withPage({ chat: (body, write) => write(piece("Once upon ")) }, async (page) => {
    await send(page);
    await page.waitForFunction(() => document.querySelector(".assistant > .text")?.innerText === "Once upon");
    await page.fill("#input", "not yet sent");
    await stand.stop();
    await page.waitForSelector("#banner-server");
    await soon(async () => assert.equal(await page.textContent(".assistant .note"), "The connection was lost."));
    await soon(async () => assert.equal(await page.inputValue("#input"), "not yet sent"));
    await soon(async () => assert.deepEqual(await violations(page), []));
    await stand.start();
    stand.chat = answering("a time.");
    await page.waitForSelector("#banner-server", { state: "detached" });
    await page.click(".assistant [data-do=continue]");
    await page.waitForFunction(() => document.querySelector(".assistant > .text").innerText.endsWith("time."));
    await waitForAnswer(page);
    await soon(async () => assert.deepEqual(await texts(page), [story, "Once upon a time."]));
    await reload(page);
    await page.waitForSelector(".assistant");
    await soon(async () => assert.deepEqual(await texts(page), [story, "Once upon a time."]));
    await soon(async () => assert.equal(await page.inputValue("#input"), "not yet sent"));
  }));

  test("is not there when something is sent", () => withPage({}, async (page) => {
    await stand.stop();
    await send(page);
    await page.waitForSelector("#banner-server");
    await page.waitForSelector(".assistant .note.failed");
    await stand.start();
    await page.waitForSelector("#banner-server", { state: "detached" });
    await page.click(".assistant [data-do=again]");
    await page.waitForFunction(() => document.querySelector(".assistant > .text").innerText.startsWith("Once upon a time"));
  }));

  test("refuses, and its words are shown", () => withPage({}, async (page) => {
    await send(page, "word ".repeat(3000));
    await page.waitForSelector(".note.failed");
    await soon(async () => assert.match(await page.textContent(".note.failed"), /tokens/));
    await soon(async () => assert.equal(await page.isHidden("#stop"), true));
  }));

  test("fails in the middle of a stream", () => withPage({ chat: (body, write, end) => {
    write(piece("Well"));
    write({ error: { message: "the disk is full", code: null } });
    end();
  } }, async (page) => {
    await send(page);
    await page.waitForSelector(".note.failed");
    await soon(async () => assert.equal(await page.textContent(".note.failed"), "the disk is full"));
    await soon(async () => assert.equal((await texts(page))[1], "Well"));
  }));

  test("reads a long prompt, thinks, and writes", () => {
    let go;
    return withPage({ chat: async (body, write, end) => {
      const step = () => new Promise((done) => { go = done; });
      write(piece(""));
      write({ choices: [{ index: 0, delta: {} }], prompt_progress: { processed: 1024, total: 4096 } });
      await step();
      write(thought("Let me *think*."));
      await step();
      await sleep(200);
      write(piece("Done."));
      write(finish());
      write({ choices: [], usage: { prompt_tokens: 4096, completion_tokens: 9, total_tokens: 4105, prompt_tokens_details: { cached_tokens: 4000 } }, timings: { predicted_per_second: 12.34 } });
      end();
    } }, async (page) => {
      await send(page);
      await page.waitForSelector(".wait progress[value='0.25']");
      await soon(async () => assert.equal(await page.textContent(".wait .what"), "Reading the prompt: 1,024 of 4,096 tokens"));
      go();
      await page.waitForSelector(".thoughts:not([hidden])");
      await soon(async () => assert.equal(await page.textContent(".thoughts summary"), "Thinking"));
      go();
      await waitForAnswer(page);
      await soon(async () => assert.match(await page.textContent(".thoughts summary"), /^Thought for 0\.\d s$/));
      await soon(async () => assert.equal(await page.$eval(".thoughts .text", (element) => element.innerHTML), "<p>Let me <em>think</em>.</p>"));
      await soon(async () => assert.equal(await page.textContent(".assistant .stats"), "demo · 9 tokens · 12.3 tokens/s · prompt 4,096, 4,000 cached"));
      await soon(async () => assert.ok(await page.$("#gauge.full")));
    });
  });
});

test("works under a proxy's prefix", async () => {
  const proxy = await standIn(server.url, { prefix: "/some/where" });
  try {
    await withPage({ url: proxy.url }, async (page) => {
      await send(page);
      await waitForAnswer(page);
      await soon(async () => assert.equal((await texts(page)).length, 2));
      assert.ok(proxy.seen.every((path) => path.startsWith("/some/where/")), proxy.seen.join(" "));
    });
  } finally {
    await proxy.stop();
  }
});

test("sends requests only to its server", () => withPage({ chat: answering("![x](https://example.org/a.png) <img src=https://example.org/b.png> https://example.org/c") }, async (page) => {
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.reload();
  await page.waitForSelector("body.ready");
  await send(page);
  await waitForAnswer(page);
  await soon(async () => assert.equal(await page.locator(".assistant a").count(), 2));
  assert.deepEqual(asked.filter((url) => !url.startsWith(stand.url + "/")), []);
}));

test("HTML and scripts of a model stay text", () => withPage({ chat: answering("<script>window.bad = 1</script>\n\n<img src=x onerror='window.bad = 1'>\n\n[x](javascript:window.bad=1)\n\n<b>b</b>") }, async (page) => {
  await send(page);
  await waitForAnswer(page);
  await soon(async () => assert.equal((await texts(page))[1], "<script>window.bad = 1</script>\n\n<img src=x onerror='window.bad = 1'>\n\n[x](javascript:window.bad=1)\n\n<b>b</b>"));
  await soon(async () => assert.equal(await page.locator(".assistant .text :is(a, img, script, b)").count(), 0));
  await soon(async () => assert.equal(await page.evaluate(() => window.bad), undefined));
}));

test("no script but the page's own runs, and trying is seen", async () => {
  const page = await openPage(browser, stand.url);
  const outcomes = await page.evaluate(() => {
    const tried = (use) => { try { use(); return "done"; } catch (error) { return error.name; } };
    const script = document.createElement("script");
    return [
      tried(() => { document.body.innerHTML = "<b>x</b>"; }),
      tried(() => { script.text = "window.bad = 1"; }),
      tried(() => document.body.setAttribute("onclick", "window.bad = 1")),
      tried(() => document.body.append(Object.assign(document.createElement("img"), { src: "https://example.org/x.png" }))),
      window.bad,
    ];
  });
  assert.deepEqual(outcomes.slice(0, 2), ["TypeError", "TypeError"]);
  assert.equal(outcomes.at(-1), undefined);
  await page.waitForTimeout(100);
  assert.ok(page.complaints.some((complaint) => /img-src/.test(complaint)), page.complaints.join("\n"));
  await page.context().close();
});

describe("the storage", () => {
  test("is full: its chats are shown, and can be exported", () => withPage({ chat: answering("Yes.") }, async (page) => {
    await send(page, "first");
    await waitForAnswer(page);
    await page.evaluate(() => {
      IDBObjectStore.prototype.put = () => { throw new DOMException("no room", "QuotaExceededError"); };
    });
    await send(page, "second");
    await page.waitForSelector("#banner-full");
    await soon(async () => assert.match(await page.textContent("#banner-full"), /no room left/));
    await page.waitForFunction(() => document.querySelectorAll(".assistant:not(.running)").length === 2);
    await soon(async () => assert.deepEqual(await texts(page), ["first", "Yes.", "second", "Yes."]));
    await soon(async () => assert.deepEqual(await violations(page), []));
    const [file] = await Promise.all([page.waitForEvent("download"), page.click("#banner-full button:not(.icon)")]);
    assert.match(file.suggestedFilename(), /^pippin-chats-\d{4}-\d\d-\d\d\.json$/);
  }));

  test("is of a newer version: the page works, and says that it keeps nothing", () => withPage({ chat: answering("Yes.") }, async (page) => {
    await page.evaluate(() => new Promise((resolve, reject) => {
      const request = indexedDB.open("pippin", 99);
      request.onsuccess = () => { request.result.close(); resolve(); };
      request.onerror = reject;
    }));
    // This tab has closed the database, and says so.
    await page.waitForSelector("#banner-outdated");
    await page.reload();
    await page.waitForSelector("#banner-store");
    await soon(async () => assert.match(await page.textContent("#banner-store"), /newer version of this page.*not kept/));
    await send(page);
    await waitForAnswer(page);
    await soon(async () => assert.deepEqual(await texts(page), [story, "Yes."]));
  }));

  test("is shared by two tabs", () => withPage({ chat: answering("Yes.") }, async (page) => {
    const other = await page.context().newPage();
    const complaints = watchComplaints(other);
    await other.goto(stand.url);
    await other.waitForSelector("body.ready");
    await send(page, "first");
    await waitForAnswer(page);
    await other.waitForSelector("#chats a");
    await other.click("#chats a");
    await other.waitForSelector(".assistant");
    await soon(async () => assert.deepEqual(await texts(other), ["first", "Yes."]));
    await send(other, "second");
    await waitForAnswer(other);
    // A tab in the background has its elements, but does not paint them.
    await page.waitForFunction(() => Array.from(document.querySelectorAll(".message > .text"), (text) => text.textContent).join("|") === "first|Yes.|second|Yes.");
    await other.click("#chats [data-do=delete]", { force: true });
    await other.click("#question-yes");
    await page.waitForSelector("#empty:not([hidden])");
    await soon(async () => assert.equal(await page.locator("#chats a").count(), 0));
    assert.deepEqual(complaints, []);
  }));
});

test("a browser that keeps nothing still chats", async () => {
  stand.chat = answering("Yes.");
  const context = await browser.newContext();
  await context.addInitScript(() => {
    Object.defineProperty(window, "localStorage", { get() { throw new DOMException("denied", "SecurityError"); } });
    IDBFactory.prototype.open = () => { throw new DOMException("denied", "SecurityError"); };
  });
  const page = await context.newPage();
  const complaints = watchComplaints(page);
  await page.goto(stand.url);
  await page.waitForSelector("#banner-store");
  await send(page);
  await waitForAnswer(page);
  await soon(async () => assert.deepEqual(await texts(page), [story, "Yes."]));
  await page.click("#new-chat");
  await page.waitForSelector("#empty:not([hidden])");
  await page.click("#chats a");
  await page.waitForSelector(".assistant");
  await soon(async () => assert.deepEqual(await texts(page), [story, "Yes."]));
  await page.click("[data-do=theme]");
  assert.deepEqual(complaints, []);
  await context.close();
});

describe("chats", () => {
  test("leave nothing when they are deleted while they are answered", () => withPage({ chat: (body, write) => write(piece("Once")) }, async (page) => {
    await send(page);
    await page.waitForSelector(".assistant.running p");
    await page.keyboard.press("Control+Shift+Backspace");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#empty:not([hidden])");
    await page.waitForTimeout(300);
    await soon(async () => assert.deepEqual(await page.evaluate(async () => {
      const folder = document.querySelector("script[src]").src.replace("main.js", "");
      const { openStore } = await import(folder + "store.js");
      const store = await openStore();
      return [(await store.chats()).length, (await store.search("")).size];
    }), [0, 0]));
  }));

  test("that another tab answers are seen to grow", () => {
    let write, end;
    return withPage({ chat: (body, to, over) => { [write, end] = [to, over]; to(piece("Slow")); } }, async (page) => {
      await send(page);
      await page.waitForSelector(".assistant.running p");
      const other = await page.context().newPage();
      await other.goto(page.url());
      await other.waitForSelector(".assistant.running");
      await page.waitForTimeout(2100);
      write(piece(" but steady"));
      await other.waitForFunction(() => document.querySelector(".assistant > .text").innerText === "Slow but steady");
      await soon(async () => assert.equal(await other.textContent(".assistant .note"), ""));
      write(finish());
      end();
      await waitForAnswer(other);
      await soon(async () => assert.deepEqual(await texts(other), [story, "Slow but steady"]));
    });
  });

  test("are renamed, searched, exported, deleted and imported", () => withPage({ chat: answering("The answer is *a fox*.") }, async (page) => {
    await send(page, "first question");
    await waitForAnswer(page);
    await page.keyboard.press("Control+Shift+O");
    await page.waitForFunction(() => document.querySelector("#title").textContent === "New chat");
    await send(page, "second question");
    await waitForAnswer(page);
    await page.hover("#chats li");
    await page.click("#chats li:first-child [data-do=rename]");
    await page.fill("#question-input", "About <b>foxes</b>");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector("#title").textContent === "About <b>foxes</b>");
    await page.keyboard.press("Control+K");
    await page.keyboard.type("FIRST");
    await page.waitForFunction(() => document.querySelectorAll("#chats a").length === 1);
    await soon(async () => assert.equal(await page.textContent("#chats a"), "first question"));
    await page.fill("#search", "a fox");
    await page.waitForFunction(() => document.querySelectorAll("#chats a").length === 2);
    await page.fill("#search", "nowhere");
    await page.waitForSelector("#chats .none");
    await page.fill("#search", "");
    await page.waitForSelector("#chats a");
    await page.keyboard.press("Control+,");
    const [file] = await Promise.all([page.waitForEvent("download"), page.click("[data-do=export-all]")]);
    const path = await file.path();
    await page.click("[data-do=delete-all]");
    await page.click("#question-yes");
    await page.waitForSelector("#chats .none");
    await page.setInputFiles("#import-input", path);
    await page.waitForFunction(() => document.querySelectorAll("#chats a").length === 2);
    await page.waitForSelector(".assistant em");
    await page.setInputFiles("#import-input", { name: "x.json", mimeType: "application/json", buffer: Buffer.from("{}") });
    await page.waitForFunction(() => document.querySelector("#banner-failed")?.textContent.includes("no chats of this page"));
  }));

  test("keep drafts, each its own", () => withPage({ chat: answering("Yes.") }, async (page) => {
    await send(page, "first");
    await waitForAnswer(page);
    await page.fill("#input", "for the first");
    await page.keyboard.press("Control+Shift+O");
    await page.waitForFunction(() => document.querySelector("#input").value === "");
    await page.fill("#input", "for a new one");
    await page.click("#chats a");
    await page.waitForFunction(() => document.querySelector("#input").value === "for the first");
    await page.click("#new-chat");
    await page.waitForFunction(() => document.querySelector("#input").value === "for a new one");
  }));

  test("take text files, and no others", () => {
    let asked;
    return withPage({ chat: (body, ...rest) => { asked = body; answering("Yes.")(body, ...rest); } }, async (page) => {
      const attach = (name, mimeType, buffer) => page.setInputFiles("#file-input", { name, mimeType, buffer: Buffer.from(buffer) });
      await attach("a.png", "image/png", "x");
      await page.waitForFunction(() => document.querySelector("#banner-told").textContent.includes("this model takes no images"));
      await attach("a.bin", "application/octet-stream", [0xff, 0xfe, 0]);
      await page.waitForFunction(() => document.querySelector("#banner-told").textContent.includes("is not a text file"));
      await attach("a.txt", "text/plain", "x".repeat((1 << 20) + 1));
      await page.waitForFunction(() => document.querySelector("#banner-told").textContent.includes("1024 KB at most"));
      await attach("notes.txt", "text/plain", "the words");
      await page.waitForSelector("#files li");
      await send(page, "Read it.");
      await waitForAnswer(page);
      assert.equal(asked.messages[0].content, "notes.txt:\n```\nthe words\n```\n\nRead it.");
      await soon(async () => assert.equal(await page.textContent(".attached li"), "notes.txt"));
      await reload(page);
      await page.waitForSelector(".assistant");
      await page.click(".assistant [data-do=again]");
      await page.waitForSelector(".assistant .which:text('2 / 2')");
      assert.match(asked.messages[0].content, /the words/);
    });
  });

  test("have settings of their own", () => {
    let asked;
    return withPage({ chat: (body, ...rest) => { asked = body; answering("Yes.")(body, ...rest); } }, async (page) => {
      await page.waitForSelector("#model-state[data-state=ready]");
      await page.keyboard.press("Control+,");
      await page.waitForFunction(() => document.querySelector("#set-temperature").placeholder !== "");
      await page.fill("#system", "Be brief.");
      await page.fill("#set-temperature", "0.5");
      await page.fill("#stop-texts", "END\nSTOP");
      await page.fill("#more-fields", "{no json");
      await soon(async () => assert.ok(await page.$("#more-fields:invalid")));
      await page.fill("#more-fields", '{"dry_base": 2}');
      await page.keyboard.press("Escape");
      await send(page, "Hi");
      await waitForAnswer(page);
      assert.deepEqual(asked.messages[0], { role: "system", content: "Be brief." });
      assert.deepEqual([asked.temperature, asked.stop, asked.dry_base, asked.model], [0.5, ["END", "STOP"], 2, "demo"]);
      await reload(page);
      await page.waitForSelector(".assistant");
      await page.keyboard.press("Control+,");
      await soon(async () => assert.equal(await page.inputValue("#set-temperature"), "0.5"));
      await page.click("#settings header button");
      await page.click("#new-chat");
      await page.waitForSelector("#empty:not([hidden])");
      await send(page, "Hi");
      await waitForAnswer(page);
      assert.equal(asked.temperature, undefined);
    });
  });
});

describe("while an answer is written", () => {
  const lines = (from, to) => Array.from({ length: to - from }, (_, i) => `Line ${from + i}.\n\n`).join("");
  const atEnd = (page) => page.$eval("#thread", (thread) => thread.scrollHeight - thread.scrollTop - thread.clientHeight < 2);

  test("its end is followed until the user scrolls", () => {
    let write;
    return withPage({ chat: (body, to) => { write = to; to(piece(lines(0, 50))); } }, async (page) => {
      await send(page);
      await page.waitForFunction(() => document.querySelector(".assistant")?.innerText.includes("Line 49"));
      await soon(async () => assert.ok(await atEnd(page)));
      await soon(async () => assert.ok(await page.isHidden("#to-end")));
      await page.hover("#thread");
      await page.mouse.wheel(0, -600);
      await page.waitForSelector("#to-end:not([hidden])");
      const top = await page.$eval("#thread", (thread) => thread.scrollTop);
      write(piece(lines(50, 90)));
      await page.waitForFunction(() => document.querySelector(".assistant").innerText.includes("Line 89"));
      await soon(async () => assert.ok(Math.abs(await page.$eval("#thread", (thread) => thread.scrollTop) - top) < 2));
      await page.click("#to-end");
      await soon(async () => assert.ok(await atEnd(page)));
      write(piece(lines(90, 120)));
      await page.waitForFunction(() => document.querySelector(".assistant").innerText.includes("Line 119"));
      await soon(async () => assert.ok(await atEnd(page)));
      await page.focus("#thread");
      await page.keyboard.down("PageUp");
      for (let i = 120; i < 140; ++i) {
        write(piece(lines(i, i + 1)));
        await sleep(10);
      }
      await page.keyboard.up("PageUp");
      await page.waitForFunction(() => document.querySelector(".assistant").innerText.includes("Line 139"));
      await soon(async () => assert.ok(!await atEnd(page)));
      await page.click("#stop");
      await waitForAnswer(page);
    });
  });

  test("sentences are announced, not tokens", () => withPage({ chat: async (body, write, end) => {
    for (const word of "One two three. Four five six. Seven".split(/(?<= )/)) {
      write(piece(word));
      await sleep(20);
    }
    write(finish());
    end();
  } }, async (page) => {
    await page.evaluate(() => {
      window.announced = [];
      new MutationObserver((changes) => changes.forEach((change) => change.addedNodes.forEach((node) => announced.push(node.textContent))))
        .observe(document.querySelector("#live"), { childList: true });
    });
    await send(page);
    await waitForAnswer(page);
    await soon(async () => assert.deepEqual(await page.evaluate(() => announced), ["One two three.", "Four five six. Seven"]));
  }));

  test("another chat can be read", () => {
    let write, end;
    return withPage({ chat: (body, to, over) => { [write, end] = [to, over]; to(piece("Slow")); } }, async (page) => {
      await send(page, "slow");
      await page.waitForSelector(".assistant.running p");
      await page.click("#new-chat");
      await page.waitForSelector("#empty:not([hidden])");
      await soon(async () => assert.ok(await page.isVisible("#send")));
      write(piece(" but steady"));
      write(finish());
      end();
      await page.click("#chats a");
      await waitForAnswer(page);
      await soon(async () => assert.deepEqual(await texts(page), ["slow", "Slow but steady"]));
    });
  });

  test("code is copied as it is", () => withPage({ chat: answering("```py\nif a < b:\n    print('x')  # y\n```"), permissions: ["clipboard-read", "clipboard-write"] }, async (page) => {
    await send(page);
    await waitForAnswer(page);
    await page.click("[data-do=copy-code]");
    await page.waitForSelector("[data-do=copy-code].done");
    await soon(async () => assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "if a < b:\n    print('x')  # y"));
  }));
});

for (const colorScheme of ["light", "dark"]) {
  test(`axe finds nothing in what models write: ${colorScheme}`, () => withPage({ colorScheme, chat: (body, write, end) => {
    write(thought("Some `thoughts`."));
    write(piece(`# A\n\n## B\n\n> a quote with [a link](https://example.org) and \`code\`\n\n- [x](https://a.b)\n\n---\n\n| a | b |\n|--:|---|\n| 1 | ~~2~~ |\n\n` +
      "```js\n// why\nconst a = \"text\" + 12;\n```\n\n```\nplain\n```"));
    write({ error: { message: "and a failure" } });
    end();
  } }, async (page) => {
    await send(page);
    await waitForAnswer(page);
    await page.click(".thoughts summary");
    await page.click("[data-do=copy-code]");
    await page.setInputFiles("#file-input", { name: "a.txt", mimeType: "text/plain", buffer: Buffer.from("x") });
    await soon(async () => assert.deepEqual(await violations(page), []));
    await page.hover(".user");
    await page.click(".user [data-do=edit]");
    await soon(async () => assert.deepEqual(await violations(page), []));
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+Shift+Backspace");
    await page.waitForSelector("#question[open]");
    await soon(async () => assert.deepEqual(await violations(page), []));
  }));
}

test("the theme is the system's until one is chosen", () => withPage({ colorScheme: "dark" }, async (page) => {
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await ground();
  await page.click("[data-do=theme]");
  const light = await ground();
  assert.notEqual(light, dark);
  await page.reload();
  await page.waitForSelector("body.ready");
  await soon(async () => assert.equal(await ground(), light));
  await page.click("[data-do=theme]");
  await soon(async () => assert.equal(await ground(), dark));
}));
