// Writes a Llama, Qwen3, OLMoE, Qwen3 MoE, Qwen3.5, Gemma 4, DeepSeek-V2, Mamba 2 or Granite 4 hybrid model with random
// weights as GGUF (version 3, ggml's docs/gguf.md), in blocks of bounded memory. The numbers depend only on the tensor's index and the
// seed, so F16, Q8_0, Q6_K, Q4_K and Q4_0 files of one shape hold the same numbers, rounded differently.

import { openSync, writeSync, closeSync, renameSync } from "node:fs";

import { deepseek2Entries, deepseek2Tensors } from "./deepseek2_gguf.mjs";
import { gemma4Entries, gemma4Tensors } from "./gemma4_gguf.mjs";
import {
  graniteHybridEntries, graniteHybridTensors, mamba2Entries, mamba2Tensors,
} from "./mamba2_gguf.mjs";
import { qwen35Entries, qwen35Tensors } from "./qwen35_gguf.mjs";

const ALIGNMENT = 32;
const BLOCK = 32;

// ggml's type ids, llama.cpp's file types, and the elements and bytes of a block.
export const TYPES = {
  f32: { id: 0, fileType: 0, block: 1, bytes: 4 },
  f16: { id: 1, fileType: 1, block: 1, bytes: 2 },
  q4_0: { id: 2, fileType: 2, block: BLOCK, bytes: 18 },
  q8_0: { id: 8, fileType: 7, block: BLOCK, bytes: 34 },
  q4_k: { id: 12, fileType: 14, block: 256, bytes: 144 },
  q6_k: { id: 14, fileType: 18, block: 256, bytes: 210 },
};

const floatBits = new Float32Array(1);
const bitsOfFloat = new Uint32Array(floatBits.buffer);

// IEEE half precision, rounded to nearest even; magnitudes above 65504 are not supported.
export function halfBits(value) {
  floatBits[0] = value;
  const bits = bitsOfFloat[0];
  const sign = (bits >>> 16) & 0x8000;
  const exponent = ((bits >>> 23) & 0xff) - 112;
  const mantissa = bits & 0x7fffff;
  if (exponent <= 0) {
    if (exponent < -10) return sign;
    const full = mantissa | 0x800000;
    const shift = 14 - exponent;
    const rest = full & ((1 << shift) - 1);
    const half = 1 << (shift - 1);
    const kept = full >>> shift;
    return sign | (kept + (rest > half || (rest === half && kept & 1) ? 1 : 0));
  }
  const kept = (exponent << 10) | (mantissa >>> 13);
  const rest = mantissa & 0x1fff;
  return sign | (kept + (rest > 0x1000 || (rest === 0x1000 && kept & 1) ? 1 : 0));
}

function toF16(values, out) {
  const view = new Uint16Array(out.buffer, out.byteOffset, values.length);
  for (let i = 0; i < values.length; ++i) view[i] = halfBits(values[i]);
}

// A block: an fp16 scale, then 32 int8.
function toQ8(values, out) {
  for (let block = 0; block < values.length / BLOCK; ++block) {
    const from = block * BLOCK, to = block * 34;
    let largest = 0;
    for (let i = 0; i < BLOCK; ++i) largest = Math.max(largest, Math.abs(values[from + i]));
    const scale = largest / 127, inverse = scale > 0 ? 1 / scale : 0;
    const bits = halfBits(scale);
    out[to] = bits & 0xff;
    out[to + 1] = bits >>> 8;
    for (let i = 0; i < BLOCK; ++i) out[to + 2 + i] = Math.round(values[from + i] * inverse) & 0xff;
  }
}

// A block: an fp16 scale, then 16 bytes whose low halves are elements 0 to 15 and high halves 16 to 31, each plus 8;
// the element with the largest magnitude becomes -8.
function toQ4(values, out) {
  for (let block = 0; block < values.length / BLOCK; ++block) {
    const from = block * BLOCK, to = block * 18;
    let signed = 0;
    for (let i = 0; i < BLOCK; ++i) {
      if (Math.abs(values[from + i]) > Math.abs(signed)) signed = values[from + i];
    }
    const scale = signed / -8, inverse = scale !== 0 ? 1 / scale : 0;
    const bits = halfBits(scale);
    out[to] = bits & 0xff;
    out[to + 1] = bits >>> 8;
    for (let i = 0; i < 16; ++i) {
      const low = Math.min(15, (values[from + i] * inverse + 8.5) | 0);
      const high = Math.min(15, (values[from + 16 + i] * inverse + 8.5) | 0);
      out[to + 2 + i] = low | (high << 4);
    }
  }
}

