// Weights in another order than in their file: transposed, or some of their rows.
#include <algorithm>
#include <cstring>

#include "pippin/base/error.h"
#include "pippin/base/numbers/ranges.h"
#include "pippin/mil/derived_source.h"
#include "pippin/nn/weights/weight_source.h"

namespace pippin::nn {
namespace {

class TransposedSource : public mil::DerivedSource {
 public:
  TransposedSource(std::shared_ptr<const mil::TensorSource> source, uint64_t rows, uint64_t columns,
                   size_t element)
      : source_(std::move(source)), rows_(rows), columns_(columns), element_(element) {}

  uint64_t size() const override { return source_->size(); }
  void release() const noexcept override { source_->release(); }
  bool describe(mil::Recipe& recipe) const override {
    recipe.step("transposed").number(static_cast<int64_t>(rows_));
    recipe.number(static_cast<int64_t>(columns_)).number(static_cast<int64_t>(element_));
    return mil::describe_source(*source_, recipe);
  }

  // Whole rows at a time: adjacent data in the source is read once for all of them.
  void read(uint64_t offset, MutableByteSpan out) const override {
    const uint64_t row_bytes = columns_ * element_;
    while (!out.empty()) {
      const uint64_t row = offset / row_bytes, inside = offset % row_bytes;
      const uint64_t whole = inside == 0 ? std::min(out.size() / row_bytes, rows_ - row) : 0;
      if (whole > 0) {
        read_rows(row, whole, out.data());
        offset += whole * row_bytes;
        out = out.subspan(whole * row_bytes);
        continue;
      }
      std::vector<std::byte> one(row_bytes);
      read_rows(row, 1, one.data());
      const uint64_t taken = std::min<uint64_t>(row_bytes - inside, out.size());
      std::memcpy(out.data(), one.data() + inside, taken);
      offset += taken;
      out = out.subspan(taken);
    }
  }

 private:
  void read_rows(uint64_t first, uint64_t count, std::byte* out) const {
    std::vector<std::byte> strip(count * element_);
    for (uint64_t column = 0; column < columns_; ++column) {
      source_->read((column * rows_ + first) * element_, strip);
      for (uint64_t row = 0; row < count; ++row) {
        std::memcpy(out + (row * columns_ + column) * element_, strip.data() + row * element_,
                    element_);
      }
    }
  }

  std::shared_ptr<const mil::TensorSource> source_;
  uint64_t rows_, columns_;
  size_t element_;
};

class RowsSource : public mil::DerivedSource {
 public:
  RowsSource(std::shared_ptr<const mil::TensorSource> source, uint64_t row_bytes,
             const std::vector<int64_t>& rows)
      : source_(std::move(source)) {
    for (const int64_t row : rows) {
      const uint64_t from = static_cast<uint64_t>(row) * row_bytes;
      if (!runs_.empty() && runs_.back().from + runs_.back().bytes == from) {
        runs_.back().bytes += row_bytes;
      } else {
        runs_.push_back({size_, from, row_bytes});
      }
      size_ += row_bytes;
    }
  }

  uint64_t size() const override { return size_; }
  void release() const noexcept override { source_->release(); }

  bool describe(mil::Recipe& recipe) const override {
    recipe.step("rows").number(static_cast<int64_t>(runs_.size()));
    for (const Run& run : runs_) {
      recipe.number(static_cast<int64_t>(run.from)).number(static_cast<int64_t>(run.bytes));
    }
    return mil::describe_source(*source_, recipe);
  }

  ByteSpan view() const override {
    if (runs_.size() != 1 || source_->view().empty()) return {};
    return source_->view().subspan(runs_[0].from, runs_[0].bytes);
  }

  std::vector<ByteSpan> pieces() const override {
    const ByteSpan all = source_->view();
    std::vector<ByteSpan> pieces;
    if (all.empty()) return pieces;
    for (const Run& run : runs_) pieces.push_back(all.subspan(run.from, run.bytes));
    return pieces;
  }

