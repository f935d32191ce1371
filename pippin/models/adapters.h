// LoRA adapters for a described model, in any form: PEFT's, mlx-lm's and llama.cpp's.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "pippin/io/json.h"
#include "pippin/models/registry.h"
#include "pippin/nn/decoder.h"
#include "pippin/nn/weights/lora.h"

namespace pippin::models {

// Opens the adapters of a model and, for adapters of GGUF on a Hugging Face model, completes its
// description.
class AdapterOpener {
 public:
  // `paths`: all that will be opened. `model` has to outlive this. Throws as open().
  AdapterOpener(Json config, const std::vector<std::filesystem::path>& paths,
                nn::DecoderOptions& model);

  // Throws like LoraAdapter::open() and open_gguf_adapter(); Unsupported for an adapter that
  // replaces a matrix which the model's form of files may have in another order.
  std::shared_ptr<const nn::LoraAdapter> open(const std::filesystem::path& path) const;

 private:
  Json config_;
  const nn::DecoderOptions& model_;
};

// All adapters of the options.
std::vector<std::filesystem::path> adapter_paths(const BuildOptions& options);

}  // namespace pippin::models