// A block of 256: fp16 scales for the 6-bit scales and minima of 8 groups of 32 (12 bytes), then for each 64 elements
// 32 bytes whose low halves are the first 32.
function toQ4K(values, out) {
  const codes = new Uint8Array(256), scales = new Float32Array(8), minima = new Float32Array(8);
  for (let block = 0; block < values.length / 256; ++block) {
    const from = block * 256, to = block * 144;
    for (let group = 0; group < 8; ++group) {
      let least = 0, most = -Infinity;
      for (let i = 0; i < 32; ++i) {
        const value = values[from + group * 32 + i];
        if (value < least) least = value;
        if (value > most) most = value;
      }
      scales[group] = Math.max(0, most - least) / 15;
      minima[group] = -least;
    }
    const unit = Math.max(...scales) / 63, step = Math.max(...minima) / 63;
    for (let group = 0; group < 8; ++group) {
      const scale = unit > 0 ? Math.round(scales[group] / unit) : 0;
      const minimum = step > 0 ? Math.round(minima[group] / step) : 0;
      const inverse = scale > 0 ? 1 / (scale * unit) : 0, shift = minimum * step;
      for (let i = 0; i < 32; ++i) {
        const code = Math.round((values[from + group * 32 + i] + shift) * inverse);
        codes[group * 32 + i] = Math.max(0, Math.min(15, code));
      }
      if (group < 4) {
        out[to + 4 + group] = scale;
        out[to + 8 + group] = minimum;
      } else {
        out[to + 8 + group] = (scale & 15) | ((minimum & 15) << 4);
        out[to + group] |= (scale >> 4) << 6;
        out[to + 4 + group] |= (minimum >> 4) << 6;
      }
    }
    for (let i = 0; i < 128; ++i) {
      const place = 64 * (i >> 5) + (i & 31);
      out[to + 16 + i] = codes[place] | (codes[place + 32] << 4);
    }
    const bits = [halfBits(unit), halfBits(step)];
    for (let i = 0; i < 4; ++i) out[to + i] = (bits[i >> 1] >>> (8 * (i & 1))) & 0xff;
  }
}

// A block of 256: the low four bits of all (128 bytes), the high two (64 bytes), an int8 scale per 16 elements, and an
// fp16 scale for these; quantized values are stored plus 32.
function toQ6(values, out) {
  const codes = new Uint8Array(256), scales = new Float32Array(16);
  for (let block = 0; block < values.length / 256; ++block) {
    const from = block * 256, to = block * 210;
    let largest = 0;
    for (let group = 0; group < 16; ++group) {
      let most = 0;
      for (let i = 0; i < 16; ++i) most = Math.max(most, Math.abs(values[from + group * 16 + i]));
      scales[group] = most / 31;
      largest = Math.max(largest, scales[group]);
    }
    const unit = largest / 127;
    for (let group = 0; group < 16; ++group) {
      const level = unit > 0 ? Math.round(scales[group] / unit) : 0;
      const inverse = level > 0 ? 1 / (level * unit) : 0;
      out[to + 192 + group] = level;
      for (let i = 0; i < 16; ++i) {
        const code = Math.round(values[from + group * 16 + i] * inverse);
        codes[group * 16 + i] = Math.max(-32, Math.min(31, code)) + 32;
      }
    }
    for (let half = 0; half < 2; ++half) {
      for (let i = 0; i < 32; ++i) {
        const at = (place) => codes[half * 128 + place * 32 + i];
        out[to + half * 64 + i] = (at(0) & 15) | ((at(2) & 15) << 4);
        out[to + half * 64 + 32 + i] = (at(1) & 15) | ((at(3) & 15) << 4);
        out[to + 128 + half * 32 + i] =
          (at(0) >> 4) | ((at(1) >> 4) << 2) | ((at(2) >> 4) << 4) | ((at(3) >> 4) << 6);
      }
    }
    const bits = halfBits(unit);
    out[to + 208] = bits & 0xff;
    out[to + 209] = bits >>> 8;
  }
}

