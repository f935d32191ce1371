// Tests pippin serve with clients in common use. Run by ctest as serve_clients; skips clients that are not installed
// (install_clients.sh).
import assert from "node:assert/strict";
import fs from "node:fs";
import { after, before, describe, test } from "node:test";
import { client, serve, sharedData, speechModel } from "./serving.mjs";

const OpenAI = client("openai");
const Anthropic = client("@anthropic-ai/sdk");
const Ajv = client("ajv/dist/2020");
if (!OpenAI || !Anthropic || !Ajv) {
  console.log("the clients are not installed (tests/serve/install_clients.sh)");
  process.exit(0);
}

// Validators of OpenAI's own description; null where the shared data is absent.
const bundle = sharedData("serving/openapi/openai-bundle.schema.json");
const schema = bundle && JSON.parse(fs.readFileSync(bundle, "utf8"));
const ajv = new Ajv.default({ strict: false, validateFormats: false, allErrors: false });
if (schema) ajv.addSchema(schema, "openai");
function conforms(name, value) {
  if (!schema) return;
  const validate = ajv.getSchema("openai#/$defs/" + name);
  assert.ok(validate(value), name + ": " + JSON.stringify(validate.errors) + " in " + JSON.stringify(value));
}

const story = [{ role: "user", content: "Tell me a story about a fox called Mia." }];
let server, openai, anthropic;
before(async () => {
  server = await serve("--quiet", "--api-key", "secret");
  openai = new OpenAI.OpenAI({ baseURL: server.url + "/v1", apiKey: "secret" });
  anthropic = new Anthropic.Anthropic({ baseURL: server.url, apiKey: "secret" });
});
after(() => server.stop());

test("answers are held to OpenAI's description", { skip: !schema && "shared test data is absent: data/serving" }, () => {
  assert.ok(schema.$defs);
});

