"""Reading and writing float16 safetensors files."""

import json
import struct

import torch


def write(path, tensors):
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, tensor in tensors.items():
        size = tensor.numel() * 2
        header[name] = {"dtype": "F16", "shape": list(tensor.shape), "data_offsets": [offset, offset + size]}
        offset += size
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head)
        for tensor in tensors.values():
            file.write(tensor.detach().to(torch.float16).contiguous().numpy().tobytes())


def read(path):
    """The tensors as float32."""
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        raw = bytearray(data[8 + size + begin:8 + size + end])
        tensors[name] = torch.frombuffer(raw, dtype=torch.float16).reshape(entry["shape"]).float()
    return tensors
