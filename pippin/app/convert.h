// A Hugging Face model folder, or a package that Pippin made of one, becomes a Core ML package or a
// folder of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pippin/app/compress_options.h"
#include "pippin/app/package_output.h"
#include "pippin/compress/compress.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/registry.h"

namespace pippin::app {

inline constexpr uint64_t kMaxChunkBytesIos = 950'000'000;
inline constexpr uint64_t kMaxChunkBytesMacos = 2'000'000'000;

struct ConvertOptions {
  // "stateful": one package; "anemll": embeddings, chunks with functions for one token and for a
  // batch over one state, head; "windowed": chunks with their caches as inputs and outputs;
  // "encoder": one package that embeds or scores texts, which folders of such models become where
  // this says "stateful".
  std::string family = "stateful";
  // Most tokens that the result can hold; 0: the model's own, at most 2048 (windowed: 131072;
  // encoder: 8192).
  int64_t context = 0;
  // A PEFT adapter (LoRA) to merge into the weights; empty: none.
  std::filesystem::path fused_adapter;
  // How RMS norms are written: "plain", as Hugging Face's exporters write them; "safe", so that
  // they do not overflow in fp16; empty: as the family does, stateful plain, the others safe.
  // anemll has no plain ones.
  std::string norms;
  // The source is a config.json, and the weights are random: to measure its speed.
  bool random_weights = false;

  // stateful:
  // Tokens that one run takes; none: any number, up to the context.
  std::vector<int64_t> query_lengths;
  // Above 0: a second function, "prefill", that takes so many tokens at a time.
  int64_t prefill_length = 0;
  // PEFT adapters that become functions, each of its name, which share the weights.
  std::vector<models::NamedAdapter> adapters;

  // anemll and windowed:
  // The start of the packages' names; empty: the architecture's (anemll), the model's (windowed).
  std::string prefix;

  // anemll:
  int64_t batch = 0;   // tokens of a prefill, at most 4096; 0: 64, or what the model allows
  int64_t chunks = 0;  // of layers; 0: the fewest whose packages take at most max_chunk_bytes
  uint64_t max_chunk_bytes = kMaxChunkBytesIos;
  bool argmax_in_model = false;  // the head gives the best token of each part, no logits

  // windowed:
  int64_t blocks_per_chunk = 3;  // layers of a chunk
  int64_t window = 64;           // tokens of a step, at most 4096
  int64_t cache = 448;           // tokens before the window, at most 2^20

  // Without a way to compress weights are fp16. A text to calibrate with is for stateful alone:
  // then the fp16 package is first written next to the output.
  CompressOptions compression;
  // Bytes of weights that are written, and in all; may throw to end it. Null: nobody looks on.
  std::function<void(uint64_t done, uint64_t total)> progress = nullptr;
};

struct ConvertResult : PackageOutput {
  std::string architecture;
  int64_t context = 0;
  int64_t parameters = 0;
  std::optional<compress::Result> compression;
  int64_t packages = 1;
  models::PackedSummary packed;  // of one package
};

// Throws what convert() refuses of its options before it reads anything: InvalidArgument for a
// source that is a file (or, with random weights, is none), a family, numbers and ways to compress
// that there are not, and options of another family. For callers that have to fetch `source` first.
void check_convert_options(const std::filesystem::path& source, const ConvertOptions& options);

// `output` is X.mlpackage, or a folder for the families of several packages; what is there is
// replaced as a whole when everything is written, and only where it is of that kind or empty, else
// left as it was. Throws as check_convert_options(), models::build(), compress::compress() and
// mil::write_package(); Cancelled.
ConvertResult convert(const std::filesystem::path& source, const std::filesystem::path& output,
                      const ConvertOptions& options = {});

}  // namespace pippin::app