describe("openai", () => {
  test("chat", async () => {
    const answer = await openai.chat.completions.create({ model: "demo", messages: story, max_tokens: 20 });
    conforms("CreateChatCompletionResponse", answer);
    assert.equal(answer.choices.length, 1);
    assert.equal(answer.choices[0].message.role, "assistant");
    assert.equal(answer.choices[0].finish_reason, "length");
    assert.equal(answer.usage.completion_tokens, 20);
    assert.ok(answer.choices[0].message.content.length > 20);
  });

  test("a stream gives what the whole answer has", async () => {
    const request = { model: "demo", messages: story, max_completion_tokens: 30, logprobs: true, top_logprobs: 2 };
    const whole = await openai.chat.completions.create(request);
    conforms("CreateChatCompletionResponse", whole);
    const stream = await openai.chat.completions.create({
      ...request, stream: true, stream_options: { include_usage: true },
    });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    for (const chunk of chunks) conforms("CreateChatCompletionStreamResponse", chunk);
    assert.deepEqual(chunks[0].choices[0].delta, { role: "assistant", content: "", refusal: null });
    assert.equal(new Set(chunks.map((chunk) => chunk.id)).size, 1);
    assert.equal(new Set(chunks.map((chunk) => chunk.created)).size, 1);
    const choices = chunks.flatMap((chunk) => chunk.choices);
    assert.equal(choices.map((choice) => choice.delta.content ?? "").join(""), whole.choices[0].message.content);
    const logprobs = choices.flatMap((choice) => choice.logprobs?.content ?? []);
    assert.deepEqual(logprobs, whole.choices[0].logprobs.content);
    assert.deepEqual(choices.filter((choice) => choice.finish_reason).map((choice) => choice.delta), [{}]);
    assert.deepEqual(chunks.at(-1).choices, []);
    assert.equal(chunks.at(-1).usage.completion_tokens, 30);
  });

  test("streams have the events that OpenAI's recorded ones have", async () => {
    // The kinds of chunks in order, with repetitions collapsed.
    const kinds = async (stream) => {
      const found = [];
      const add = (kind) => { if (found.at(-1) !== kind) found.push(kind); };
      for await (const chunk of stream) {
        for (const choice of chunk.choices) {
          for (const key of ["role", "content", "refusal", "tool_calls"]) {
            if (choice.delta[key] && !(key !== "role" && choice.delta.role)) add(`${choice.index}:${key}`);
          }
          if (choice.finish_reason) add(`${choice.index}:finish`);
        }
        if (chunk.usage) add("usage");
      }
      return found;
    };
    const ours = await kinds(await openai.chat.completions.create({
      model: "demo", messages: story, max_tokens: 5, stream: true, stream_options: { include_usage: true } }));
    assert.deepEqual(ours, ["0:role", "0:content", "0:finish", "usage"]);
    const recorded = sharedData("serving/sse/openai");
    if (!recorded) return;
    for (const file of ["max_tokens_reached.sse", "content_logprobs_events.sse"]) {
      const response = new Response(fs.readFileSync(`${recorded}/${file}`), { headers: { "content-type": "text/event-stream" } });
      const theirs = await new OpenAI.OpenAI({ apiKey: "x", fetch: async () => response }).chat.completions.create(
        { model: "gpt", messages: story, stream: true });
      assert.deepEqual(await kinds(theirs), ours, file);
    }
  });

  test("the helper that gathers a stream", async () => {
    const runner = openai.chat.completions.stream({ model: "demo", messages: story, max_tokens: 12, n: 2, seed: 3,
                                                    temperature: 1 });
    const answer = await runner.finalChatCompletion();
    assert.equal(answer.choices.length, 2);
    assert.notEqual(answer.choices[0].message.content, answer.choices[1].message.content);
  });

  test("the same seed gives the same text", async () => {
    const request = { model: "demo", messages: story, max_tokens: 24, temperature: 1, seed: 11 };
    const answers = await Promise.all([1, 2, 3].map(() => openai.chat.completions.create(request)));
    assert.equal(new Set(answers.map((answer) => answer.choices[0].message.content)).size, 1);
  });

  test("stop strings, biases and penalties", async () => {
    const plain = await openai.chat.completions.create({ model: "demo", messages: story, max_tokens: 40 });
    const text = plain.choices[0].message.content;
    const word = text.split(" ")[3];
    const stopped = await openai.chat.completions.create({ model: "demo", messages: story, max_tokens: 40, stop: [word] });
    assert.equal(stopped.choices[0].message.content, text.slice(0, text.indexOf(word)));
    assert.equal(stopped.choices[0].finish_reason, "stop");
    const tokens = await (await fetch(server.url + "/tokenize", {
      method: "POST", headers: { authorization: "Bearer secret" }, body: JSON.stringify({ content: text }) })).json();
    const banned = await openai.chat.completions.create({
      model: "demo", messages: story, max_tokens: 40, logit_bias: { [tokens.tokens[0]]: -100 } });
    assert.ok(!banned.choices[0].message.content.startsWith(text.split(" ")[0]));
  });

  test("completions", async () => {
    const request = { model: "demo", prompt: ["Once upon a time", "One day"], max_tokens: 8, logprobs: 1 };
    const answer = await openai.completions.create(request);
    conforms("CreateCompletionResponse", answer);
    assert.deepEqual(answer.choices.map((choice) => choice.index), [0, 1]);
    assert.equal(answer.choices[1].logprobs.tokens.length, 8);
    const echoed = await openai.completions.create({ model: "demo", prompt: "Once upon a time", max_tokens: 4, echo: true });
    assert.ok(echoed.choices[0].text.startsWith("Once upon a time"));
    let text = "";
    for await (const chunk of await openai.completions.create({ ...request, prompt: "One day", stream: true })) {
      // The description covers only whole answers: OpenAI's own chunks have null until the end.
      if (chunk.choices[0]?.finish_reason) conforms("CreateCompletionResponse", chunk);
      text += chunk.choices[0]?.text ?? "";
    }
    assert.equal(text, answer.choices[1].text);
  });

  test("embeddings", async () => {
    const input = ["A fox is in the garden.", "The boat sails."];
    const floats = await openai.embeddings.create({ model: "demo", input, encoding_format: "float" });
    conforms("CreateEmbeddingResponse", floats);
    const packed = await openai.embeddings.create({ model: "demo", input });  // base64, which the client unpacks
    for (const i of [0, 1]) {
      assert.equal(packed.data[i].embedding.length, floats.data[i].embedding.length);
      packed.data[i].embedding.forEach((x, j) => assert.ok(Math.abs(x - floats.data[i].embedding[j]) < 1e-6));
    }
  });

  test("answers in a form", async () => {
    const schema = {
      type: "object", additionalProperties: false, required: ["animal", "legs"],
      properties: { animal: { enum: ["fox", "hen"] }, legs: { type: "integer", minimum: 2, maximum: 4 } },
    };
    const valid = ajv.compile(schema);
    const request = {
      model: "demo", messages: story, max_tokens: 60,
      response_format: { type: "json_schema", json_schema: { name: "animal", strict: true, schema } },
    };
    const parsed = await openai.chat.completions.parse(request);
    conforms("CreateChatCompletionResponse", parsed);
    assert.equal(parsed.choices[0].finish_reason, "stop");
    assert.ok(valid(JSON.parse(parsed.choices[0].message.content)), parsed.choices[0].message.content);
    const stream = await openai.chat.completions.create({ ...request, stream: true });
    let text = "";
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
    assert.equal(text, parsed.choices[0].message.content);
  });

  test("models", async () => {
    const models = [];
    for await (const model of openai.models.list()) models.push(model);
    assert.deepEqual(models.map((model) => model.id), ["demo"]);
    conforms("Model", await openai.models.retrieve("demo"));
  });

  test("errors have their classes, and name the field", async () => {
    const chat = (more) => openai.chat.completions.create({ model: "demo", messages: story, ...more });
    await assert.rejects(chat({ model: "gone" }), (error) =>
      error instanceof OpenAI.NotFoundError && error.code === "model_not_found" && error.param === "model");
    await assert.rejects(chat({ temperature: -1 }), (error) =>
      error instanceof OpenAI.BadRequestError && error.param === "temperature");
    const broken = { type: "json_schema", json_schema: { name: "x", schema: { items: { uniqueItems: true } } } };
    await assert.rejects(chat({ response_format: broken }), (error) =>
      error.status === 400 && error.param === "response_format" && error.message.includes("#/items/uniqueItems"));
    await assert.rejects(chat({ messages: [{ role: "user", content: "word ".repeat(3000) }] }), (error) =>
      error.status === 400 && error.code === "context_length_exceeded" && /\d+ tokens.* 512/.test(error.message));
    const stranger = new OpenAI.OpenAI({ baseURL: server.url + "/v1", apiKey: "wrong" });
    await assert.rejects(stranger.models.list(), OpenAI.AuthenticationError);
    const body = await (await fetch(server.url + "/v1/nothing", { headers: { authorization: "Bearer secret" } })).json();
    conforms("ErrorResponse", body);
  });

  test("a client that leaves frees its sequence", async () => {
    const headers = { authorization: "Bearer secret" };
    const slots = async () => (await (await fetch(server.url + "/status", { headers })).json()).models[0];
    const stream = await openai.chat.completions.create({
      model: "demo", messages: story, stream: true, ignore_eos: true });
    for await (const chunk of stream) {
      if (chunk.choices[0]?.delta.content) break;  // leaving the loop aborts the request
    }
    for (let tries = 0; (await slots()).decoding > 0; ++tries) {
      assert.ok(tries < 200, "still decoding");
      await new Promise((done) => setTimeout(done, 5));
    }
  });
});

