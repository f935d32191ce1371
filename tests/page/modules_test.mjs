// The page's modules in isolation, in the browser: Markdown, the tree of messages, storage, and parsing.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { openBrowser, openPage, serveDemo, skipWithoutBrowser } from "./browsing.mjs";

skipWithoutBrowser();
let server, browser, page;
before(async () => {
  server = await serveDemo();
  browser = await openBrowser();
  page = await openPage(browser, server.url);
  await page.evaluate(() => {
    const folder = document.querySelector("script[src]").src.replace("main.js", "");
    window.load = (name) => import(`${folder}${name}.js`);
  });
});
after(async () => {
  await browser.close();
  await server.stop();
});

// The HTML that a text becomes.
const rendered = (text) => page.evaluate(async (given) => {
  const { render } = await load("markdown");
  const target = document.createElement("div");
  render(given, target);
  return target.innerHTML;
}, text);

describe("Markdown", () => {
  test("has its elements", async () => {
    assert.equal(await rendered("# One\n\n*a* **b** `c` ~~d~~\ne  \nf"),
      '<h2 class="size-1">One</h2><p><em>a</em> <strong>b</strong> <code>c</code> <s>d</s>\ne<br>f</p>');
    assert.equal((await rendered("### A\n\n# B\n\n### C\n\n### D\n\n> ## E")).replace(/ class="size-\d"/g, ""), "<h2>A</h2><h2>B</h2><h3>C</h3><h4>D</h4><blockquote><h3>E</h3></blockquote>");
    assert.equal(await rendered("3. x\n4. y\n   - z"), '<ol start="3"><li>x</li><li>y<ul><li>z</li></ul></li></ol>');
    assert.equal(await rendered("> q\n\n---"), "<blockquote><p>q</p></blockquote><hr>");
    assert.match(await rendered("a | b\n:-|-:\n1 | 2"), /<table><thead><tr><th class="to-left">a<\/th><th class="to-right">b<\/th>/);
    const code = await rendered("```python\ndef f(): return 1  # one\n```");
    assert.match(code, /<span>python<\/span>.*<span class="c-word">def<\/span> f\(\): .*<span class="c-comment"># one<\/span><\/code>/);
    assert.match(await rendered("see https://example.org/a_b."), /<a href="https:\/\/example\.org\/a_b" [^>]*>https:\/\/example\.org\/a_b<\/a>\./);
  });

  test("never becomes HTML of its author's", async () => {
    for (const text of ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "a <b onclick=x>b</b>", "<svg/onload=alert(1)>",
                        "&lt;script&gt;", "`<i>`", "```\n<i>\n```", "```<i>\nx\n```", "| <i> |\n|---|\n| <i> |"]) {
      const html = await rendered(text);
      assert.ok(!/<(script|img|b|i|svg\/)[ >]/i.test(html), html);
    }
  });

  test("links lead to the web alone", async () => {
    for (const url of ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "java&#x0A;script:alert(1)", "&#106;avascript:alert(1)", "data:text/html,x",
                       "vbscript:x", "file:///etc/passwd", "/v1/models", "//evil.example", "\u0001javascript:alert(1)", "blob:x", "about:blank"]) {
      for (const text of [`[x](${url})`, `[x](<${url}>)`, `<${url}>`, `![x](${url})`, `[x]\n\n[x]: ${url}`]) {
        const html = await rendered(text);
        for (const [, href] of html.matchAll(/href="([^"]*)"/g)) assert.match(href, /^(https?:\/\/|mailto:)/, text);
      }
    }
    assert.match(await rendered("[x](https://example.org)"), /rel="noopener noreferrer nofollow"/);
    // Images are not loaded.
    assert.match(await rendered("![seen](https://example.org/a.png)"), /^<p><a href="https:\/\/example\.org\/a\.png"[^>]*>seen<\/a><\/p>$/);
  });

  // Renders texts of random parts at once and while they grow; returns those that differ.
  const differing = (options) => page.evaluate(async ({ seed, rounds, most, languages, parts }) => {
    const { GrowingMarkdown, render } = await load("markdown");
    const random = (n) => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0, (seed >>> 8) % n);
    const failures = [];
    for (let round = 0; round < rounds && failures.length < 3; ++round) {
      let text = languages ? "before\n\n~~~" + languages[random(languages.length)] + "\n" : "";
      for (let n = 1 + random(most); n > 0; --n) text += parts[random(parts.length)];
      const once = document.createElement("div");
      render(text, once);
      const target = document.createElement("div");
      const growing = new GrowingMarkdown(target);
      for (let at = 0; at < text.length;) growing.update(text.slice(0, at += 1 + random(round % 3 ? 9 : 2)));
      growing.finish();
      if (target.innerHTML !== once.innerHTML) failures.push([text, target.innerHTML, once.innerHTML]);
    }
    return failures;
  }, options);

  test("that grows ends as if it were rendered at once", async () => {
    const parts = ["word ", "two words", "\n", "\n", "\n\n", "\n\n\n", "# ", "## x", "- ", "* ", "+ ", "1. ", "2) ", "10. ", "    ", "  ", "\t", "> ", ">",
      "```", "```js\n", "~~~\n", "`code`", "`", "``", "---", "***", "===", "-", "=", "| a | b |", "|---|---|", "|-|-|", "|", "a | b", "*", "**", "_", "~~", "[x]", "[x]: https://example.org",
      "[x](https://a.b)", "](", "![", "<b>", "</b>", "\\", "&amp;", "https://example.org/x_y", "\r\n", "\r", "é", "日本。", "😀", "1", "  \n", "\\\n", "<!-- x -->"];
    assert.deepEqual(await differing({ seed: 7, rounds: 3000, most: 40, parts }), []);
  });

  test("colours code that grows as if it were there at once", async () => {
    const languages = ["js", "python", "sql", "", "none"];
    const parts = ["/*", "*/", "//", "#", "--", "\"", "'", "`", '\"\"\"', "\\", "\n", "\n\n", " ", "if", "return ", "x1", "12", "3.5e", "_", "é", "(", "SELECT ", "\r\n", "\n```\n", "\n~~~\n", "\t"];
    assert.deepEqual(await differing({ seed: 11, rounds: 1500, most: 60, languages, parts }), []);
  });

  test("keeps finished blocks as they are while it grows", async () => {
    const [same, parsed] = await page.evaluate(async () => {
      const { GrowingMarkdown } = await load("markdown");
      const target = document.createElement("div");
      const growing = new GrowingMarkdown(target);
      const paragraph = "A paragraph of *some* words.\n\n";
      growing.update(paragraph.repeat(3));
      const first = target.firstElementChild;
      const start = performance.now();
      let text = paragraph.repeat(3000);
      growing.update(text);
      const whole = performance.now() - start;
      const again = performance.now();
      for (let i = 0; i < 20; ++i) growing.update(text += "word ");
      return [target.firstElementChild === first, (performance.now() - again) / 20 / whole];
    });
    assert.ok(same);
    assert.ok(parsed < 0.2, `another word takes ${parsed} of the time of the whole`);
  });

  const bombs = {
    "quotes in quotes": ">".repeat(20_000) + " x",
    "lists in lists": Array.from({ length: 2000 }, (_, i) => "  ".repeat(i) + "- x").join("\n"),
    "lists on one line": "- ".repeat(20_000) + "x",
    "brackets": "[".repeat(50_000),
    "brackets and links": "[a](".repeat(20_000),
    "images": "![".repeat(40_000),
    "stars": "*a **a ".repeat(20_000),
    "underlines": "_a __a ".repeat(1400),
    "backticks": Array.from({ length: 1000 }, (_, i) => "`".repeat(i % 300) + "a").join(" "),
    "a wide table": "|" + "a|".repeat(3000) + "\n|" + "-|".repeat(3000) + "\n" + "|\n".repeat(3000),
    "a long table": "|a|b|\n|-|-|\n" + "|1|2|\n".repeat(50_000),
    "a long line": "a".repeat(1_000_000),
    "many lines": "a\n".repeat(200_000),
    "many blank lines": "\n".repeat(400_000) + "a",
    "entities": "&#x".repeat(50_000),
    "autolinks": "<http://a".repeat(20_000),
    "web addresses": "http://".repeat(20_000),
    "link targets": Array.from({ length: 5000 }, (_, i) => `[${i}]: https://a`).join("\n"),
    "lines of a quote": "> a\n".repeat(50_000),
    "items": "- a\n".repeat(50_000),
    "rules of tables": "|---|---|\n".repeat(40_000),
    "tables in quotes": "> |a|b|\n> |-|-|\n".repeat(10_000),
    "emphasis in words": "a_".repeat(4900),
    "escaped pipes": "|a\\|`|\n|-|-|\n".repeat(10_000),
    "code": "```js\n" + "if (x) { /* \" */ ' \n".repeat(20_000),
    "backslashes": "\\".repeat(100_000),
    "html": "<a ".repeat(30_000) + "<!--".repeat(10_000),
    "many chapters": "# x\n\n".repeat(20_000),
  };
  // As long as a paragraph may be for its marks to be parsed.
  for (const part of ["[", "[a](", "![", "*a **a ", "_a __a ", "~~a", "`a``", "&#x", "<http://a", "http://", "\\[", "*_", "a*"]) {
    bombs[`a paragraph of ${part}`] = part.repeat(9900 / part.length);
  }
  for (const [name, text] of Object.entries(bombs)) {
    test(`${name} does not stop the page`, async () => {
      const [milliseconds, growth, nodes, isThere] = await page.evaluate(async (given) => {
        const { render } = await load("markdown");
        const target = document.createElement("div");
        const time = (text) => {
          const start = performance.now();
          render(text, target);
          return performance.now() - start;
        };
        let whole = time(given);
        const counts = [target.querySelectorAll("*").length, target.textContent.length > 0];
        // A busy machine is slow as well: there, twice the text may take little more than twice the time. Other work
        // only adds to a time, so the least of several counts.
        let half = Infinity;
        const growth = () => whole > 1500 ? whole / half : 1;
        for (let turn = 0; whole > 1500 && turn < 12 && (turn === 0 || growth() > 3); ++turn) {
          half = Math.min(half, time(given.slice(0, given.length / 2)));
          whole = Math.min(whole, time(given));
        }
        return [whole, growth(), ...counts];
      }, text);
      assert.ok(growth < 3, `${milliseconds} ms, ${growth} times that of half the text, ${nodes} elements`);
      assert.ok(isThere);
    });
  }
});

