// Goldens of mixtures of experts, rewritten as transformers 5 holds them: gate and up of all
// experts of a layer in one tensor, down in another, below "mlp" where older classes have
// "block_sparse_moe". Equal logits.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/io/checkpoint.h"
#include "pippin/io/npz.h"
#include "pippin/io/safetensors_writer.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/sequence.h"
#include "pippin/runtime/stateful/model.h"
#include "tests/golden_testing.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using testing_models::Golden;

// One expert's matrix: "PATH.experts.3.w1.weight".
struct Matrix {
  std::string path;  // to "experts"
  int64_t expert = 0;
  size_t part = 0;  // gate, up, down
};

std::optional<Matrix> matrix_of(const std::string& name) {
  constexpr std::array<std::pair<const char*, size_t>, 6> kParts = {
      {{"gate_proj", 0}, {"w1", 0}, {"up_proj", 1}, {"w3", 1}, {"down_proj", 2}, {"w2", 2}}};
  const size_t place = name.find(".experts.");
  if (place == name.npos || !name.ends_with(".weight")) return std::nullopt;
  const std::string rest = name.substr(place + 9);
  const size_t dot = rest.find('.');
  if (rest.find_first_not_of("0123456789") != dot) return std::nullopt;
  const std::string part = rest.substr(dot + 1, rest.size() - dot - 8);
  for (const auto& [known, index] : kParts) {
    if (part == known) return Matrix{name.substr(0, place + 8), std::stoll(rest), index};
  }
  return std::nullopt;
}

// All experts of a layer: matrices by expert, then by part; a model without gates has two parts.
using Layer = std::map<int64_t, std::map<size_t, const TensorInfo*>>;

struct Written {
  SafetensorsWriter::Declaration declaration;
  std::string bytes;
};

void append(std::string& to, const TensorInfo& tensor) {
  to.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
}

std::string in_mlp(std::string name) {
  const std::string old = ".block_sparse_moe.";
  const size_t place = name.find(old);
  return place == name.npos ? name : name.replace(place, old.size(), ".mlp.");
}

// The tensors of one part, or of gate and up, of all experts.
Written stack_of(const std::string& name, const Layer& layer, const std::vector<size_t>& parts) {
  const TensorInfo& first = *layer.begin()->second.at(parts.front());
  Written result{{in_mlp(name),
                  first.dtype,
                  {std::ssize(layer), std::ssize(parts) * first.shape.at(0), first.shape.at(1)}},
                 {}};
  for (const auto& [index, own] : layer) {
    for (const size_t part : parts) append(result.bytes, *own.at(part));
  }
  return result;
}

// False for a checkpoint without modules of experts.
bool write_fused(const fs::path& folder, const fs::path& to) {
  const Checkpoint checkpoint = Checkpoint::open(folder);
  std::map<std::string, Layer> layers;
  std::vector<Written> all;
  for (const std::string& name : checkpoint.names()) {
    const TensorInfo& tensor = checkpoint.at(name);
    if (const auto matrix = matrix_of(name)) {
      layers[matrix->path][matrix->expert][matrix->part] = &tensor;
    } else if (name.find(".experts.0.") != name.npos) {
      return false;  // quantized, or with biases
    } else {
      all.push_back({{in_mlp(name), tensor.dtype, tensor.shape}, {}});
      append(all.back().bytes, tensor);
    }
  }
  if (layers.empty()) return false;
  for (const auto& [path, layer] : layers) {
    const bool gated = layer.begin()->second.contains(0);
    all.push_back(gated ? stack_of(path + ".gate_up_proj", layer, {0, 1})
                        : stack_of(path + ".up_proj", layer, {1}));
    all.push_back(stack_of(path + ".down_proj", layer, {2}));
  }
  std::vector<SafetensorsWriter::Declaration> declarations;
  declarations.reserve(all.size());
  for (const Written& one : all) declarations.push_back(one.declaration);
  SafetensorsWriter writer(to / "model.safetensors", declarations);
  for (const Written& one : all) writer.append(std::as_bytes(std::span(one.bytes)));
  writer.finish();
  fs::copy_file(folder / "config.json", to / "config.json");
  return true;
}

std::vector<float> logits_of(const fs::path& folder, const std::vector<int32_t>& prompt) {
  const mil::Model model = models::build(
      folder, {.context = 128, .compute = models::BuildOptions::Compute::Float32Direct});
  ThreadPool pool(1);
  return runtime::make_stateful_model(model, pool, {})->new_sequence()->all_logits(prompt);
}

// The number of models that have experts.
int expect_equal_logits(const std::vector<fs::path>& folders) {
  int count = 0;
  for (const fs::path& folder : folders) {
    if (!fs::exists(folder / "golden.npz") || !fs::exists(folder / "config.json")) continue;
    if (!NpzFile::open(folder / "golden.npz").contains("gen_ids")) continue;
    // It has experts for pictures after those for text, and joins them apart.
    if (folder.filename() == "ernie4_5_vl_moe_text") continue;
    SCOPED_TRACE(folder.filename().string());
    const TempDir fused;
    if (!write_fused(folder, fused.path())) continue;
    ++count;
    std::vector<int32_t> prompt = Golden(folder).prompt;
    prompt.resize(std::min<size_t>(prompt.size(), 32));
    try {
      EXPECT_TRUE(logits_of(fused.path(), prompt) == logits_of(folder, prompt));
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
  return count;
}

TEST(FusedExperts, OfTheFirstGoldensHaveTheSameLogits) {
  PIPPIN_SHARED_ENTRIES_OR_SKIP(first, "architectures");
  EXPECT_GE(expect_equal_logits(first), 3);
  PIPPIN_SHARED_ENTRIES_OR_SKIP(second, "architectures2");
  EXPECT_GE(expect_equal_logits(second), 8);
}

TEST(FusedExperts, OfNewGoldensHaveTheSameLogits) {
  PIPPIN_SHARED_ENTRIES_OR_SKIP(folders, "models2026/text");
  EXPECT_GE(expect_equal_logits(folders), 8);
}

}  // namespace
}  // namespace pippin
