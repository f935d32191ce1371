// Rows of a state on the rank that has them.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/engine/state.h"
#include "pippin/pipeline/transport.h"

namespace pippin::pipeline {

// Of rows, the groups that a rank has; nothing else of its memory is touched.
class OwnedRows {
 public:
  // `slices`: the rank of each slice of the state's first axis (Owners); rank 0 has slices without
  // a rank. Throws Unsupported if a group has slices of several ranks.
  OwnedRows(const engine::StateRows& rows, const std::vector<int>& slices, int rank);

  const std::vector<uint64_t>& groups() const { return groups_; }
  // The bytes of the groups, one after another.
  Message read(const engine::State& state, size_t index) const;
  void write(engine::State& state, size_t index, ByteSpan bytes) const;
  void copy(engine::State& to, size_t index, const engine::State& from) const;

 private:
  engine::StateRows group(uint64_t number) const;

  engine::StateRows rows_;
  std::vector<uint64_t> groups_;
};

// The rows of a whole array as rows of its slices; other rows as they are.
engine::StateRows by_slices(const mil::Feature& feature, const engine::StateRows& rows);

}  // namespace pippin::pipeline