// Of OpenAI's audio endpoints, which the bundle of the shared data does not have: the required members and the types.
const number = { type: "number" }, integer = { type: "integer" }, string = { type: "string" };
const object = (required, more = {}) => ({ type: "object", required: Object.keys(required), properties: { ...required, ...more } });
const usage = { oneOf: [
  object({ type: { const: "duration" }, seconds: number }),
  object({ type: { const: "tokens" }, input_tokens: integer, output_tokens: integer, total_tokens: integer })] };
const segment = object({ id: integer, seek: integer, start: number, end: number, text: string, tokens: { type: "array", items: integer },
  temperature: number, avg_logprob: number, compression_ratio: number, no_speech_prob: number });
const list = (items) => ({ type: "array", items });
const verbose = (duration) => object({ language: string, duration, text: string },
  { segments: list(segment), words: list(object({ word: string, start: number, end: number })), usage });
const audioSchemas = {
  json: object({ text: string }, { usage }),
  verbose_json: verbose(number),
  event: { oneOf: [
    object({ type: { const: "transcript.text.delta" }, delta: string }),
    object({ type: { const: "transcript.text.done" }, text: string }, { usage })] },
};
function conformsToAudio(name, value) {
  const validate = ajv.compile(audioSchemas[name]);
  assert.ok(validate(value), name + ": " + JSON.stringify(validate.errors) + " in " + JSON.stringify(value));
}

