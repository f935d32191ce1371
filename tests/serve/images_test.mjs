// Tests images in the requests of all dialects, on a model with pictures of the shared data. Run by ctest as
// serve_images; skips without shared data.
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { serve, sharedData } from "./serving.mjs";

const source = sharedData("models2026/vlm/llava");
if (!source) {
  console.log("skipped: shared test data is absent: data/models2026/vlm/llava");
  process.exit(0);
}

const kTemplate = "{% for message in messages %}{% if message.content is string %} {{ message.content }}" +
  "{% else %}{% for part in message.content %}{% if part.type == 'image' %}<image>{% else %} {{ part.text }}{% endif %}{% endfor %}{% endif %} w3 {% endfor %}";
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "pippin-images-"));
let server, remote;
before(async () => {
  const config = JSON.parse(fs.readFileSync(path.join(source, "config.json")));
  const id = config.image_token_id ?? config.image_token_index;
  assert.ok(id > 0);
  for (const name of fs.readdirSync(source)) {
    if (name !== "golden.npz") fs.symlinkSync(path.join(source, name), path.join(folder, name));
  }
  const vocab = {};
  for (let i = 0; i < config.text_config.vocab_size; ++i) {
    if (i !== id) vocab["w" + i] = i;
  }
  fs.writeFileSync(path.join(folder, "tokenizer.json"), JSON.stringify({
    version: "1.0", normalizer: null, decoder: null, truncation: null, padding: null, post_processor: null,
    added_tokens: [{ id, content: "<image>", single_word: false, lstrip: false, rstrip: false, normalized: false, special: true }],
    pre_tokenizer: { type: "WhitespaceSplit" }, model: { type: "WordLevel", unk_token: "w0", vocab },
  }));
  fs.writeFileSync(path.join(folder, "chat_template.jinja"), kTemplate);
  server = await serve("--quiet", "--context", "256", `eyes=${folder}`, "demo");
  remote = http.createServer((request, response) => response.end(image)).listen(0, "127.0.0.1");
});
after(async () => {
  await server.stop();
  remote.close();
  fs.rmSync(folder, { recursive: true });
});

const image = fs.readFileSync(path.join(source, "image0.png"));
// Another picture of the same size: a gray one as a binary PGM.
const gray = Buffer.concat([Buffer.from("P5\n16 16\n255\n"), Buffer.alloc(256, 99)]);
const base64 = (bytes) => bytes.toString("base64");
const url = (bytes) => "data:image/png;base64," + base64(bytes);
async function post(place, body) {
  const response = await fetch(server.url + place, { method: "POST", body: JSON.stringify({ model: "eyes", ...body }) });
  return { status: response.status, json: await response.json() };
}
const part = (bytes) => ({ type: "image_url", image_url: { url: url(bytes) } });
const chat = (content, more = {}) => post("/v1/chat/completions", {
  messages: [{ role: "user", content }], temperature: 0, max_tokens: 8, ignore_eos: true, ...more });
const textOf = ({ json }) => json.choices[0].message.content;

