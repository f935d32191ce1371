// Rows of a state on the ranks that have them.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/engine/state.h"
#include "pippin/pipeline/transport.h"

namespace pippin::pipeline {

// Of rows, the groups of them that a group of ranks has; nothing else of its memory is touched.
class OwnedRows {
 public:
  // `slices`: the owner of each slice of the state's first axis (Owners); those without one are
  // group 0's.
  // Throws Unsupported if slices of several owners are one group of rows.
  OwnedRows(const engine::StateRows& rows, const std::vector<int>& slices, int owner);

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
