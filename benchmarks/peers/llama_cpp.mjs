// Runs llama.cpp through node-llama-cpp, fed as llama-bench feeds it: batches of random ids, only the logits of the
// last one, no text and no sampler.

import { getLlama } from "node-llama-cpp";

const seconds = () => Number(process.hrtime.bigint()) * 1e-9;

export class LlamaCpp {
  static async load(path, { threads, context, sequences, flashAttention }) {
    const self = new LlamaCpp();
    self.llama = await getLlama({
      gpu: false, build: "never", maxThreads: threads, logLevel: "error", usePrebuiltBinaries: true,
    });
    self.model = await self.llama.loadModel({ modelPath: path });
    self.batch = Math.min(512, context);
    self.context = await self.model.createContext({
      contextSize: context, batchSize: self.batch, threads, flashAttention, sequences,
      swaFullCache: false,
    });
    // The object inside createContext()'s result: llama.h's calls, one to one, without the management of texts.
    self.raw = self.context._ctx;
    return self;
  }

  get info() {
    return {
      release: this.llama.llamaCppRelease?.release,
      system: this.llama.systemInfo,
      threads: this.raw.getThreads(),
    };
  }

  clear(sequences = 1) {
    for (let i = 0; i < sequences; ++i) this.raw.disposeSequence(i);
    this.behind = null;
  }

  // Makes `sequences` sequences hold exactly `before`. If they held it before, only removes later tokens, if the memory
  // supports it; reading a long prompt again would take most of the time.
  async hold(before, sequences) {
    const held = JSON.stringify(before);
    let kept = before.length > 0 && this.behind === held && this.held >= sequences;
    for (let i = 0; kept && i < sequences; ++i) {
      kept = this.raw.removeTokenCellsFromSequence(i, before.length, -1);
    }
    if (kept) return;
    this.clear(sequences);
    for (let i = 0; i < sequences && before.length > 0; ++i) await this.feed(0, before, i);
    this.behind = held;
    this.held = sequences;
  }

  async feed(position, ids, sequence = 0) {
    for (let done = 0; done < ids.length; done += this.batch) {
      const part = Uint32Array.from(ids.slice(done, done + this.batch));
      const last = done + part.length === ids.length;
      this.raw.initBatch(part.length);
      this.raw.addToBatch(sequence, position + done, part,
                          last ? Uint32Array.of(part.length - 1) : new Uint32Array(0));
      await this.raw.decodeBatch();
    }
  }

  // Returns seconds.
  async prefill(ids) {
    this.clear();
    const start = seconds();
    await this.feed(0, ids);
    return seconds() - start;
  }

  // Decodes `sequences` sequences, with a token of each in every batch.
  async decode(ids, before, sequences = 1) {
    await this.hold(before, sequences);
    const start = seconds();
    for (let token = 0; token < ids.length; ++token) {
      this.raw.initBatch(sequences);
      for (let i = 0; i < sequences; ++i) {
        this.raw.addToBatch(i, before.length + token, Uint32Array.of(ids[token]), Uint32Array.of(0));
      }
      await this.raw.decodeBatch();
    }
    return seconds() - start;
  }

  async dispose() {
    await this.context.dispose();
    await this.model.dispose();
    await this.llama.dispose();
  }
}