const ENCODERS = { f16: toF16, q8_0: toQ8, q6_k: toQ6, q4_k: toQ4K, q4_0: toQ4 };

// xorshift32 (Marsaglia); uniform with the standard deviation of an untrained Llama's weights, 0.02.
function fillRandom(values, state) {
  const scale = (0.02 * Math.sqrt(12)) / 2 ** 32;
  for (let i = 0; i < values.length; ++i) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    values[i] = state * scale;
  }
  return state;
}

class Bytes {
  parts = [];
  u32(value) {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    this.parts.push(bytes);
  }
  u64(value) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(value));
    this.parts.push(bytes);
  }
  text(value) {
    const bytes = Buffer.from(value, "utf8");
    this.u64(bytes.length);
    this.parts.push(bytes);
  }
  // GGUF's value types: 4 uint32, 5 int32, 6 float32, 7 bool, 8 string, 9 array.
  keyU32(key, value) {
    this.text(key);
    this.u32(4);
    this.u32(value);
  }
  keyF32(key, value) {
    this.text(key);
    this.u32(6);
    const bytes = Buffer.alloc(4);
    bytes.writeFloatLE(value);
    this.parts.push(bytes);
  }
  keyText(key, value) {
    this.text(key);
    this.u32(8);
    this.text(value);
  }
  keyArray(key, type, count) {
    this.text(key);
    this.u32(9);
    this.u32(type);
    this.u64(count);
  }
  keyFlag(key, value) {
    this.text(key);
    this.u32(7);
    this.parts.push(Buffer.from([value ? 1 : 0]));
  }
  keyFlags(key, values) {
    this.keyArray(key, 7, values.length);
    this.parts.push(Buffer.from(values.map((value) => (value ? 1 : 0))));
  }
  keyNumbers(key, values) {
    this.keyArray(key, 5, values.length);
    for (const value of values) this.u32(value);
  }
  // llama.cpp requires a vocabulary: one of SentencePiece's kind, with bytes and made-up words.
  vocabulary(size) {
    this.keyText("tokenizer.ggml.model", "llama");
    const special = ["<unk>", "<s>", "</s>"];
    const piece = (id) =>
      id < 3 ? special[id]
      : id < 259 ? `<0x${(id - 3).toString(16).toUpperCase().padStart(2, "0")}>`
      : `t${id}`;
    this.keyArray("tokenizer.ggml.tokens", 8, size);
    for (let id = 0; id < size; ++id) this.text(piece(id));
    this.keyArray("tokenizer.ggml.scores", 6, size);
    this.parts.push(Buffer.from(Float32Array.from({ length: size }, (_, id) => -id).buffer));
    // llama.h's token types: 1 normal, 2 unknown, 3 control, 6 byte.
    this.keyArray("tokenizer.ggml.token_type", 5, size);
    const type = (id) => (id === 0 ? 2 : id < 3 ? 3 : id < 259 ? 6 : 1);
    this.parts.push(Buffer.from(Int32Array.from({ length: size }, (_, id) => type(id)).buffer));
    this.keyU32("tokenizer.ggml.unknown_token_id", 0);
    this.keyU32("tokenizer.ggml.bos_token_id", 1);
    this.keyU32("tokenizer.ggml.eos_token_id", 2);
  }
  join() {
    return Buffer.concat(this.parts);
  }
}

// For each model_type: llama.cpp's name, the width of q's and k's norms, and whether there are experts; or its own
// tensors and metadata.
const KINDS = {
  llama: { name: "llama" },
  qwen3: { name: "qwen3", norms: "head" },
  olmoe: { name: "olmoe", norms: "all", experts: true },
  qwen3_moe: { name: "qwen3moe", norms: "head", experts: true },
  deepseek_v2: { name: "deepseek2", tensors: deepseek2Tensors, entries: deepseek2Entries },
  mamba2: { name: "mamba2", tensors: mamba2Tensors, entries: mamba2Entries },
  granitemoehybrid: { name: "granitehybrid", tensors: graniteHybridTensors, entries: graniteHybridEntries },
  qwen3_5_text: { name: "qwen35", tensors: qwen35Tensors, entries: qwen35Entries },
  gemma4_text: { name: "gemma4", tensors: gemma4Tensors, entries: gemma4Entries },
};
const expertsOf = (config) => (KINDS[config.model_type].experts ? config.num_experts : 0);

