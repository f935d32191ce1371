// Shared by the tests of the page: a browser, the server, and a user's actions on the page.
import assert from "node:assert/strict";
import fs from "node:fs";
import { client, serve } from "../serve/serving.mjs";

const playwright = client("playwright-core");
const axe = client("axe-core");
const chromium = process.env.PIPPIN_CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((path) => fs.existsSync(path));

export function skipWithoutBrowser() {
  if (playwright && axe && chromium) return;
  console.log("the browser is not installed (./setup.sh --browser, tests/serve/install_clients.sh)");
  process.exit(0);
}

export async function openBrowser(...flags) {
  return playwright.chromium.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-gpu", ...flags] });
}

// A page with its own storage. Its errors are collected in `complaints`, which must be empty at the end.
export async function openPage(browser, url, { at = "/", ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...options });
  context.setDefaultTimeout(30_000);
  const page = await context.newPage();
  page.complaints = watchComplaints(page);
  await page.goto(url + at);
  await page.waitForSelector("body.ready");
  await page.waitForFunction(() => document.querySelector("#model").options.length > 0).catch(() => {});
  return page;
}

// Errors of scripts and violations of the content security policy.
export function watchComplaints(page) {
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error.stack ?? error)));
  page.on("console", (message) => {
    if (/Content Security Policy|TrustedHTML|Trusted Type/i.test(message.text())) complaints.push(message.text());
  });
  return complaints;
}

export const story = "Tell me a story about a fox called Mia.";
export async function send(page, text = story) {
  await page.fill("#input", text);
  await page.press("#input", "Enter");
}
// Repeats a check until it passes, for at most ten seconds: the page shows most things some moments after an action.
export async function soon(check) {
  for (const end = Date.now() + 10_000; ;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
    }
    await new Promise((done) => setTimeout(done, 20));
  }
}

// Reloads the page when its answers are stored, which they are soon after they are shown.
export async function reload(page) {
  const unfinished = () => page.evaluate(() => new Promise((resolve, reject) => {
    const opening = indexedDB.open("pippin");
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const messages = opening.result.transaction("messages").objectStore("messages").getAll();
      messages.onsuccess = () => {
        opening.result.close();
        resolve(messages.result.filter(({ finish }) => finish === "running").length);
      };
    };
  }));
  await soon(async () => assert.equal(await unfinished(), 0));
  await page.reload();
}
export const waitForAnswer = (page) => page.waitForFunction(() =>
  document.querySelector(".assistant:last-child") && !document.querySelector(".assistant.running"));
export const texts = (page, selector = ".message > .text") =>
  page.$$eval(selector, (elements) => elements.map((element) => element.innerText));

// Every rule of axe; the violations in words.
export async function violations(page) {
  // Elements that fade in have their final colours only at the end.
  await page.evaluate(() => Promise.all(document.getAnimations().filter((one) => one.effect.getComputedTiming().iterations < Infinity)
    .map((one) => one.finished.catch(() => {}))));
  // Through the debugger protocol, because the page's own policy allows no other scripts.
  await page.evaluate(axe.source);
  const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return result.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 200)).join(" | ")}`);
}

export async function serveDemo(...args) {
  return serve("--quiet", "demo", ...args);
}
export { assert, serve };
