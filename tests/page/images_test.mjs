// Tests images on the page: attached, dropped, pasted, and from Chromium's stand-in for a camera. Run by ctest as
// page_images; skips if the browser is not installed.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { openBrowser, openPage, reload, send, serveDemo, skipWithoutBrowser, soon, violations, waitForAnswer } from "./browsing.mjs";
import { answering, standIn } from "./stand_in.mjs";

skipWithoutBrowser();
// A red pixel.
const kPng = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
const kUrl = "data:image/png;base64," + kPng;

let server, browser, stand, asked;
before(async () => {
  server = await serveDemo();
  stand = await standIn(server.url, { abilities: ["vision"], chat: (body, ...rest) => {
    asked = body;
    answering("It is red.")(body, ...rest);
  } });
  browser = await openBrowser("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream");
});
after(async () => {
  await browser.close();
  await stand.stop();
  await server.stop();
});

async function withPage(use) {
  const page = await openPage(browser, stand.url);
  try {
    await page.waitForSelector("#camera:not([hidden])");
    await use(page);
    assert.deepEqual(page.complaints, []);
  } finally {
    await page.context().close();
  }
}
// Files in a drop or a paste.
const give = (page, event, bytes, name) => page.evaluate(({ event, bytes, name }) => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([Uint8Array.from(bytes)], name, { type: "image/png" }));
  const made = event === "drop" ? new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true })
    : new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true, cancelable: true });
  document.getElementById("input").dispatchEvent(made);
}, { event, bytes: [...Buffer.from(bytes, "base64")], name });

describe("images", () => {
  test("are attached, dropped and pasted, and kept with the chat", () => withPage(async (page) => {
    await page.setInputFiles("#file-input", { name: "a.png", mimeType: "image/png", buffer: Buffer.from(kPng, "base64") });
    await page.waitForSelector("#files img[alt='a.png']");
    await give(page, "drop", kPng, "b.png");
    await page.waitForSelector("#files img[alt='b.png']");
    await give(page, "paste", kPng, "c.png");
    await page.waitForSelector("#files img[alt='c.png']");
    await page.click("[aria-label='Remove b.png']");
    await send(page, "What color?");
    await waitForAnswer(page);
    assert.deepEqual(asked.messages[0].content, [
      { type: "image_url", image_url: { url: kUrl } }, { type: "image_url", image_url: { url: kUrl } }, { type: "text", text: "What color?" }]);
    await soon(async () => assert.equal(await page.locator(".attached img").count(), 2));
    await soon(async () => assert.deepEqual(await violations(page), []));
    await reload(page);
    await page.waitForSelector(".assistant");
    await soon(async () => assert.equal(await page.locator(".attached img").count(), 2));
    asked = null;
    await page.click(".assistant [data-do=again]");
    await page.waitForFunction(() => document.querySelector(".assistant .which")?.textContent === "2 / 2");
    await waitForAnswer(page);
    assert.equal(asked.messages[0].content[0].image_url.url, kUrl);
  }));

  test("are scaled down above 4 MB", () => withPage(async (page) => {
    const noise = await page.evaluate(async () => {
      const canvas = new OffscreenCanvas(2400, 1200);
      const context = canvas.getContext("2d");
      const picture = context.createImageData(2400, 1200);
      for (let i = 0, state = 1; i < picture.data.length; ++i) {
        state ^= state << 13;  // xorshift
        state ^= state >>> 17;
        state ^= state << 5;
        picture.data[i] = i % 4 === 3 ? 255 : state & 255;
      }
      context.putImageData(picture, 0, 0);
      const blob = await canvas.convertToBlob({ type: "image/png" });
      const transfer = new DataTransfer();
      transfer.items.add(new File([blob], "large.png", { type: "image/png" }));
      document.getElementById("input").dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
      return blob.size;
    });
    assert.ok(noise > 4 << 20, String(noise));
    await page.waitForSelector("#files img[alt='large.png']");
    await send(page, "What?");
    await waitForAnswer(page);
    const { url } = asked.messages[0].content[0].image_url;
    assert.ok(url.startsWith("data:image/jpeg;base64,"));
    const size = await page.evaluate(async (source) => {
      const image = new Image();
      image.src = source;
      await image.decode();
      return [image.naturalWidth, image.naturalHeight];
    }, url);
    assert.deepEqual(size, [2048, 1024]);
  }));

  test("come from the camera", () => withPage(async (page) => {
    await page.click("#camera");
    await page.waitForFunction(() => document.getElementById("camera-video").videoWidth > 0);
    await soon(async () => assert.deepEqual(await violations(page), []));
    await page.click("#camera-view button[value=take]");
    await page.waitForSelector("#files img[alt='camera.jpg']");
    await page.click("#camera");
    await page.waitForFunction(() => document.getElementById("camera-video").videoWidth > 0);
    await page.click("#camera-view button[value=no]");
    await page.waitForFunction(() => document.getElementById("camera-video").srcObject === null);
    await soon(async () => assert.equal(await page.locator("#files img").count(), 1));
  }));

  test("that the browser cannot show are sent without a preview", () => withPage(async (page) => {
    await give(page, "drop", Buffer.from("no picture").toString("base64"), "x.png");
    await page.waitForSelector("#files li");
    await soon(async () => assert.equal(await page.locator("#files img").count(), 0));
    await send(page, "");
    await waitForAnswer(page);
    assert.equal(asked.messages[0].content.length, 1);
  }));
});