// The name, rows, columns and type of every tensor of a model. For stacks of matrices, also their number and the share
// of them that a token reads (by default that of experts).
export function tensorsOf(config, type) {
  const { norms, tensors: own } = KINDS[config.model_type];
  if (own) return own(config, type);
  const experts = expertsOf(config);
  const hidden = config.hidden_size;
  const middle = experts > 0 ? (config.moe_intermediate_size ?? config.intermediate_size) : config.intermediate_size;
  const headSize = config.head_dim ?? hidden / config.num_attention_heads;
  const keys = (config.num_key_value_heads ?? config.num_attention_heads) * headSize;
  const queries = config.num_attention_heads * headSize;
  const tensors = [{ name: "token_embd.weight", rows: config.vocab_size, columns: hidden, type }];
  for (let layer = 0; layer < config.num_hidden_layers; ++layer) {
    const add = (name, rows, columns, of = type, stack = 1) =>
      tensors.push({ name: `blk.${layer}.${name}.weight`, rows, columns, type: of, stack });
    add("attn_norm", 1, hidden, "f32");
    add("attn_q", queries, hidden);
    add("attn_k", keys, hidden);
    add("attn_v", keys, hidden);
    if (norms) {
      add("attn_q_norm", 1, norms === "head" ? headSize : queries, "f32");
      add("attn_k_norm", 1, norms === "head" ? headSize : keys, "f32");
    }
    add("attn_output", hidden, queries);
    add("ffn_norm", 1, hidden, "f32");
    if (experts > 0) {
      add("ffn_gate_inp", experts, hidden, "f32");
      add("ffn_gate_exps", middle, hidden, type, experts);
      add("ffn_up_exps", middle, hidden, type, experts);
      add("ffn_down_exps", hidden, middle, type, experts);
    } else {
      add("ffn_gate", middle, hidden);
      add("ffn_up", middle, hidden);
      add("ffn_down", hidden, middle);
    }
  }
  tensors.push({ name: "output_norm.weight", rows: 1, columns: hidden, type: "f32" });
  if (!config.tie_word_embeddings) {
    tensors.push({ name: "output.weight", rows: config.vocab_size, columns: hidden, type });
  }
  return tensors;
}

const elementsOf = (tensor) => tensor.rows * tensor.columns * (tensor.stack ?? 1);
const bytesOf = (tensor) => (elementsOf(tensor) / TYPES[tensor.type].block) * TYPES[tensor.type].bytes;

// The bytes that a token must read: all tensors except an embedding table that is not also the head, and only the
// chosen experts.
export function weightBytes(config, type) {
  const share = (tensor) =>
    tensor.share ?? ((tensor.stack ?? 1) > 1 ? (config.num_experts_per_tok ?? config.top_k_experts) / tensor.stack : 1);
  return tensorsOf(config, type)
    .filter((tensor) => config.tie_word_embeddings || tensor.name !== "token_embd.weight")
    .reduce((sum, tensor) => sum + bytesOf(tensor) * share(tensor), 0);
}

function attentionEntries(meta, config) {
  const heads = config.num_attention_heads;
  const headSize = config.head_dim ?? config.hidden_size / heads;
  const kind = KINDS[config.model_type].name;
  const experts = expertsOf(config);
  const entries = [
    () => meta.keyU32(`${kind}.context_length`, config.max_position_embeddings),
    () => meta.keyU32(`${kind}.embedding_length`, config.hidden_size),
    () => meta.keyU32(`${kind}.block_count`, config.num_hidden_layers),
    () => meta.keyU32(`${kind}.feed_forward_length`, config.intermediate_size),
    () => meta.keyU32(`${kind}.attention.head_count`, heads),
    () => meta.keyU32(`${kind}.attention.head_count_kv`, config.num_key_value_heads ?? heads),
    () => meta.keyF32(`${kind}.attention.layer_norm_rms_epsilon`, config.rms_norm_eps ?? 1e-6),
    () => meta.keyF32(`${kind}.rope.freq_base`, config.rope_theta ?? 10000),
    () => meta.keyU32(`${kind}.rope.dimension_count`, headSize),
    () => meta.keyU32(`${kind}.attention.key_length`, headSize),
    () => meta.keyU32(`${kind}.attention.value_length`, headSize),
    () => meta.keyU32(`${kind}.vocab_size`, config.vocab_size),
  ];
  if (experts > 0) {
    const width = config.moe_intermediate_size ?? config.intermediate_size;
    entries.push(() => meta.keyU32(`${kind}.expert_count`, experts),
                 () => meta.keyU32(`${kind}.expert_used_count`, config.num_experts_per_tok),
                 () => meta.keyU32(`${kind}.expert_feed_forward_length`, width));
  }
  return entries;
}