describe("sound", () => {
  test("becomes a WAV file of 16 bits", async () => {
    const bytes = Buffer.from(await page.evaluate(async () => {
      const { wavOf } = await load("wav");
      return [...new Uint8Array(wavOf(new Float32Array([0, 0.5, -1, 1, 2, -3, 1 / 32768])))];
    }));
    assert.equal(bytes.length, 44 + 14);
    assert.equal(bytes.toString("latin1", 0, 4) + bytes.toString("latin1", 8, 16), "RIFFWAVEfmt ");
    assert.equal(bytes.readUInt32LE(4), 36 + 14);
    assert.deepEqual([bytes.readUInt32LE(16), bytes.readUInt16LE(20), bytes.readUInt16LE(22)], [16, 1, 1]);
    assert.deepEqual([bytes.readUInt32LE(24), bytes.readUInt32LE(28)], [16000, 32000]);
    assert.deepEqual([bytes.readUInt16LE(32), bytes.readUInt16LE(34)], [2, 16]);
    assert.equal(bytes.toString("latin1", 36, 40), "data");
    assert.equal(bytes.readUInt32LE(40), 14);
    const samples = Array.from({ length: 7 }, (_, i) => bytes.readInt16LE(44 + 2 * i));
    assert.deepEqual(samples, [0, 16384, -32768, 32767, 32767, -32768, 1]);
  });

  test("is resampled to 16 kHz", async () => {
    const [length, largest, error] = await page.evaluate(async () => {
      const { resampled, joined } = await load("wav");
      const tone = (count, rate) => Float32Array.from({ length: count }, (_, i) => 0.5 * Math.sin(2 * Math.PI * 440 * i / rate));
      const given = tone(48000, 48000);
      const made = await resampled(joined([given.subarray(0, 1000), given.subarray(1000)]), 48000);
      const expected = tone(16000, 16000);
      const errors = Array.from(made.subarray(100, 15900), (sample, i) => Math.abs(sample - expected[i + 100]));
      return [made.length, Math.max(...made), Math.max(...errors)];
    });
    assert.equal(length, 16000);
    assert.ok(largest > 0.45 && largest < 0.55, String(largest));
    assert.ok(error < 0.02, String(error));
  });

  test("is recognized by type or ending", async () => {
    assert.deepEqual(await page.evaluate(async () => {
      const { clock, isSound } = await load("dictation");
      return [isSound({ type: "audio/mpeg", name: "x" }), isSound({ type: "", name: "A.FLAC" }), isSound({ type: "text/plain", name: "wav.txt" }),
              clock(0), clock(65.9), clock(600)];
    }), [true, true, false, "0:00", "1:05", "10:00"]);
  });
});

