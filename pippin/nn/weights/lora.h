// LoRA adapters: matrices of a model become W + scale * B A with two narrow ones (Hu et al., "LoRA:
// Low-Rank Adaptation of Large Language Models", 2021).
//
// A folder in PEFT's form holds adapter_config.json and adapter_model.safetensors (or .bin). Per
// matrix there are lora_A (rank, in) and lora_B (out, rank), for a table of embeddings
// lora_embedding_A (rank, rows) and lora_embedding_B (features, rank); with DoRA also
// lora_magnitude_vector (out), the lengths that the rows of the sum have. A tensor with none of
// these names (trained biases, modules_to_save) replaces the model's own. mlx-lm's adapters are
// read as well (mlx_adapter.h), and llama.cpp's (models/gguf/gguf_adapter.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/checkpoint.h"
#include "pippin/mil/data_type.h"
#include "pippin/mil/value.h"

namespace pippin::nn {

struct AdapterRows;

// The change of one matrix: names of its tensors in the adapter's files.
struct LowRank {
  std::string a, b;
  std::string magnitude;  // of DoRA; empty: none
  int64_t rank = 0;
  double scale = 1.0;
  bool embedding = false;
};

class LoraAdapter {
 public:
  // Throws NotFound (no adapter there), Unsupported (another kind of adapter, or an unknown setting
  // that changes the result, by name), InvalidFile.
  static std::shared_ptr<const LoraAdapter> open(const std::filesystem::path& folder,
                                                 bool is_of_other_form = false);

  // An adapter whose tensors have PEFT's names. `scale_of`: of a module and its rank. Throws as the
  // other one.
  struct Source {
    std::filesystem::path path;
    Checkpoint checkpoint;
    std::function<double(const std::string& module, int64_t rank)> scale_of;
    bool needs_magnitudes = false;  // it is DoRA's
    bool is_of_other_form = false;
  };
  static std::shared_ptr<const LoraAdapter> make(Source source);

  const std::filesystem::path& path() const { return path_; }
  // Whether it is made for the other form of the model's checkpoint: Hugging Face's for a GGUF, or
  // the reverse (nn/weights/adapter_rows.h).
  bool is_of_other_form() const { return is_of_other_form_; }
  const std::shared_ptr<const Checkpoint>& checkpoint() const { return checkpoint_; }
  // The change of a module's matrix ("model.layers.0.self_attn.q_proj"), and the adapter's name of
  // a tensor that it replaces; nullptr if none. A module's path may lack the adapter's prefix: a
  // checkpoint of the bare model.
  const LowRank* change_of(std::string_view module) const;
  const std::string* replacement_of(std::string_view tensor) const;
  // The names of the adapter's tensors that replace one of the model's, by the names of these.
  const std::map<std::string, std::string, std::less<>>& replacements() const {
    return replacements_;
  }

 private:
  void add(const std::string& name);
  void check(const std::string& module, LowRank& change, bool needs_magnitude) const;

  std::filesystem::path path_;
  bool is_of_other_form_ = false;
  std::shared_ptr<const Checkpoint> checkpoint_;
  std::map<std::string, LowRank, std::less<>> changes_;           // by module
  std::map<std::string, std::string, std::less<>> replacements_;  // by tensor
};

// Throws InvalidFile, naming both shapes, if the change does not fit a matrix (rows, columns).
void check_change(const LoraAdapter& adapter, const LowRank& change, int64_t rows, int64_t columns);

// The matrix (rows, columns) of `base`, fp32, plus the change, as elements of `type` (fp16 or
// fp32). `taken`: the rows of lora_B, if not all in their order. Throws like check_change.
std::shared_ptr<const mil::TensorSource> fused_source(std::shared_ptr<const mil::TensorSource> base,
                                                      std::shared_ptr<const LoraAdapter> adapter,
                                                      const LowRank& change, std::string_view name,
                                                      int64_t rows, int64_t columns,
                                                      mil::DataType type, const AdapterRows& taken);

}  // namespace pippin::nn
