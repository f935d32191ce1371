// Converts a Hugging Face model folder, or a package made from one, into a Core ML package or a
// folder of packages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pippin/app/convert/compress_options.h"
#include "pippin/app/convert/package_output.h"
#include "pippin/compress/compress.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/registry.h"

namespace pippin::app {

inline constexpr uint64_t kMaxChunkBytesIos = 950'000'000;
inline constexpr uint64_t kMaxChunkBytesMacos = 2'000'000'000;

// Of images, in pixels.
struct ImageSize {
  int64_t height = 0, width = 0;
};
inline constexpr int64_t kMaxImageSide = 8192;

struct ConvertOptions {
  // "stateful": one package, or, if the output is a folder and the model has a vision tower, those
  // of both; "anemll": embeddings, chunks with functions for one token and for a
  // batch over one state, and a head; "windowed": chunks with their caches as inputs and outputs;
  // "encoder": one package that embeds or scores texts (also used for "stateful" if the folder
  // holds such a model); "whisperkit": the packages of a Whisper model.
  std::string family = "stateful";
  // The maximum number of tokens; 0: the model's own, at most 2048 (windowed: 131072; encoder:
  // 8192; whisperkit: 224).
  int64_t context = 0;
  // A PEFT adapter (LoRA) to merge into the weights; empty: none.
  std::filesystem::path fused_adapter;
  // The form of RMS norms: "plain", as Hugging Face's exporters write them; "safe", which does not
  // overflow in fp16; empty: the family's default, plain for stateful and safe for the others.
  // anemll has no plain ones.
  std::string norms;
  // The source is a config.json and the weights are random: for measuring speed.
  bool random_weights = false;

  // stateful: The numbers of tokens per run; empty: any number, up to the context.
  std::vector<int64_t> query_lengths;
  // Above 0: adds a function "prefill" that takes this many tokens at a time.
  int64_t prefill_length = 0;
  // PEFT adapters, each exported as a function with its name; they share the weights.
  std::vector<models::NamedAdapter> adapters;

  // stateful, with a vision tower: The size of the images that the tower's package takes; only for
  // towers that take any. Whether the tower is compressed, too.
  std::optional<ImageSize> image_size;
  bool compress_vision = false;
  // For a GGUF file: that of its vision tower; empty: none.
  std::filesystem::path mmproj = {};

  // anemll and windowed: The prefix of the packages' names; empty: the architecture's name (anemll)
  // or the model's (windowed).
  std::string prefix;

  // anemll:
  int64_t batch = 0;   // tokens per prefill, at most 4096; 0: 64, or what the model allows
  int64_t chunks = 0;  // 0: the fewest whose packages have at most max_chunk_bytes
  uint64_t max_chunk_bytes = kMaxChunkBytesIos;
  bool argmax_in_model = false;  // the head returns the best token of each part instead of logits

  // windowed:
  int64_t blocks_per_chunk = 3;  // layers per chunk
  int64_t window = 64;           // tokens per step, at most 4096
  int64_t cache = 448;           // tokens before the window, at most 2^20

  // Without a compression method, weights are fp16. Calibration with a text is supported for
  // stateful only: it first writes the fp16 package next to the output.
  CompressOptions compression;
  // Called with the bytes of weights written so far and the total; may throw to cancel. May be
  // null.
  std::function<void(uint64_t done, uint64_t total)> progress = nullptr;
};

struct ConvertResult : PackageOutput {
  std::string architecture;
  int64_t context = 0;
  int64_t parameters = 0;
  std::optional<compress::Result> compression;
  int64_t packages = 1;
  models::PackedSummary packed;  // of the family `stateful`
};

// Throws convert()'s errors about options, before anything is read: InvalidArgument for a source
// that is a file (or, with random weights, is not), for an unknown family or compression method,
// for invalid numbers, and for options of another family. For callers that must download `source`
// first.
void check_convert_options(const std::filesystem::path& source, const ConvertOptions& options);

// `output` is X.mlpackage, or a folder for several packages. It is replaced only
// after everything has been written, only if it is of the same kind or empty, and unchanged after
// an error. Throws as check_convert_options(), models::build(), compress::compress() and
// mil::write_package(); Cancelled.
ConvertResult convert(const std::filesystem::path& source, const std::filesystem::path& output,
                      const ConvertOptions& options = {});

}  // namespace pippin::app