describe("events", () => {
  const eventsOf = (chunks) => page.evaluate(async (given) => {
    const { eventsOf } = await load("sse");
    const stream = new ReadableStream({ start(controller) {
      for (const chunk of given) controller.enqueue(new TextEncoder().encode(chunk));
      controller.close();
    } });
    const found = [];
    for await (const data of eventsOf(stream)) found.push(data);
    return found;
  }, chunks);

  test("are read however they are cut", async () => {
    const text = ": hello\n\ndata: {\"a\": \"é\"}\r\n\r\nid: 1\rdata:x\rdata: y\r\rdata: [DONE]\n\n";
    const expected = ['{"a": "é"}', "x\ny", "[DONE]"];
    assert.deepEqual(await eventsOf([text]), expected);
    assert.deepEqual(await eventsOf([...text]), expected);
    assert.deepEqual(await eventsOf(["data: cut"]), []);
  });
});

describe("the tree", () => {
  const evaluate = (use) => page.evaluate(use);
  test("has paths, versions and leaves", async () => {
    assert.deepEqual(await evaluate(async () => {
      const { Tree } = await load("tree");
      const tree = new Tree([["a", null], ["b", "a"], ["c", "b"], ["d", "a"], ["e", "d"]].map(([id, parent], created) => ({ id, parent, created })));
      const ids = (messages) => messages.map(({ id }) => id).join("");
      return [ids(tree.path("c")), ids(tree.path("nothing")), ids(tree.siblings(tree.get("b"))), tree.leafOf(tree.get("a")).id, tree.leafOf(tree.get("b")).id];
    }), ["abc", "ade", "bd", "e", "c"]);
  });
  test("is not led in circles by imported chats", async () => {
    assert.deepEqual(await evaluate(async () => {
      const { Tree } = await load("tree");
      const circle = new Tree([{ id: "a", parent: "b", created: 1 }, { id: "b", parent: "a", created: 2 }]);
      const orphan = new Tree([{ id: "a", parent: "gone", created: 1 }]);
      return [circle.path("a").length, orphan.path("a").length, circle.leafOf(circle.get("a")).id, orphan.siblings(orphan.get("a")).length,
              new Tree().path(null).length];
    }), [2, 1, "b", 1, 0]);
  });
});

