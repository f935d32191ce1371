#include "pippin/mil/networks/element_source.h"

#include <algorithm>
#include <cstring>

#include "pippin/base/error.h"
#include "pippin/mil/networks/weights.h"

namespace pippin::mil::networks {
namespace {

constexpr size_t kBlock = 4096;  // elements

class JoinedSource : public ElementSource {
 public:
  JoinedSource(int64_t count, size_t width, std::vector<std::shared_ptr<const TensorSource>> parts)
      : ElementSource(count, width), parts_(std::move(parts)) {}

  void elements(size_t first, MutableByteSpan out) const override {
    uint64_t offset = first * width();
    for (const auto& part : parts_) {
      if (out.empty()) return;
      if (offset >= part->size()) {
        offset -= part->size();
        continue;
      }
      const auto taken = static_cast<size_t>(std::min<uint64_t>(part->size() - offset, out.size()));
      part->read(offset, out.first(taken));
      out = out.subspan(taken);
      offset = 0;
    }
  }
  std::optional<CompressedForm> compressed() const override {
    std::vector<std::optional<CompressedForm>> forms;
    forms.reserve(parts_.size());
    for (const auto& part : parts_) forms.push_back(compressed_form(*part));
    return joined_form(forms);
  }
  bool describe(Recipe& recipe) const override {
    recipe.step("joined").number(std::ssize(parts_));
    return std::all_of(parts_.begin(), parts_.end(),
                       [&](const auto& part) { return describe_source(*part, recipe); });
  }

 private:
  const std::vector<std::shared_ptr<const TensorSource>> parts_;
};

class TransposedSource : public ElementSource {
 public:
  TransposedSource(std::shared_ptr<const TensorSource> source, int64_t rows, int64_t columns,
                   size_t width)
      : ElementSource(rows * columns, width),
        source_(std::move(source)),
        rows_(static_cast<size_t>(rows)),
        columns_(static_cast<size_t>(columns)) {}

  // Reads the needed columns of a row at a time.
  void elements(size_t first, MutableByteSpan out) const override {
    if (out.empty()) return;
    const size_t wide = width(), count = out.size() / wide;
    const size_t begin = first / rows_, end = (first + count - 1) / rows_ + 1;
    std::vector<std::byte> part((end - begin) * wide);
    for (size_t row = 0; row < rows_; ++row) {
      source_->read((row * columns_ + begin) * wide, part);
      for (size_t column = begin; column < end; ++column) {
        const size_t index = column * rows_ + row;
        if (index < first || index - first >= count) continue;
        std::memcpy(&out[(index - first) * wide], &part[(column - begin) * wide], wide);
      }
    }
  }
  std::optional<CompressedForm> compressed() const override {
    std::optional<CompressedForm> form = compressed_form(*source_);
    if (!form) return std::nullopt;
    return transposed_form(std::move(*form), static_cast<int64_t>(rows_),
                           static_cast<int64_t>(columns_));
  }
  bool describe(Recipe& recipe) const override {
    recipe.step("transposed").number(static_cast<int64_t>(rows_));
    recipe.number(static_cast<int64_t>(width()));
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
  void floats(size_t first, std::span<float> out) const override {
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

void ElementSource::read(uint64_t offset, MutableByteSpan out) const {
  if (offset > size() || out.size() > size() - offset) {
    fail(ErrorCode::InvalidArgument, "bytes {} to {} of {} bytes of weights", offset,
         offset + out.size(), size());
  }
  const auto address = reinterpret_cast<uintptr_t>(out.data());
  if (offset % width_ == 0 && out.size() % width_ == 0 && address % width_ == 0) {
    return elements(offset / width_, out);
  }
  std::vector<std::byte> block(kBlock * width_);
  while (!out.empty()) {
    const size_t first = offset / width_, skipped = offset % width_;
    const size_t count = std::min(kBlock, static_cast<size_t>(count_) - first);
    elements(first, MutableByteSpan(block).first(count * width_));
    const size_t bytes = std::min(out.size(), count * width_ - skipped);
    std::memcpy(out.data(), block.data() + skipped, bytes);
    out = out.subspan(bytes);
    offset += bytes;
  }
}

std::optional<CompressedForm> compressed_form(const TensorSource& source) {
  const auto* elements = dynamic_cast<const ElementSource*>(&source);
  return elements != nullptr ? elements->compressed() : std::nullopt;
}

std::shared_ptr<const TensorSource> joined_elements(
    std::vector<std::shared_ptr<const TensorSource>> parts, size_t width) {
  if (parts.size() == 1) return parts.front();
  uint64_t bytes = 0;
  for (const auto& part : parts) bytes += part->size();
  return std::make_shared<JoinedSource>(static_cast<int64_t>(bytes / width), width,
                                        std::move(parts));
}

std::shared_ptr<const TensorSource> transposed_elements(std::shared_ptr<const TensorSource> source,
                                                        int64_t rows, int64_t columns,
                                                        size_t width) {
  return std::make_shared<TransposedSource>(std::move(source), rows, columns, width);
}

std::shared_ptr<const TensorSource> joined_source(
    std::vector<std::shared_ptr<const TensorSource>> parts) {
  return joined_elements(std::move(parts), sizeof(float));
}

std::shared_ptr<const TensorSource> transposed_source(std::shared_ptr<const TensorSource> source,
                                                      int64_t rows, int64_t columns) {
  return transposed_elements(std::move(source), rows, columns, sizeof(float));
}

std::shared_ptr<const TensorSource> float_source(const std::vector<float>& values) {
  return std::make_shared<ValuesSource>(values);
}

}  // namespace pippin::mil::networks
