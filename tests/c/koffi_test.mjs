// libpippin.so.0 from Node, by koffi: arrays in and out, and a text token by token.
import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";

import { client } from "../serve/serving.mjs";

const koffi = client("koffi");
if (!koffi) {
  console.log("koffi is not installed (tests/serve/install_clients.sh)");
  process.exit(0);
}
const model = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "../install/add_half.mlmodelc");
const library = koffi.load(process.env.PIPPIN_LIBRARY);
const Token = koffi.struct("pippin_token", { size: "uint32_t", id: "int32_t", text: "const char *", bytes: "int64_t" });
const OnToken = koffi.proto("int32_t pippin_token_function(void *user, const pippin_token *token)");

const errorMessage = library.func("const char *pippin_error_message(void *error)");
const errorFree = library.func("void pippin_error_free(void *error)");

// A function that can fail: throws its error.
function fallible(name, ...types) {
  const call = library.func(name, "int32_t", [...types, koffi.out(koffi.pointer("void *"))]);
  return (...values) => {
    const error = [null];
    const code = call(...values, error);
    if (code === 0) return;
    const thrown = Object.assign(new Error(errorMessage(error[0])), { code });
    errorFree(error[0]);
    throw thrown;
  };
}

const out = koffi.out(koffi.pointer("void *"));
const pippin = {
  load: fallible("pippin_model_load", "const char *", "void *", out),
  open: fallible("pippin_function_open", "void *", "const char *", out),
  tensor: fallible("pippin_tensor_new", "int32_t", "int32_t", "int64_t *", out),
  call: fallible("pippin_call_new", "void *", out),
  setInput: fallible("pippin_call_set_input", "void *", "const char *", "void *"),
  run: fallible("pippin_call_run", "void *", "void *"),
  output: fallible("pippin_call_output", "void *", "const char *", out),
  loadLanguageModel: fallible("pippin_language_model_load", "const char *", "void *", "void *", out),
  encode: fallible("pippin_language_model_encode", "void *", "const char *", "int64_t", "int32_t", out, koffi.out("int64_t *")),
  openSession: fallible("pippin_session_open", "void *", out),
  options: fallible("pippin_options_new", out),
  set: fallible("pippin_options_set", "void *", "const char *", "const char *"),
  generate: fallible("pippin_generate", "void *", "int32_t *", "int64_t", "void *", koffi.pointer(OnToken), "void *", "void *", out),
  text: library.func("const char *pippin_completion_text(void *completion, void *bytes)"),
  reason: library.func("int32_t pippin_completion_reason(void *completion)"),
  data: library.func("void *pippin_tensor_data(void *tensor)"),
};

// Frees an object by its kind.
const free = (kind, object) => library.func(`pippin_${kind}free`, "void", ["void *"])(object);

function made(create, ...values) {
  const object = [null];
  create(...values, object);
  return object[0];
}

test("a model predicts", () => {
  const loaded = made(pippin.load, model, null);
  const opened = made(pippin.open, loaded, null);
  const input = made(pippin.tensor, 10, 2, [1, 3]);
  koffi.encode(pippin.data(input), koffi.array("float", 3), [1, 2, -4]);
  const call = made(pippin.call, opened);
  pippin.setInput(call, "x", input);
  pippin.run(call, null);
  const output = made(pippin.output, call, "y");
  assert.deepEqual([...koffi.decode(pippin.data(output), koffi.array("float", 3))], [1.5, 2.5, -3.5]);
  for (const [kind, object] of [["model_", loaded], ["function_", opened], ["tensor_", input], ["tensor_", output], ["call_", call]]) {
    free(kind, object);
  }
});

test("errors are exceptions here", () => {
  assert.throws(() => made(pippin.load, "/none.mlpackage", null), { code: 4, message: /no such package/ });
  assert.throws(() => made(pippin.load, null, null), { code: 3, message: "path is NULL" });
});

test("a text comes token by token", () => {
  const loaded = made(pippin.loadLanguageModel, "demo", null, null);
  const memory = [null], count = [0];
  pippin.encode(loaded, "Once upon a time", -1, 1, memory, count);
  const ids = koffi.decode(memory[0], koffi.array("int32_t", Number(count[0])));
  free("", memory[0]);
  const session = made(pippin.openSession, loaded);
  const options = made(pippin.options);
  pippin.set(options, "max_tokens", "8");
  let heard = "";
  const tokens = [];
  const onToken = (user, token) => {
    const { size, id, text } = koffi.decode(token, Token);
    assert.equal(size, koffi.sizeof(Token));
    heard += text;
    if (id >= 0) tokens.push(id);
    return 1;
  };
  const completion = made(pippin.generate, session, ids, ids.length, options, onToken, null, null);
  assert.equal(tokens.length, 8);
  assert.equal(pippin.text(completion, null), heard);
  assert.equal(pippin.reason(completion), 1);
  for (const [kind, object] of [["completion_", completion], ["session_", session], ["options_", options], ["language_model_", loaded]]) {
    free(kind, object);
  }
});
