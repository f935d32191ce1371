// Shared by the tests of the server: starts a separate server on a free port.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

const root = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "../..");
const modules = process.env.PIPPIN_CLIENTS ?? path.join(root, "build/clients/node_modules");
const agents = process.env.PIPPIN_AGENTS ?? path.join(root, "build/agents/node_modules");

// A package of install_clients.sh; null if it is not installed.
export function client(name) {
  try {
    return createRequire(path.join(modules, "x.js"))(name);
  } catch {
    return null;
  }
}

// A program of install_clients.sh --agents, or in PATH; null if absent.
export function program(name) {
  const folders = [path.join(agents, ".bin"), ...(process.env.PATH ?? "").split(path.delimiter)];
  return folders.map((folder) => path.join(folder, name)).find((file) => fs.existsSync(file)) ?? null;
}

// A package of install_clients.sh as an ECMAScript module, the only form that some have.
export async function module(name) {
  let file;
  try {
    file = createRequire(path.join(modules, "x.js")).resolve(name);
  } catch {
    return null;
  }
  return import(pathToFileURL(file));
}

// The file or folder of the test data, or null: the order of pippin/base/testing.h.
export function sharedData(name) {
  const built = process.env.PIPPIN_TEST_DATA ?? path.join(root, "build/release/test-data");
  const shared = path.join(process.env.PIPPIN_SHARED ?? path.join(root, "../shared"), "data");
  const file = [built, shared].map((folder) => path.join(folder, name)).find((file) => fs.existsSync(file));
  if (!file && process.env.PIPPIN_REQUIRE_SHARED === "1") {
    throw new Error(`shared test data is absent: data/${name}, and PIPPIN_REQUIRE_SHARED asks for it`);
  }
  return file ?? null;
}

// Writes a tiny model of speech and a recording: { folder, model, recording }; null without NumPy. The caller removes the
// folder.
export function speechModel() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "pippin-speech-"));
  const made = spawnSync(process.env.PIPPIN_PYTHON ?? "python3", ["-B", path.join(root, "tests/speech/whisper_folder.py"), folder], { encoding: "utf8" });
  if (made.status === 0) return { folder, model: path.join(folder, "model"), recording: path.join(folder, "talk.wav") };
  fs.rmSync(folder, { recursive: true });
  if (/No module named 'numpy'/.test(made.stderr)) return null;
  throw new Error(made.stderr || String(made.error));
}

// Starts pippin serve with these arguments; resolves once it listens and its model is loaded.
export async function serve(...args) {
  const pippin = process.env.PIPPIN ?? path.join(root, "build/release/pippin/cli/pippin");
  const server = spawn(pippin, ["serve", "--port", "0", ...args], { stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  const url = await new Promise((resolve, reject) => {
    server.stderr.setEncoding("utf8").on("data", (text) => {
      log += text;
      const found = log.match(/listening at (\S+)/);
      if (found) resolve(found[1]);
    });
    server.on("exit", (code) => reject(new Error(`pippin serve ended with ${code}: ${log}`)));
  });
  for (;;) {
    const health = await fetch(url + "/health");
    await health.text();
    if (health.ok) break;
    await new Promise((done) => setTimeout(done, 20));
  }
  return {
    url,
    log: () => log,
    async stop(signal = "SIGTERM") {
      if (server.exitCode !== null || server.signalCode !== null) return;
      server.kill(signal);
      await once(server, "exit");
    },
  };
}