  void read(uint64_t offset, MutableByteSpan out) const override {
    auto run = std::upper_bound(runs_.begin(), runs_.end(), offset,
                                [](uint64_t at, const Run& other) { return at < other.to; });
    for (--run; !out.empty(); ++run) {
      const uint64_t inside = offset - run->to;
      const uint64_t taken = std::min<uint64_t>(run->bytes - inside, out.size());
      source_->read(run->from + inside, out.first(taken));
      offset += taken;
      out = out.subspan(taken);
    }
  }

 private:
  struct Run {
    uint64_t to, from, bytes;  // offsets here and in the source
  };
  std::shared_ptr<const mil::TensorSource> source_;
  std::vector<Run> runs_;
  uint64_t size_ = 0;
};

class JoinedSource : public mil::DerivedSource {
 public:
  explicit JoinedSource(std::vector<std::shared_ptr<const mil::TensorSource>> parts)
      : parts_(std::move(parts)) {}

  uint64_t size() const override {
    uint64_t total = 0;
    for (const auto& part : parts_) total += part->size();
    return total;
  }
  void release() const noexcept override {
    for (const auto& part : parts_) part->release();
  }
  bool describe(mil::Recipe& recipe) const override {
    recipe.step("joined").number(static_cast<int64_t>(parts_.size()));
    return std::all_of(parts_.begin(), parts_.end(),
                       [&](const auto& part) { return mil::describe_source(*part, recipe); });
  }

  std::vector<ByteSpan> pieces() const override {
    std::vector<ByteSpan> pieces;
    for (const auto& part : parts_) {
      const std::vector<ByteSpan> own = mil::pieces_of(*part);
      if (own.empty()) return {};
      pieces.insert(pieces.end(), own.begin(), own.end());
    }
    return pieces;
  }

  void read(uint64_t offset, MutableByteSpan out) const override {
    for (const auto& part : parts_) {
      if (out.empty()) return;
      if (offset >= part->size()) {
        offset -= part->size();
        continue;
      }
      const uint64_t taken = std::min<uint64_t>(part->size() - offset, out.size());
      part->read(offset, out.first(taken));
      out = out.subspan(taken);
      offset = 0;
    }
  }

 private:
  std::vector<std::shared_ptr<const mil::TensorSource>> parts_;
};

class BytesSource : public mil::TensorSource {
 public:
  explicit BytesSource(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}

  uint64_t size() const override { return bytes_.size(); }
  ByteSpan view() const override { return bytes_; }
  void read(uint64_t offset, MutableByteSpan out) const override {
    const ByteSpan part = ByteSpan(bytes_).subspan(offset, out.size());
    ranges::copy(part, out.begin());
  }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace

std::shared_ptr<const mil::TensorSource> joined_source(
    std::vector<std::shared_ptr<const mil::TensorSource>> parts) {
  return std::make_shared<JoinedSource>(std::move(parts));
}

std::shared_ptr<const mil::TensorSource> bytes_source(std::vector<std::byte> bytes) {
  return std::make_shared<BytesSource>(std::move(bytes));
}

std::shared_ptr<const mil::TensorSource> transposed_source(
    std::shared_ptr<const mil::TensorSource> source, uint64_t rows, uint64_t columns,
    size_t element_bytes) {
  return std::make_shared<TransposedSource>(std::move(source), rows, columns, element_bytes);
}

std::shared_ptr<const mil::TensorSource> rows_source(
    std::shared_ptr<const mil::TensorSource> source, uint64_t row_bytes,
    const std::vector<int64_t>& rows) {
  for (const int64_t row : rows) {
    if (row < 0 || static_cast<uint64_t>(row) >= source->size() / row_bytes) {
      fail(ErrorCode::Internal, "row {} of a weight of {} bytes, {} a row", row, source->size(),
           row_bytes);
    }
  }
  return std::make_shared<RowsSource>(std::move(source), row_bytes, rows);
}

}  // namespace pippin::nn