describe("the store", () => {
  test("is brought from version to version, with its contents", async () => {
    assert.deepEqual(await page.evaluate(async () => {
      const { openStore, kSteps } = await load("store");
      const old = await openStore("migrated");
      await old.put({ chats: [{ id: "c", title: "t" }], messages: [{ id: "m", chat: "c", text: "words" }], attachments: [{ id: "f", chat: "c", text: "file" }] });
      let outdated = 0;
      const same = await openStore("migrated", { onOutdated: () => { ++outdated; } });
      old.close();
      // As a later version might do: a separate store for a former field.
      const step = (db, transaction) => {
        db.createObjectStore("words", { keyPath: "id" });
        transaction.objectStore("messages").openCursor().onsuccess = ({ target: { result: cursor } }) => {
          if (!cursor) return;
          cursor.update({ ...cursor.value, text: cursor.value.text + "!" });
          cursor.continue();
        };
      };
      const next = await openStore("migrated", { steps: [...kSteps, step] });
      const texts = [(await next.messages("c"))[0].text, (await next.chats())[0].title, (await next.attachments("c"))[0].text];
      const error = await openStore("migrated").catch((failure) => failure);
      next.close();
      const first = await openStore("from-nothing", { steps: [...kSteps, step] });
      const empty = (await first.chats()).length;
      first.close();
      same.close();
      return [texts, outdated, error.kind, error.message, empty];
    }), [["words!", "t", "file"], 1, "newer", "The chats in this browser were written by a newer version of this page.", 0]);
  });

  test("writes all or nothing, searches and deletes", async () => {
    assert.deepEqual(await page.evaluate(async () => {
      const { openStore, MemoryStore } = await load("store");
      const results = [];
      for (const store of [await openStore("plain"), new MemoryStore()]) {
        const message = (id, chat, text) => ({ id, chat, text });
        await store.put({ chats: [{ id: "a" }, { id: "b" }], messages: [message("1", "a", "The FOX"), message("2", "b", "a hare")], attachments: [{ id: "3", chat: "a", text: "" }] });
        results.push([...await store.search("fox")].join());
        await store.deleteChat("a");
        results.push((await store.chats()).length, (await store.messages("a")).length, (await store.attachments("a")).length, (await store.messages("b")).length);
        await store.deleteAll();
        results.push((await store.chats()).length);
      }
      const store = await openStore("plain");
      const failure = await store.put({ chats: [{ id: "x" }, { id: "y", no: () => {} }] }).catch((error) => error.kind);
      results.push(failure, (await store.chats()).length);
      return results;
    }), ["a", 1, 0, 0, 1, 0, "a", 1, 0, 0, 1, 0, "failed", 0]);
  });

  test("gives and takes files of chats", async () => {
    assert.deepEqual(await page.evaluate(async () => {
      const { MemoryStore } = await load("store");
      const { exportChats, importChats } = await load("transfer");
      const store = new MemoryStore();
      const chat = { id: "c", title: "t", created: 1, updated: 2, leaf: "2", settings: { system: "s", temperature: 1 } };
      await store.put({ chats: [chat], attachments: [{ id: "f", chat: "c", text: "file" }], messages: [
        { id: "1", chat: "c", parent: null, role: "user", text: "q", thoughts: "", created: 1, files: [{ id: "f", name: "n", size: 4 }] },
        { id: "2", chat: "c", parent: "1", role: "assistant", text: "a", thoughts: "hm", created: 2, finish: "stop" }] });
      const text = await exportChats(store, await store.chats());
      const records = importChats(text);
      await store.put(records);
      const [{ id, leaf }] = records.chats;
      const messages = await store.messages(id);
      const [file] = await store.attachments(id);
      return [(await store.chats()).length, messages.map(({ role, text: words, thoughts }) => [role, words, thoughts]), messages[1].parent === messages[0].id,
              leaf === messages[1].id, messages[0].files[0].id === file.id, file.text, records.chats[0].settings, (await store.messages("c")).length];
    }), [2, [["user", "q", ""], ["assistant", "a", "hm"]], true, true, true, "file", { system: "s", temperature: 1 }, 2]);
  });

  test("takes of a file only what the page would have written", async () => {
    assert.deepEqual(await page.evaluate(async () => {
      const { importChats } = await load("transfer");
      const { bodyOf } = await load("request");
      const { chats: [chat], messages: [message] } = importChats(JSON.stringify({ format: "pippin-chats", version: 1, chats: [{
        title: "t", updated: 1, id: "x\"]", leaf: "gone", other: 1,
        settings: { system: 3, stop: "x", more: [1], temperature: "hot", top_k: 3, thinking: "yes", other: 1 },
        messages: [{ id: "m", role: "user", text: "q", created: 1, usage: {}, timings: 3, finish: { a: 1 }, thoughts: null, other: 1 }] }] }));
      return [chat.settings, Object.keys(chat).sort(), message.usage, message.timings, message.thoughts, "other" in message, bodyOf(chat.settings, [message]).top_k];
    }), [{ top_k: 3 }, ["created", "id", "leaf", "settings", "title", "updated"], undefined, undefined, "", false, 3]);
  });

  test("reports the fault of a file", async () => {
    const wrong = (text) => page.evaluate(async (given) => {
      const { importChats } = await load("transfer");
      try { importChats(given); } catch (error) { return error.message; }
      return "taken";
    }, typeof text === "string" ? text : JSON.stringify({ format: "pippin-chats", version: 1, ...text }));
    assert.equal(await wrong("{"), "The file is not JSON.");
    assert.equal(await wrong("null"), "The file has no chats of this page.");
    assert.equal(await wrong({ format: "other" }), "The file has no chats of this page.");
    assert.equal(await wrong({ version: 2 }), "The file is of version 2; this page reads up to 1.");
    assert.equal(await wrong({ chats: 1 }), "chats is not a list");
    assert.equal(await wrong({ chats: [{ title: "t", updated: 1, messages: [] }, { title: 1 }] }), "Chat 2: has no title or no time");
    const chat = { title: "t", updated: 1 };
    assert.equal(await wrong({ chats: [{ ...chat, messages: [{ id: "1", text: "x", created: 1, role: "root" }] }] }), "Chat 1: has a message without text, time or role");
    assert.equal(await wrong({ chats: [{ ...chat, messages: [], attachments: [{ id: "1" }] }] }), "Chat 1: has an attachment without a text");
  });
});

