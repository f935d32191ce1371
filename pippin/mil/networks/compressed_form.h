// Weights in fewer bits than fp32: their elements, and the meaning of these.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "pippin/mil/value.h"

namespace pippin::mil::networks {

struct CompressedForm {
  static constexpr int kHalves = 16;

  std::shared_ptr<const TensorSource> elements;  // fp16, or numbers of one byte each
  int bits = kHalves;                            // 1 to 8 for numbers
  bool is_signed = false;
  // The meaning of numbers: 2^bits values for each group, or a scale and a bias for each group.
  std::vector<float> table, scale, bias;
  // Element i belongs to channel i / inner % channels. Groups are equally many channels in a row.
  int64_t inner = 1, channels = 1;

  bool is_linear() const { return bits != kHalves && table.empty(); }
  int64_t groups() const {
    if (bits == kHalves) return 1;
    return std::max<int64_t>(1, is_linear() ? std::ssize(scale) : std::ssize(table) >> bits);
  }
};

// The form of several weights, one after the other; nothing if they have no form in common.
std::optional<CompressedForm> joined_form(const std::vector<std::optional<CompressedForm>>& parts);
// The form of a matrix [rows, columns] as [columns, rows]; nothing if it has groups along both.
std::optional<CompressedForm> transposed_form(CompressedForm form, int64_t rows, int64_t columns);

}  // namespace pippin::mil::networks
