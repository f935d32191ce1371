#include "pippin/mil/networks/float_source.h"

#include <algorithm>
#include <cstring>

#include "pippin/base/error.h"
#include "pippin/mil/networks/weights.h"

namespace pippin::mil::networks {
namespace {

constexpr size_t kBlock = 4096;  // elements

class JoinedSource : public FloatSource {
 public:
  JoinedSource(int64_t count, std::vector<std::shared_ptr<const TensorSource>> parts)
      : FloatSource(count), parts_(std::move(parts)) {}

  void elements(size_t first, std::span<float> out) const override {
    for (const auto& part : parts_) {
      const size_t count = part->size() / sizeof(float);
      if (first >= count) {
        first -= count;
        continue;
      }
      const size_t taken = std::min(count - first, out.size());
      part->read(first * sizeof(float), std::as_writable_bytes(out.first(taken)));
      out = out.subspan(taken);
      first = 0;
      if (out.empty()) return;
    }
  }
  bool describe(Recipe& recipe) const override {
    recipe.step("joined").number(std::ssize(parts_));
    return std::all_of(parts_.begin(), parts_.end(),
                       [&](const auto& part) { return describe_source(*part, recipe); });
  }

 private:
  const std::vector<std::shared_ptr<const TensorSource>> parts_;
};

class TransposedSource : public FloatSource {
 public:
  TransposedSource(std::shared_ptr<const TensorSource> source, int64_t rows, int64_t columns)
      : FloatSource(rows * columns),
        source_(std::move(source)),
        rows_(static_cast<size_t>(rows)),
        columns_(static_cast<size_t>(columns)) {}

  // Reads the needed columns of a row at a time.
  void elements(size_t first, std::span<float> out) const override {
    if (out.empty()) return;
    const size_t begin = first / rows_, end = (first + out.size() - 1) / rows_ + 1;
    std::vector<float> part(end - begin);
    for (size_t row = 0; row < rows_; ++row) {
      source_->read((row * columns_ + begin) * sizeof(float),
                    std::as_writable_bytes(std::span(part)));
      for (size_t column = begin; column < end; ++column) {
        const size_t index = column * rows_ + row;
        if (index >= first && index - first < out.size()) out[index - first] = part[column - begin];
      }
    }
  }
  bool describe(Recipe& recipe) const override {
    recipe.step("transposed").number(static_cast<int64_t>(rows_));
    return describe_source(*source_, recipe);
  }

 private:
  const std::shared_ptr<const TensorSource> source_;
  const size_t rows_, columns_;
};

class ValuesSource : public FloatSource {
 public:
  explicit ValuesSource(const std::vector<float>& values)
      : FloatSource(std::ssize(values)), values_(values) {}
  ByteSpan view() const override { return std::as_bytes(std::span(values_)); }
  void elements(size_t first, std::span<float> out) const override {
    std::copy_n(values_.begin() + static_cast<ptrdiff_t>(first), out.size(), out.begin());
  }
  bool describe(Recipe& recipe) const override {
    recipe.step("values").bytes(view());
    return true;
  }

 private:
  const std::vector<float> values_;
};

}  // namespace

void FloatSource::read(uint64_t offset, MutableByteSpan out) const {
  if (offset > size() || out.size() > size() - offset) {
    fail(ErrorCode::InvalidArgument, "bytes {} to {} of {} bytes of weights", offset,
         offset + out.size(), size());
  }
  const auto address = reinterpret_cast<uintptr_t>(out.data());
  if (offset % sizeof(float) == 0 && out.size() % sizeof(float) == 0 &&
      address % alignof(float) == 0) {
    return elements(offset / sizeof(float),
                    {reinterpret_cast<float*>(out.data()), out.size() / sizeof(float)});
  }
  std::vector<float> block(kBlock);
  while (!out.empty()) {
    const size_t first = offset / sizeof(float), skipped = offset % sizeof(float);
    const size_t count = std::min(kBlock, static_cast<size_t>(count_) - first);
    elements(first, std::span(block).first(count));
    const size_t bytes = std::min(out.size(), count * sizeof(float) - skipped);
    std::memcpy(out.data(), reinterpret_cast<const std::byte*>(block.data()) + skipped, bytes);
    out = out.subspan(bytes);
    offset += bytes;
  }
}

std::shared_ptr<const TensorSource> joined_source(
    std::vector<std::shared_ptr<const TensorSource>> parts) {
  if (parts.size() == 1) return parts.front();
  uint64_t bytes = 0;
  for (const auto& part : parts) bytes += part->size();
  return std::make_shared<JoinedSource>(static_cast<int64_t>(bytes / sizeof(float)),
                                        std::move(parts));
}

std::shared_ptr<const TensorSource> transposed_source(std::shared_ptr<const TensorSource> source,
                                                      int64_t rows, int64_t columns) {
  return std::make_shared<TransposedSource>(std::move(source), rows, columns);
}

std::shared_ptr<const TensorSource> float_source(const std::vector<float>& values) {
  return std::make_shared<ValuesSource>(values);
}

}  // namespace pippin::mil::networks