const speech = speechModel();
describe("openai: recordings", { skip: !speech && "NumPy is not installed" }, () => {
  let hearing, audio;
  before(async () => {
    hearing = await serve("--quiet", `whisper-1=${speech.model}`);
    audio = new OpenAI.OpenAI({ baseURL: hearing.url + "/v1", apiKey: "none" }).audio;
  });
  after(async () => {
    await hearing?.stop();
    if (speech) fs.rmSync(speech.folder, { recursive: true });
  });
  // Greedy, so that the same recording gives the same text.
  const request = (more) => ({ model: "whisper-1", file: fs.createReadStream(speech.recording), language: "en", temperature_inc: 0, ...more });

  test("json and text", async () => {
    const answer = await audio.transcriptions.create(request());
    conformsToAudio("json", answer);
    assert.ok(answer.text.length > 0);
    assert.deepEqual(answer.usage, { type: "duration", seconds: 9 });
    assert.equal(await audio.transcriptions.create(request({ response_format: "text" })), answer.text + "\n");
    const subtitles = await audio.transcriptions.create(request({ response_format: "srt" }));
    assert.match(subtitles, /^1\n00:00:0\d,\d{3} --> 00:00:0\d,\d{3}\n/);
  });

  test("verbose_json has segments and, on request, words", async () => {
    const { text } = await audio.transcriptions.create(request());
    const answer = await audio.transcriptions.create(request({ response_format: "verbose_json" }));
    conformsToAudio("verbose_json", answer);
    assert.equal(answer.text, text);
    assert.equal(answer.language, "english");
    assert.equal(answer.duration, 9);
    assert.ok(answer.segments.length > 1);
    assert.equal(answer.segments.map((segment) => segment.text).join("").trim(), text);
    assert.equal(answer.words, undefined);
    const words = await audio.transcriptions.create(request({ response_format: "verbose_json", timestamp_granularities: ["word"] }));
    conformsToAudio("verbose_json", words);
    assert.ok(words.words.length > 1);
    assert.equal(words.segments, undefined);
  });

  test("a stream gives what the whole answer has", async () => {
    const { text } = await audio.transcriptions.create(request());
    const events = [];
    for await (const event of await audio.transcriptions.create(request({ stream: true }))) events.push(event);
    for (const event of events) conformsToAudio("event", event);
    const done = events.pop();
    assert.equal(done.type, "transcript.text.done");
    assert.equal(done.text, text);
    assert.ok(events.length > 1);
    assert.deepEqual([...new Set(events.map((event) => event.type))], ["transcript.text.delta"]);
    assert.equal(events.map((event) => event.delta).join("").trim(), text);
  });

  test("translations", async () => {
    const answer = await audio.translations.create({ model: "whisper-1", file: fs.createReadStream(speech.recording), response_format: "verbose_json" });
    conformsToAudio("verbose_json", answer);
    assert.equal(answer.duration, 9);
  });

  test("errors are the client's", async () => {
    const fails = (more, type, message) => assert.rejects(audio.transcriptions.create(request(more)),
      (error) => error instanceof OpenAI[type] && message.test(error.message));
    await fails({ language: "xx" }, "BadRequestError", /'xx' is neither a language/);
    await fails({ model: "other" }, "NotFoundError", /other/);
    await fails({ file: new File(["no sound"], "talk.txt") }, "BadRequestError", /talk\.txt/);
    await fails({ response_format: "verbose_json", stream: true }, "BadRequestError", /stream/);
    await assert.rejects(openai.audio.transcriptions.create(request({ model: "demo" })), /does not take recordings/);
  });
});

describe("anthropic", () => {
  const request = { model: "demo", max_tokens: 16, messages: story };

  test("messages", async () => {
    const answer = await anthropic.messages.create({ ...request, system: "Be brief." });
    assert.equal(answer.type, "message");
    assert.equal(answer.role, "assistant");
    assert.equal(answer.stop_reason, "max_tokens");
    assert.equal(answer.content[0].type, "text");
    assert.equal(answer.usage.output_tokens, 16);
  });

  test("a stream gives what the whole answer has", async () => {
    const whole = await anthropic.messages.create(request);
    const stream = anthropic.messages.stream(request);
    let text = "";
    stream.on("text", (piece) => { text += piece; });
    const gathered = await stream.finalMessage();
    assert.equal(text, whole.content[0].text);
    assert.deepEqual(gathered.content.map((block) => [block.type, block.text]), [["text", text]]);
    assert.equal(gathered.stop_reason, "max_tokens");
    assert.equal(gathered.usage.output_tokens, 16);
  });

  test("stop sequences", async () => {
    const whole = await anthropic.messages.create({ ...request, max_tokens: 40 });
    const word = whole.content[0].text.split(" ")[2];
    const stopped = await anthropic.messages.create({ ...request, max_tokens: 40, stop_sequences: ["zzz", word] });
    assert.equal(stopped.stop_reason, "stop_sequence");
    assert.equal(stopped.stop_sequence, word);
  });

  test("an answer that is begun goes on", async () => {
    const whole = await anthropic.messages.create(request);
    const begin = whole.content[0].text.split(" ").slice(0, 4).join(" ");
    const rest = await anthropic.messages.create({
      ...request, messages: [...story, { role: "assistant", content: begin }] });
    assert.ok((begin + rest.content[0].text).startsWith(whole.content[0].text.slice(0, 30)));
  });

  test("count_tokens", async () => {
    const count = await anthropic.messages.countTokens({ model: "demo", messages: story });
    const answer = await anthropic.messages.create(request);
    assert.equal(count.input_tokens, answer.usage.input_tokens + answer.usage.cache_read_input_tokens);
  });

  test("errors", async () => {
    await assert.rejects(anthropic.messages.create({ ...request, model: "gone" }), Anthropic.NotFoundError);
    await assert.rejects(
      anthropic.messages.create({ ...request, messages: [{ role: "user", content: [{ type: "image", source: {
        type: "base64", media_type: "image/png", data: "eA==" } }] }] }),
      (error) => error instanceof Anthropic.BadRequestError && /text only/.test(error.message));
  });

  test("a stream that is aborted", async () => {
    const stream = anthropic.messages.stream({ ...request, max_tokens: 400 });
    stream.on("text", () => stream.abort());
    await assert.rejects(stream.finalMessage(), Anthropic.APIUserAbortError);
  });
});

