// Tests dictating on the page, with Chromium's stand-in for a microphone, which plays a file. Run by ctest as
// page_dictation; skips if the browser or NumPy is not installed.
import fs from "node:fs";
import { after, before, describe, test } from "node:test";
import { speechModel } from "../serve/serving.mjs";
import { assert, openBrowser, openPage, send, serve, skipWithoutBrowser, soon, violations, waitForAnswer } from "./browsing.mjs";

skipWithoutBrowser();
const speech = speechModel();
if (!speech) {
  console.log("NumPy is not installed");
  process.exit(0);
}

const kMicrophone = ["--use-fake-device-for-media-stream", `--use-file-for-fake-audio-capture=${speech.recording}`];
let server, browser;
before(async () => {
  server = await serve("--quiet", "demo", `ears=${speech.model}`);
  browser = await openBrowser(...kMicrophone, "--use-fake-ui-for-media-stream");
});
after(async () => {
  await browser.close();
  await server.stop();
  fs.rmSync(speech.folder, { recursive: true });
});

async function withPage(options, use) {
  const page = await openPage(options.browser ?? browser, options.url ?? server.url);
  try {
    await use(page);
    assert.deepEqual(page.complaints, []);
  } finally {
    await page.context().close();
  }
}
const waitForButton = (page) => page.waitForSelector("#dictate:not([hidden])");
const waitForText = (page) => page.waitForFunction(() => document.getElementById("dictation").hidden && document.getElementById("input").value !== "");

// The text that the server writes for the file.
async function textOf(file) {
  const body = new FormData();
  body.append("model", "ears");
  body.append("file", new Blob([fs.readFileSync(file)]), "talk.wav");
  const response = await fetch(server.url + "/v1/audio/transcriptions", { method: "POST", body });
  return (await response.json()).text.trim();
}
const drop = (page, file, name, type) => page.evaluate(async ({ bytes, name, type }) => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([Uint8Array.from(bytes)], name, { type }));
  document.getElementById("thread").dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
}, { bytes: [...(file ? fs.readFileSync(file) : Buffer.from("no sound"))], name, type });

describe("dictation", () => {
  test("records, and inserts the text at the cursor", () => withPage({}, async (page) => {
    await waitForButton(page);
    await soon(async () => assert.equal(await page.inputValue("#model"), "demo"));
    await soon(async () => assert.match(await page.getAttribute("#model optgroup", "label"), /^Speech/));
    await soon(async () => assert.equal(await page.textContent("#model optgroup option"), "ears (not loaded)"));
    await page.fill("#input", "before after");
    await page.evaluate(() => document.getElementById("input").setSelectionRange(7, 7));
    await page.evaluate(() => {
      const inner = window.fetch;
      window.fetch = (path, options) => {
        if (options?.body instanceof FormData) window.sent = options.body.get("file");
        return inner(path, options);
      };
    });
    await page.click("#dictate");
    await page.waitForSelector("#dictate.recording");
    await soon(async () => assert.equal(await page.getAttribute("#dictate", "aria-label"), "Stop recording and insert the text"));
    await page.waitForFunction(() => document.getElementById("dictation-time").textContent === "0:02");
    await soon(async () => assert.deepEqual(await violations(page), []));
    await page.click("#dictate");
    await page.waitForFunction(() => document.getElementById("dictation").hidden && document.getElementById("input").value.length > "before after".length);
    const text = await page.inputValue("#input");
    assert.match(text, /^before .+ after$/);
    const file = Buffer.from(await page.evaluate(async () => [...new Uint8Array(await window.sent.arrayBuffer())]));
    assert.equal(file.toString("latin1", 0, 4), "RIFF");
    assert.equal(file.readUInt32LE(24), 16000);
    const seconds = (file.length - 44) / 32000;
    assert.ok(seconds > 1.5 && seconds < 10, String(seconds));
    assert.ok(file.subarray(44, 44 + 32000).some((byte) => byte !== 0), "the recording is silent");
    await soon(async () => assert.equal(await page.getAttribute("#dictate", "aria-label"), "Dictate"));
  }));

  test("can be discarded", () => withPage({}, async (page) => {
    await waitForButton(page);
    for (const discard of [() => page.click("[data-do=discard-recording]"), () => page.keyboard.press("Escape")]) {
      await page.click("#dictate");
      await page.waitForSelector("#dictate.recording");
      await discard();
      await page.waitForSelector("#dictate:not(.recording)");
      await soon(async () => assert.ok(await page.isHidden("#dictation")));
      await soon(async () => assert.equal(await page.inputValue("#input"), ""));
    }
  }));

  test("takes files of sound that are dropped", () => withPage({}, async (page) => {
    await waitForButton(page);
    await drop(page, speech.recording, "talk.wav", "audio/wav");
    await waitForText(page);
    await soon(async () => assert.equal(await page.inputValue("#input"), await textOf(speech.recording)));
    await soon(async () => assert.ok(await page.isHidden("#files")));
    await soon(async () => assert.ok(await page.isEnabled("#send")));
    await drop(page, null, "broken.mp3", "audio/mpeg");
    await page.waitForSelector("#banner-failed");
    await soon(async () => assert.match(await page.textContent("#banner-failed"), /broken\.mp3/));
    await soon(async () => assert.ok(await page.isEnabled("#dictate")));
  }));

  test("of a model that is not allowed the microphone reports it", async () => {
    const strict = await openBrowser(...kMicrophone, "--deny-permission-prompts");
    try {
      await withPage({ browser: strict }, async (page) => {
        await waitForButton(page);
        await page.click("#dictate");
        await page.waitForSelector("#banner-failed");
        await soon(async () => assert.match(await page.textContent("#banner-failed"), /does not let this page use the microphone/));
        await soon(async () => assert.ok(await page.isEnabled("#dictate")));
      });
    } finally {
      await strict.close();
    }
  });

  test("reports a missing microphone, and pages that get none", () => withPage({}, async (page) => {
    await waitForButton(page);
    const expect = async (words) => {
      await page.click("#dictate");
      await page.waitForFunction((part) => document.getElementById("banner-failed")?.textContent.includes(part), words);
    };
    await page.evaluate(() => {
      navigator.mediaDevices.getUserMedia = async () => { throw new DOMException("", "NotFoundError"); };
    });
    await expect("There is no microphone.");
    await page.evaluate(() => Object.defineProperty(navigator, "mediaDevices", { value: undefined }));
    await expect("over HTTPS");
  }));
});

describe("servers", () => {
  test("without a model of speech show no button and take no sound", async () => {
    const plain = await serve("--quiet", "demo");
    try {
      await withPage({ url: plain.url }, async (page) => {
        await send(page);
        await waitForAnswer(page);
        await soon(async () => assert.ok(await page.isHidden("#dictate")));
        await drop(page, speech.recording, "talk.wav", "audio/wav");
        await page.waitForSelector("#banner-told");
        await soon(async () => assert.match(await page.textContent("#banner-told"), /^talk\.wav: the server has no model of speech/));
      });
    } finally {
      await plain.stop();
    }
  });

  test("with a model of speech alone say so", async () => {
    const alone = await serve("--quiet", `ears=${speech.model}`);
    try {
      await withPage({ url: alone.url }, async (page) => {
        await page.waitForSelector("#banner-encoders");
        await soon(async () => assert.match(await page.textContent("#banner-encoders"), /transcribe recordings/));
        await soon(async () => assert.ok(await page.isDisabled("#input")));
      });
    } finally {
      await alone.stop();
    }
  });
});
