// Differences between two models: packages, folders of packages, or folders with checkpoints.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pippin/app/facts/weight_diff.h"

namespace pippin::app {

// A fact of both models; empty where a model lacks it.
struct FactChange {
  std::string place;  // "main, input inputIds"
  std::string a, b;
};

struct OperationChange {
  std::string function, type;
  int64_t a = 0, b = 0;  // how many
};

// A text file that differs: the tokenizer, the configuration, a chat template.
struct TextChange {
  std::string name;
  bool in_a = false, in_b = false;
  int64_t removed = 0, added = 0;  // lines, compared as sets with counts
};

// Of a run of the model on this machine.
struct SpeedChange {
  std::string name;     // "prompt of 128 tokens", "decode of 32 tokens"
  double a = 0, b = 0;  // tokens per second, medians
};

// One program of each model: the only one, or those of one name.
struct ProgramDiff {
  std::string name;  // of the package in a folder; empty for a single one
  std::vector<FactChange> interface;
  std::vector<OperationChange> operations;
  WeightDiff weights;
};

struct ModelDiff {
  std::vector<FactChange> packages;  // programs that one model lacks
  std::vector<ProgramDiff> programs;
  std::vector<TextChange> texts;
  int64_t equal_texts = 0;
  std::vector<SpeedChange> speed;  // empty unless measured

  // Whether programs, weights and texts are equal.
  bool is_equal() const;
};

struct DiffOptions {
  bool speed = false;  // runs both models
  int repetitions = 3;
  int threads = 0;                                                   // of runs; 0: one per core
  std::function<void(uint64_t done, uint64_t total)> progress = {};  // weights; may be null
};

// Of models on this machine. A checkpoint's folder is compared as the program that `convert` makes
// of it. Throws the errors of reading them.
ModelDiff compare_models(const std::filesystem::path& a, const std::filesystem::path& b,
                         const DiffOptions& options);

// A JSON object.
std::string to_json(const ModelDiff& diff);

}  // namespace pippin::app
