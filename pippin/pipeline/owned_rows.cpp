#include "pippin/pipeline/owned_rows.h"

#include <algorithm>

#include "pippin/base/error.h"

namespace pippin::pipeline {
namespace {

std::vector<int> owners_of_groups(const engine::StateRows& rows, const std::vector<int>& slices) {
  if (slices.empty()) return std::vector<int>(rows.groups, 0);
  const auto owner_of = [&](uint64_t slice) { return std::max(slices[slice], 0); };
  std::vector<int> owners;
  owners.reserve(rows.groups);
  for (uint64_t group = 0; group < rows.groups; ++group) {
    const uint64_t first = group * slices.size() / rows.groups;
    const uint64_t end = std::max((group + 1) * slices.size() / rows.groups, first + 1);
    for (uint64_t slice = first + 1; slice < end; ++slice) {
      if (owner_of(slice) == owner_of(first)) continue;
      fail(ErrorCode::Unsupported, "{} groups of rows of a state with {} slices of several stages",
           rows.groups, slices.size());
    }
    owners.push_back(owner_of(first));
  }
  return owners;
}

}  // namespace

OwnedRows::OwnedRows(const engine::StateRows& rows, const std::vector<int>& slices, int owner)
    : rows_(rows) {
  const std::vector<int> owners = owners_of_groups(rows, slices);
  for (uint64_t group = 0; group < rows.groups; ++group) {
    if (owners[group] == owner) groups_.push_back(group);
  }
}

engine::StateRows OwnedRows::group(uint64_t number) const {
  engine::StateRows one = rows_;
  one.groups = 1;
  one.rows = rows_.groups * rows_.rows;
  one.first = number * rows_.rows + rows_.first;
  return one;
}

Message OwnedRows::read(const engine::State& state, size_t index) const {
  Message bytes(groups_.size() * rows_.group_bytes());
  std::byte* next = bytes.data();
  for (const uint64_t number : groups_) {
    state.read_rows(index, group(number), next, rows_.group_bytes());
    next += rows_.group_bytes();
  }
  return bytes;
}

void OwnedRows::write(engine::State& state, size_t index, ByteSpan bytes) const {
  if (bytes.size() != groups_.size() * rows_.group_bytes()) {
    fail(ErrorCode::Internal, "{} bytes for {} groups of {}", bytes.size(), groups_.size(),
         rows_.group_bytes());
  }
  const std::byte* next = bytes.data();
  for (const uint64_t number : groups_) {
    state.write_rows(index, group(number), next, rows_.group_bytes());
    next += rows_.group_bytes();
  }
}

void OwnedRows::copy(engine::State& to, size_t index, const engine::State& from) const {
  for (const uint64_t number : groups_) to.copy_rows(index, group(number), from);
}

engine::StateRows by_slices(const mil::Feature& feature, const engine::StateRows& rows) {
  const bool is_whole = rows.groups == 1 && rows.rows == 1 && rows.count == 1;
  if (!is_whole || feature.shape.empty() || feature.shape.front() < 1) return rows;
  const auto slices = static_cast<uint64_t>(feature.shape.front());
  return {.groups = slices, .rows = 1, .row_bytes = rows.row_bytes / slices, .count = 1};
}

}  // namespace pippin::pipeline
