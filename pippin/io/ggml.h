// Reads whisper.cpp's model files (ggml-*.bin): sizes, mel filters, vocabulary, and tensors as
// views of the bytes.
//
// A file has a magic number, eleven sizes, the filters, the tokens, and tensors up to its end, each
// a header and its unaligned data. Every count and length is checked against the rest of the file
// before memory is allocated.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/bytes.h"
#include "pippin/io/gguf.h"

namespace pippin {

struct GgmlContent {
  int64_t vocab_size = 0;
  int64_t audio_context = 0, audio_width = 0, audio_heads = 0, audio_layers = 0;
  int64_t text_context = 0, text_width = 0, text_heads = 0, text_layers = 0;
  int64_t bands = 0;                     // of the features
  int64_t bins = 0;                      // of the spectrum
  std::vector<float> filters;            // [bands, bins]
  std::vector<std::string_view> tokens;  // the bytes of each, views of the file
  std::vector<GgufTensor> tensors;       // with OpenAI's names
};

// Whether the bytes begin with the magic number.
bool looks_like_ggml(ByteSpan bytes);
// Whether a file with the ending .bin begins with it.
bool is_ggml_file(const std::filesystem::path& path);

// `name` starts error messages. Throws InvalidFile, Unsupported for an unknown type of tensors.
GgmlContent parse_ggml(ByteSpan file, const std::string& name);

}  // namespace pippin
