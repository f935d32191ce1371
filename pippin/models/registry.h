// From a Hugging Face model folder, or another source of models/model_source.h, to a recorded
// program.
//
// build() reads config.json, looks its model_type up in the list of registry.cpp, lets that
// architecture's file describe the model, and records it in the `stateful` family's form: inputIds
// and causalMask in, keyCache and valueCache as states, logits out. The weights stay in the
// checkpoint's mapped files until a package is written or a plan is made.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/io/checkpoint.h"
#include "pippin/io/json.h"
#include "pippin/mil/package/package.h"
#include "pippin/nn/decoder.h"

namespace pippin::models {

// A LoRA adapter as a separate function, called by its name.
struct NamedAdapter {
  std::string name;
  std::filesystem::path folder;
};

using PackedMatrices = std::vector<std::pair<std::string, nn::PackedPtr>>;

// Matrices that a checkpoint holds packed, and the change by rounding their scales to fp16 in a
// package: the root of the mean square, relative to that of the values.
struct PackedSummary {
  int64_t matrices = 0;
  double error = 0, largest = 0;
  std::string worst;  // whose error is the largest
};
PackedSummary packed_summary(const PackedMatrices& all);

struct BuildOptions {
  // Largest number of positions of the program; 0: the model's own, at most 2048, or, with
  // `context_memory`, as many as one sequence of that many bytes can have (families/package.h,
  // kOwnContextKey).
  int64_t context = 0;
  uint64_t context_memory = 0;
  // Numbers of tokens per run: empty for any number up to the context, one for that number only,
  // several for each of them (enumerated shapes).
  std::vector<int64_t> query_lengths;
  // Above zero: a second function, "prefill", takes this many tokens.
  int64_t prefill_length = 0;
  // Also the function that takes rows of embeddings (families/stateful.h), if the architecture
  // reads pictures.
  bool rows = false;
  // Also the function of the multi-token prediction layer, if the checkpoint has one whose form is
  // known.
  bool prediction = false;
  // PEFT adapters (nn/weights/lora.h): one whose changes become part of the weights, and those that
  // become further functions that share the weights ("NAME", and "prefill_NAME" with
  // prefill_length).
  std::filesystem::path fused_adapter;
  std::vector<NamedAdapter> adapters;
  // Adapters of which each run says how much of their changes it adds: the functions have a further
  // input (families::stateful::kAdapterNumbers). `half_adapters`: their fp32 matrices are rounded
  // to fp16.
  std::vector<std::filesystem::path> run_adapters;
  bool half_adapters = false;
  enum class Compute {
    Float16Package,  // fp16 throughout, as Core ML runs it
    Float32Direct,   // fp32 activations and states, weights in the checkpoint's types
  };
  Compute compute = Compute::Float16Package;
  // RMS norms as layer norms over [x, -x], which do not overflow in fp16 (nn::Style).
  bool doubled_norms = false;
  // Receives the matrices that the checkpoint holds packed (nn/weights/packed_matrix.h), by name.
  PackedMatrices* packed = nullptr;
  // Further outputs for comparisons: hidden_states_0 (the embedding), hidden_states_1, ... after
  // each layer, and a last one after the final norm.
  bool layer_outputs = false;
};

// Throws NotFound (no config.json, no weights, a missing tensor), Unsupported (an unknown
// architecture or setting, by name), InvalidFile (impossible values or shapes).
mil::Model build(const std::filesystem::path& source, const BuildOptions& options = {});

// A model as its folder describes it; no weights are opened.
struct Description {
  std::string name;  // model_name()
  std::string model_type, class_name;
  nn::DecoderOptions decoder;
};
Description describe(const std::filesystem::path& source);

// The configuration, tokenizer and chat templates of the folder (io/model_files.h), for
// write_package.
std::vector<mil::ExtraFile> package_files(const std::filesystem::path& source);
// The same for a folder of packages: items are empty.
std::vector<mil::ExtraFile> folder_files(const std::filesystem::path& source);

// The model's name on the Hub if known ("org/name"): from the Hub's cache layout or the
// configuration, else the folder's name.
std::string model_name(const std::filesystem::path& hf_folder, const Json& config);

// Elements of all weights of a built model (without tables and zero biases).
int64_t num_parameters(const mil::Model& model);

// "llama", "mistral", ...: model types that build() supports, sorted.
std::vector<std::string_view> known_model_types();

}  // namespace pippin::models