function header(config, type, tensors) {
  const meta = new Bytes();
  const entries = [
    () => meta.keyText("general.architecture", KINDS[config.model_type].name),
    () => meta.keyText("general.name", "random"),
    () => meta.keyU32("general.file_type", TYPES[type].fileType),
    () => meta.keyU32("general.alignment", ALIGNMENT),
    ...(KINDS[config.model_type].entries ?? attentionEntries)(meta, config),
  ];
  for (const entry of entries) entry();
  meta.vocabulary(config.vocab_size);
  const vocabularyEntries = 7;
  const start = new Bytes();
  start.parts.push(Buffer.from("GGUF"));
  start.u32(3);
  start.u64(tensors.length);
  start.u64(entries.length + vocabularyEntries);
  start.parts.push(meta.join());
  let offset = 0;
  for (const tensor of tensors) {
    start.text(tensor.name);
    const dims = tensor.rows === 1 ? [tensor.columns] : [tensor.columns, tensor.rows];
    if ((tensor.stack ?? 1) > 1) dims.push(tensor.stack);
    start.u32(dims.length);
    for (const dim of dims) start.u64(dim);
    start.u32(TYPES[tensor.type].id);
    start.u64(offset);
    offset += Math.ceil(bytesOf(tensor) / ALIGNMENT) * ALIGNMENT;
  }
  return start.join();
}

function writeAll(fd, bytes) {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
}

function pad(fd, length) {
  const rest = length % ALIGNMENT;
  if (rest > 0) writeAll(fd, Buffer.alloc(ALIGNMENT - rest));
}

// `type`: "f16", "q8_0", "q6_k", "q4_k" or "q4_0". Every matrix has this type; norms and other small tensors are fp32.
export function writeGguf(path, config, type, seed = 1) {
  if (!KINDS[config.model_type]) {
    throw new Error(`model_type ${config.model_type}: there are ${Object.keys(KINDS).join(", ")}`);
  }
  const tensors = tensorsOf(config, type);
  for (const tensor of tensors) {
    const { block } = TYPES[tensor.type];
    if (tensor.columns % block !== 0) {
      throw new Error(`${tensor.name}: ${tensor.columns} columns, not a multiple of ${block}`);
    }
  }
  const fd = openSync(path + ".part", "w");
  const start = header(config, type, tensors);
  writeAll(fd, start);
  pad(fd, start.length);
  tensors.forEach((tensor, index) => {
    if (tensor.type === "f32") {
      // Norms, and routers, which must distinguish experts.
      const values = new Float32Array(tensor.rows * tensor.columns).fill(tensor.fill ?? 1);
      if (tensor.rows > 1 && tensor.fill === undefined) fillRandom(values, (seed * 0x9e3779b1 + index) | 0 || 1);
      writeAll(fd, Buffer.from(values.buffer));
    } else {
      let state = (seed * 0x9e3779b1 + index * 0x85ebca6b + 1) | 0 || 1;
      const { block, bytes } = TYPES[tensor.type];
      const total = elementsOf(tensor);
      for (let done = 0; done < total; ) {
        const count = Math.min(1 << 20, total - done);
        const values = new Float32Array(count);
        state = fillRandom(values, state);
        const out = Buffer.alloc((count / block) * bytes);
        ENCODERS[tensor.type](values, out);
        writeAll(fd, out);
        done += count;
      }
    }
    pad(fd, bytesOf(tensor));
  });
  closeSync(fd);
  renameSync(path + ".part", path);
}