describe("images", () => {
  test("are told by the model's capabilities", async () => {
    await chat([part(image), { type: "text", text: "w5" }]);
    const { data } = await (await fetch(server.url + "/v1/models")).json();
    assert.ok(data.find((model) => model.id === "eyes").capabilities.includes("vision"));
    const props = await (await fetch(server.url + "/props?model=eyes")).json();
    assert.equal(props.modalities.vision, true);
  });

  test("change the answer, and their rows count as tokens of the prompt", async () => {
    const text = { type: "text", text: "w9 w16 w20" };
    const first = await chat([part(image), text]);
    assert.equal(first.status, 200, JSON.stringify(first.json));
    const other = await chat([part(gray), text]);
    assert.notEqual(textOf(first), textOf(other));
    // 16 rows, the text, and the word that the template writes.
    assert.equal(first.json.usage.prompt_tokens, 16 + 3 + 1);
    const again = await chat([part(image), text]);
    assert.equal(textOf(again), textOf(first));
    assert.ok(again.json.usage.prompt_tokens_details.cached_tokens >= 16, JSON.stringify(again.json.usage));
    // A picture behind the same placeholders shares no row.
    const third = await chat([part(gray), text]);
    assert.equal(textOf(third), textOf(other));
  });

  test("are taken in all dialects", async () => {
    const text = "w9 w16 w20";
    const expected = textOf(await chat([part(image), { type: "text", text }]));
    const anthropic = await post("/v1/messages", { max_tokens: 8, temperature: 0, messages: [{ role: "user", content: [
      { type: "image", source: { type: "base64", media_type: "image/png", data: base64(image) } }, { type: "text", text }] }] });
    assert.ok(expected.startsWith(anthropic.json.content[0].text), JSON.stringify(anthropic.json));
    const tokens = await post("/v1/messages/count_tokens", { messages: [{ role: "user", content: [
      { type: "image", source: { type: "base64", media_type: "image/png", data: base64(image) } }, { type: "text", text }] }] });
    assert.equal(tokens.json.input_tokens, 20);
    const response = await post("/v1/responses", { max_output_tokens: 8, temperature: 0, input: [{ role: "user", content: [
      { type: "input_image", image_url: url(image) }, { type: "input_text", text }] }] });
    assert.ok(expected.startsWith(response.json.output[0].content[0].text), JSON.stringify(response.json));
    const ollama = await post("/api/chat", { stream: false, options: { temperature: 0, num_predict: 8 },
      messages: [{ role: "user", content: text, images: [base64(image)] }] });
    assert.ok(expected.startsWith(ollama.json.message.content), JSON.stringify(ollama.json));
    const generated = await post("/api/generate", { stream: false, options: { temperature: 0, num_predict: 8 }, prompt: text, images: [base64(image)] });
    assert.ok(expected.startsWith(generated.json.response), JSON.stringify(generated.json));
    assert.equal(generated.json.context, undefined);
  });

  test("that cannot be read get 400 with their place", async () => {
    const refused = async (content, words, more) => {
      const { status, json } = await chat(content, more);
      assert.equal(status, 400, JSON.stringify(json));
      assert.match(json.error.message, words);
    };
    await refused([{ type: "text", text: "w1" }, part(Buffer.from("no picture"))], /messages\[0\]\.content\[1\]/);
    await refused([part(image.subarray(0, image.length / 2))], /messages\[0\]\.content\[0\]/);
    await refused([part(image), { type: "text", text: "<image>" }], /does not write each/);
    await refused(Array.from({ length: 17 }, () => part(image)), /have 272 rows, the context holds 256/);
    await refused(Array.from({ length: 101 }, () => part(image)), /more than 100 images/);
    await refused([part(image), { type: "text", text: "w1" }], /truncate_prompt_tokens/, { truncate_prompt_tokens: 5 });
    await refused([part(image)], /takes text only/, { model: "demo" });
    await refused([{ type: "video_url", video_url: { url: url(image) } }], /content\[0\]: videos are not supported for this model/);
    const { port } = remote.address();
    await refused([{ type: "image_url", image_url: { url: `http://127.0.0.1:${port}/a.png` } }], /--allow-remote-images/);
  });

  test("at URLs are fetched from public addresses only", async () => {
    const open = await serve("--quiet", "--context", "256", "--allow-remote-images", `eyes=${folder}`);
    try {
      const { port } = remote.address();
      for (const host of ["127.0.0.1", "localhost", "[::1]"]) {
        const response = await fetch(open.url + "/v1/chat/completions", { method: "POST", body: JSON.stringify({
          messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: `http://${host}:${port}/a.png` } }] }] }) });
        assert.equal(response.status, 400);
        assert.match((await response.json()).error.message, /is not a public address|Couldn't connect|Failed to connect/);
      }
    } finally {
      await open.stop();
    }
  });

  test("answer many clients at a time as they answer one", async () => {
    const texts = await Promise.all(Array.from({ length: 6 }, (_, i) => chat([part(i % 2 ? gray : image), { type: "text", text: "w9 w" + (10 + i % 3) }])));
    for (const [i, answer] of texts.entries()) {
      const alone = await chat([part(i % 2 ? gray : image), { type: "text", text: "w9 w" + (10 + i % 3) }]);
      assert.equal(textOf(answer), textOf(alone));
    }
  });
});
