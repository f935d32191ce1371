// For tests that compare devices: rows of logits of a model.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pippin/runtime/batch.h"
#include "pippin/runtime/sequence.h"

namespace pippin {

// Returns the logits of prompts and steps of two sequences, alone, together and forked.
inline std::vector<std::vector<float>> rows_of(runtime::Model& model) {
  std::vector<std::vector<float>> rows;
  const auto keep = [&](std::span<const float> row) { rows.emplace_back(row.begin(), row.end()); };
  const auto one = model.new_sequence(), other = model.new_sequence();
  const std::vector<int32_t> prompt = {3, 17, 5, 22, 0};
  keep(one->prefill(prompt));
  keep(one->decode(9));
  keep(other->prefill(std::span(prompt).first(2)));
  runtime::Batch batch(model.shared_from_this());
  for (const int32_t id : {14, 1, 20}) {
    batch.clear();
    batch.add(*other, id);
    batch.add(*one, id + 1);
    batch.run();
    for (size_t i = 0; i < batch.size(); ++i) keep(batch.logits(i));
  }
  if (model.capabilities().fork) {
    const auto fork = one->fork();
    keep(fork->decode(2));
    keep(one->decode(2));
  }
  other->reset();
  keep(other->prefill(std::span(prompt).last(2)));
  return rows;
}

}  // namespace pippin
