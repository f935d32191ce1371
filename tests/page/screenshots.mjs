// Takes screenshots of the page, wide and narrow, light and dark, for inspection, with an answer that uses all of
// Markdown; and the one in docs, where the demo model answers.
//
//   PIPPIN=build/release/pippin/cli/pippin node tests/page/screenshots.mjs FOLDER
//   PIPPIN=build/release/pippin/cli/pippin node tests/page/screenshots.mjs --docs
import fs from "node:fs";
import path from "node:path";
import { openBrowser, openPage, send, serveDemo, skipWithoutBrowser, waitForAnswer } from "./browsing.mjs";
import { finish, piece, standIn, thought } from "./stand_in.mjs";

skipWithoutBrowser();
const answers = [
  `A **binary search** halves what is left with every look, so a million sorted values take twenty looks.

\`\`\`python
def find(values, wanted):
    """The index of \`wanted\` in sorted values, or -1."""
    low, high = 0, len(values)
    while low < high:
        middle = (low + high) // 2  # rounds down
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < len(values) and values[low] == wanted else -1
\`\`\`

What it needs:

1. values that are **sorted**, by the same order that the search asks for
2. access by index in constant time

| values | looks, at most |
|-------:|---------------:|
| 1,000 | 10 |
| 1,000,000 | 20 |
| 1,000,000,000 | 30 |

> In Python itself, \`bisect.bisect_left\` does the same. See [the manual](https://docs.python.org/3/library/bisect.html).`,
  "It compares with the value in the middle and goes on in one half. Ties go left, so that the **first** of equal values is found.",
];
const usage = (prompt, completion, cached) => ({ choices: [], usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion,
  prompt_tokens_details: { cached_tokens: cached } }, timings: { predicted_per_second: 41.7 } });

async function chatOn(page, stand) {
  let turn = 0;
  stand.chat = (body, write, end) => {
    if (turn === 0) write(thought("The user wants the idea and code that can be read. Python will do; I should say what it needs."));
    write(piece(answers[turn]));
    write(finish());
    write(usage(turn ? 231 : 41, turn ? 38 : 184, turn ? 224 : 0));
    ++turn;
    end();
  };
  for (const title of ["Words for a birthday card", "Why the sky is dark at night", "A story about a fox called Mia"]) {
    await page.evaluate(async ([name, age]) => {
      const folder = document.querySelector("script[src]").src.replace("main.js", "");
      const { openStore, newId, now } = await import(folder + "store.js");
      const store = await openStore();
      await store.put({ chats: [{ id: newId(), title: name, created: now() - age, updated: now() - age, leaf: null, settings: {} }] });
      store.close();
    }, [title, title.startsWith("A ") ? 86_400_000 : title.startsWith("Why") ? 3 * 86_400_000 : 4 * 86_400_000]);
  }
  await send(page, "How does a binary search work?");
  await waitForAnswer(page);
  await send(page, "And with equal values?");
  await page.waitForFunction(() => document.querySelectorAll(".assistant:not(.running)").length === 2);
  await page.mouse.move(700, 5);
}

const server = await serveDemo();
const stand = await standIn(server.url);
const browser = await openBrowser();
try {
  if (process.argv[2] === "--docs") {
    const page = await openPage(browser, server.url, { viewport: { width: 1120, height: 760 } });
    for (const question of ["Tell me a story about a boat that was afraid.", "Tell me a story about a hare and a drum."]) {
      await send(page, question);
      await waitForAnswer(page);
      await page.click("#new-chat");
      await page.waitForSelector("#empty:not([hidden])");
    }
    await send(page, "Tell me a story about a fox called Mia.");
    await waitForAnswer(page);
    await page.waitForTimeout(500);
    await send(page, "Tell me another one, with a lost kite.");
    await page.waitForFunction(() => document.querySelectorAll(".assistant:not(.running)").length === 2);
    await page.mouse.move(700, 5);
    await page.waitForTimeout(500);
    await page.screenshot({ path: path.join(import.meta.dirname, "../../docs/page.png") });
  } else {
    const folder = process.argv[2] ?? ".";
    fs.mkdirSync(folder, { recursive: true });
    for (const colorScheme of ["light", "dark"]) {
      for (const [size, viewport] of Object.entries({ wide: { width: 1280, height: 860 }, narrow: { width: 390, height: 780 } })) {
        const page = await openPage(browser, stand.url, { viewport, colorScheme });
        const shoot = (name) => page.screenshot({ path: path.join(folder, `${name}-${size}-${colorScheme}.png`) });
        await shoot("empty");
        await chatOn(page, stand);
        await shoot("end");
        await page.$eval("#thread", (thread) => { thread.scrollTop = 0; });
        await page.click(".thoughts summary");
        await page.waitForTimeout(100);
        await shoot("chat");
        if (size === "narrow") {
          await page.click("#show-chats");
          await page.waitForTimeout(400);
          await shoot("chats");
          await page.click("#sidebar .bar button");
        }
        await page.click("main [data-do=settings]");
        await page.waitForTimeout(300);
        await shoot("settings");
        await page.keyboard.press("Escape");
        await page.hover(".user");
        await page.click(".user [data-do=edit]");
        await shoot("edit");
        await page.context().close();
      }
    }
  }
} finally {
  await browser.close();
  await stand.stop();
  await server.stop();
}