test("a sentence is announced when it has ended", async () => {
  assert.deepEqual(await page.evaluate(async () => {
    const { sentenceEnd } = await load("announce");
    return ["One. Tw", "One.", "3.14 is", "Ja! Und", "猫。犬", "- item\n- it", ""].map(sentenceEnd);
  }), [5, 0, 0, 4, 2, 7, 0]);
});

test("requests have the chosen settings, and no more", async () => {
  assert.deepEqual(await page.evaluate(async () => {
    const { bodyOf } = await load("request");
    const path = [{ role: "user", text: "q", files: [{ id: "f", name: "a.txt" }] }, { role: "assistant", text: "a" }];
    return bodyOf({ model: "m", system: "s", top_k: 4, thinking: false, stop: ["x"], more: { seed: 3 } }, path, new Map([["f", "a ``` b"]]));
  }), {
    messages: [{ role: "system", content: "s" }, { role: "user", content: "a.txt:\n````\na ``` b\n````\n\nq" }, { role: "assistant", content: "a" }],
    stream: true, stream_options: { include_usage: true }, return_progress: true, model: "m", top_k: 4, stop: ["x"],
    chat_template_kwargs: { enable_thinking: false }, continue_final_message: true, seed: 3 });
});

test("calls of a file are not asked for again, and have texts only", async () => {
  assert.deepEqual(await page.evaluate(async () => {
    const { importChats } = await load("transfer");
    const { messages: [message] } = importChats(JSON.stringify({ format: "pippin-chats", version: 1, chats: [{ title: "t", updated: 1, messages: [
      { id: "m", role: "assistant", text: "", created: 1, calls: [{ name: "a", state: "asked", arguments: { b: 1 } }, 3, { id: "1", state: "done", output: "c", other: 1 }] }] }] }));
    return message.calls;
  }), [{ id: "", name: "a", arguments: "{}", output: "", state: "denied" }, { id: "1", name: "", arguments: "{}", output: "c", state: "done" }]);
});
