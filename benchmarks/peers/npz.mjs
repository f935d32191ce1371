// fp32 arrays in .npz files: uncompressed archives of .npy files.

import { readFileSync, writeFileSync } from "node:fs";
import { crc32 } from "node:zlib";

function npy({ shape, array }) {
  const text = `{'descr': '<f4', 'fortran_order': False, 'shape': (${shape.join(", ")}${shape.length === 1 ? "," : ""}), }`;
  const length = Math.ceil((11 + text.length) / 64) * 64 - 10;
  const header = Buffer.alloc(10 + length, " ");
  header.write("\x93NUMPY\x01\x00", 0, "latin1");
  header.writeUInt16LE(length, 8);
  header.write(text, 10);
  header.write("\n", 9 + length);
  return Buffer.concat([header, Buffer.from(array.buffer, array.byteOffset, array.byteLength)]);
}

export function writeArrays(file, arrays) {
  const parts = [], directory = [];
  let offset = 0;
  for (const [key, value] of Object.entries(arrays)) {
    const data = npy(value), name = Buffer.from(`${key}.npy`);
    const fields = Buffer.alloc(26);  // the common part of a member's header and its directory entry
    fields.writeUInt16LE(20, 0);
    fields.writeUInt32LE(crc32(data), 10);
    fields.writeUInt32LE(data.length, 14);
    fields.writeUInt32LE(data.length, 18);
    fields.writeUInt16LE(name.length, 22);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    parts.push(Buffer.from("PK\x03\x04"), fields, name, data);
    directory.push(Buffer.from("PK\x01\x02\x14\x00"), fields, place, name);
    offset += 30 + name.length + data.length;
  }
  const list = Buffer.concat(directory), end = Buffer.alloc(18);
  for (const at of [4, 6]) end.writeUInt16LE(directory.length / 4, at);
  end.writeUInt32LE(list.length, 8);
  end.writeUInt32LE(offset, 12);
  writeFileSync(file, Buffer.concat([...parts, list, Buffer.from("PK\x05\x06"), end]));
}

export function readArrays(file) {
  const bytes = readFileSync(file), arrays = {};
  for (let at = 0; bytes.readUInt32LE(at) === 0x04034b50;) {
    const [named, extra] = [bytes.readUInt16LE(at + 26), bytes.readUInt16LE(at + 28)];
    const name = bytes.toString("utf8", at + 30, at + 30 + named), data = at + 30 + named + extra;
    const size = bytes.readUInt32LE(at + 22), header = 10 + bytes.readUInt16LE(data + 8);
    if (!bytes.toString("latin1", data + 10, data + header).includes("'<f4'")) throw new Error(`${name}: no float32`);
    arrays[name.replace(/\.npy$/, "")] = new Float32Array(new Uint8Array(bytes.subarray(data + header, data + size)).buffer);
    at = data + size;
  }
  return arrays;
}