describe("tools", () => {
  const parameters = {
    type: "object", additionalProperties: false, required: ["animal", "legs"],
    properties: { animal: { type: "string", enum: ["fox", "hen"] }, legs: { type: "integer", minimum: 2, maximum: 4 } },
  };
  const go = [{ role: "user", content: "Go" }];
  const valid = ajv.compile(parameters);
  let tooled, openai, anthropic;
  before(async () => {
    tooled = await serve("--quiet", "--chat-template", new URL("tools.jinja", import.meta.url).pathname);
    openai = new OpenAI.OpenAI({ baseURL: tooled.url + "/v1", apiKey: "any" });
    anthropic = new Anthropic.Anthropic({ baseURL: tooled.url, apiKey: "any" });
  });
  after(() => tooled.stop());

  const request = {
    model: "demo", messages: go, max_tokens: 100, tool_choice: "required", seed: 5, temperature: 1,
    tools: [{ type: "function", function: { name: "note", description: "Notes it", parameters } }],
  };

  test("openai", async () => {
    const answer = await openai.chat.completions.create(request);
    conforms("CreateChatCompletionResponse", answer);
    const { message } = answer.choices[0];
    assert.equal(answer.choices[0].finish_reason, "tool_calls");
    assert.equal(message.content, null);
    for (const call of message.tool_calls) {
      assert.equal(call.function.name, "note");
      assert.ok(valid(JSON.parse(call.function.arguments)), call.function.arguments);
    }
    const stream = openai.chat.completions.stream(request);
    stream.on("chunk", (chunk) => conforms("CreateChatCompletionStreamResponse", chunk));
    const gathered = await stream.finalMessage();
    assert.deepEqual(gathered.tool_calls.map((call) => call.function.arguments),
      message.tool_calls.map((call) => call.function.arguments));
    // Results are sent back in the client's form.
    const results = message.tool_calls.map((call) => ({ role: "tool", tool_call_id: call.id, content: "noted" }));
    const next = await openai.chat.completions.create({
      ...request, tool_choice: "none", max_tokens: 10, messages: [...go, message, ...results] });
    assert.ok(next.choices[0].message.content.length > 0);
  });

  test("openai runs a function", async () => {
    const noted = [];
    const runner = openai.chat.completions.runTools({
      ...request, tool_choice: { type: "function", function: { name: "note" } },
      tools: [{ type: "function", function: {
        name: "note", parameters, parse: JSON.parse, function: (what) => { noted.push(what); return "noted"; } } }],
    });
    await runner.done();
    assert.equal(noted.length, 1);
    assert.ok(valid(noted[0]), JSON.stringify(noted[0]));
  });

  test("anthropic", async () => {
    const asked = {
      model: "demo", max_tokens: 100, messages: go, tools: [{ name: "note", input_schema: parameters }],
      tool_choice: { type: "tool", name: "note" },
    };
    const answer = await anthropic.messages.create(asked);
    assert.equal(answer.stop_reason, "tool_use");
    assert.deepEqual(answer.content.map((block) => block.type), ["tool_use"]);
    assert.ok(valid(answer.content[0].input), JSON.stringify(answer.content[0].input));
    const gathered = await anthropic.messages.stream(asked).finalMessage();
    assert.deepEqual(gathered.content.map((block) => block.input), answer.content.map((block) => block.input));
    const next = await anthropic.messages.create({
      ...asked, tool_choice: { type: "none" }, max_tokens: 10,
      messages: [...go, { role: "assistant", content: answer.content },
        { role: "user", content: [{ type: "tool_result", tool_use_id: answer.content[0].id, content: "noted" }] }],
    });
    assert.equal(next.content[0].type, "text");
  });
});
