#include "pippin/nn/weights/packed_matrix.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "pippin/base/error.h"

namespace pippin::nn {
namespace {

using Shift = PackedLayout::Shift;

// The layout of some rows: they share scales like before, or in smaller groups.
PackedLayout layout_of_rows(const PackedLayout& all, const std::vector<int64_t>& rows) {
  PackedLayout layout = all;
  layout.rows = static_cast<int64_t>(rows.size());
  const auto shares = [&](int64_t count) {
    for (size_t i = 0; i < rows.size(); ++i) {
      const size_t first = i - i % static_cast<size_t>(count);
      if (rows[i] / all.row_group != rows[first] / all.row_group) return false;
    }
    return true;
  };
  int64_t count = std::max<int64_t>(1, std::min(all.row_group, layout.rows));
  while (count > 1 && !shares(count)) count /= 2;
  layout.row_group = count;
  return layout;
}

// Whether these are the first rows, in their order.
bool are_first(const std::vector<int64_t>& rows) {
  int64_t next = 0;
  return std::all_of(rows.begin(), rows.end(), [&](int64_t row) { return row == next++; });
}

class PackedRows : public PackedMatrix {
 public:
  PackedRows(PackedPtr matrix, const std::vector<int64_t>& rows)
      : PackedMatrix(layout_of_rows(matrix->layout(), rows)),
        matrix_(std::move(matrix)),
        rows_(rows),
        first_(are_first(rows)) {
    if (matrix_->blocks() == nullptr) return;
    blocks_ = *matrix_->blocks();
    if (first_ && blocks_->order.empty()) {
      const auto all = static_cast<size_t>(blocks_->rows);
      blocks_->bytes = blocks_->bytes.first(blocks_->bytes.size() / all * rows_.size());
      blocks_->rows = static_cast<int64_t>(rows_.size());
      return;
    }
    std::vector<int64_t> order = rows_;
    if (!blocks_->order.empty()) {
      for (int64_t& row : order) row = blocks_->order[static_cast<size_t>(row)];
    }
    blocks_->order = std::move(order);
    blocks_->rows = static_cast<int64_t>(rows_.size());
  }

  void codes(int64_t row, std::span<uint8_t> out) const override {
    matrix_->codes(rows_[static_cast<size_t>(row)], out);
  }
  void scales(int64_t row, std::span<float> scales, std::span<float> shifts) const override {
    matrix_->scales(rows_[static_cast<size_t>(row)], scales, shifts);
  }
  bool describe(mil::Recipe& recipe) const override {
    recipe.step("packed rows").number(static_cast<int64_t>(rows_.size()));
    for (const int64_t row : rows_) recipe.number(row);
    return matrix_->describe(recipe);
  }
  void release() const noexcept override { matrix_->release(); }
  ByteSpan stream() const override {
    const uint64_t bits = static_cast<uint64_t>(layout().columns) *
                          static_cast<uint64_t>(layout().bits) * rows_.size();
    return first_ && bits % 8 == 0 && !matrix_->stream().empty() ? matrix_->stream().first(bits / 8)
                                                                 : ByteSpan();
  }
  const mil::StoredBlocks* blocks() const override { return blocks_ ? &*blocks_ : nullptr; }

 private:
  PackedPtr matrix_;
  std::vector<int64_t> rows_;
  bool first_;
  std::optional<mil::StoredBlocks> blocks_;
};

bool alike(const PackedLayout& a, const PackedLayout& b) {
  return a.rows == b.rows && a.columns == b.columns && a.bits == b.bits &&
         a.is_signed == b.is_signed && a.shift == b.shift && a.group == b.group &&
         a.row_group == b.row_group && a.palette == b.palette && a.order == b.order;
}

PackedLayout layout_of_parts(const std::vector<PackedPtr>& parts) {
  PackedLayout layout = parts.front()->layout();
  layout.row_group = std::gcd(layout.row_group, layout.rows);
  layout.rows *= static_cast<int64_t>(parts.size());
  return layout;
}

class PackedParts : public PackedMatrix {
 public:
  explicit PackedParts(std::vector<PackedPtr> parts)
      : PackedMatrix(layout_of_parts(parts)), parts_(std::move(parts)) {}

  void codes(int64_t row, std::span<uint8_t> out) const override {
    part(row).codes(row % part_rows(), out);
  }
  void scales(int64_t row, std::span<float> scales, std::span<float> shifts) const override {
    part(row).scales(row % part_rows(), scales, shifts);
  }
  bool describe(mil::Recipe& recipe) const override {
    recipe.step("packed parts").number(static_cast<int64_t>(parts_.size()));
    return std::all_of(parts_.begin(), parts_.end(),
                       [&](const PackedPtr& one) { return one->describe(recipe); });
  }
  void release() const noexcept override {
    for (const PackedPtr& one : parts_) one->release();
  }

 private:
  int64_t part_rows() const { return parts_.front()->layout().rows; }
  const PackedMatrix& part(int64_t row) const {
    return *parts_[static_cast<size_t>(row / part_rows())];
  }
  std::vector<PackedPtr> parts_;
};

}  // namespace

void packed_values(const PackedMatrix& matrix, int64_t row, std::span<float> out) {
  const PackedLayout& layout = matrix.layout();
  const auto groups = static_cast<size_t>(layout.groups());
  const bool shifted = layout.shift != Shift::None;
  std::vector<uint8_t> codes(out.size());
  std::vector<float> scales(groups), shifts(shifted ? groups : 0);
  matrix.codes(row, codes);
  matrix.scales(row, scales, shifts);
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t group = i / static_cast<size_t>(layout.group);
    if (!layout.palette.empty()) {
      out[i] = layout.palette[codes[i]] * scales[group];
      continue;
    }
    const auto code = static_cast<float>(layout.is_signed ? static_cast<int8_t>(codes[i])
                                                          : static_cast<int>(codes[i]));
    if (!shifted) {
      out[i] = code * scales[group];
    } else if (layout.shift == Shift::Bias) {
      out[i] = code * scales[group] + shifts[group];
    } else {
      out[i] = (code - shifts[group]) * scales[group];
    }
  }
}

PackedPtr packed_rows(PackedPtr matrix, const std::vector<int64_t>& rows) {
  for (const int64_t row : rows) {
    if (row < 0 || row >= matrix->layout().rows) {
      fail(ErrorCode::Internal, "row {} of a packed matrix of {}", row, matrix->layout().rows);
    }
  }
  return std::make_shared<PackedRows>(std::move(matrix), rows);
}

PackedPtr packed_joined(std::vector<PackedPtr> parts) {
  const PackedLayout& first = parts.front()->layout();
  const bool fit = std::all_of(parts.begin(), parts.end(),
                               [&](const PackedPtr& one) { return alike(first, one->layout()); });
  return fit ? std::make_shared<PackedParts>(std::move(parts)) : nullptr;
}

}  // namespace pippin::nn
