// Base classes of weight sources: elements computed by index.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "pippin/mil/derived_source.h"
#include "pippin/mil/networks/compressed_form.h"

namespace pippin::mil::networks {

class ElementSource : public DerivedSource {
 public:
  // Elements of `width` bytes: 1, 2 or 4.
  ElementSource(int64_t count, size_t width) : count_(count), width_(width) {}

  int64_t count() const { return count_; }
  size_t width() const { return width_; }
  uint64_t size() const override { return static_cast<uint64_t>(count_) * width_; }
  void read(uint64_t offset, MutableByteSpan out) const final;

  // Computes the elements from `first` on; `out` is aligned to an element and holds whole ones.
  virtual void elements(size_t first, MutableByteSpan out) const = 0;
  // The same weights in fewer bits.
  virtual std::optional<CompressedForm> compressed() const { return std::nullopt; }

 private:
  const int64_t count_;
  const size_t width_;
};

class FloatSource : public ElementSource {
 public:
  explicit FloatSource(int64_t count) : ElementSource(count, sizeof(float)) {}

  void elements(size_t first, MutableByteSpan out) const final {
    floats(first, {reinterpret_cast<float*>(out.data()), out.size() / sizeof(float)});
  }
  virtual void floats(size_t first, std::span<float> out) const = 0;
};

// The form of any source that has one.
std::optional<CompressedForm> compressed_form(const TensorSource& source);

// Several sources of the same width, one after the other.
std::shared_ptr<const TensorSource> joined_elements(
    std::vector<std::shared_ptr<const TensorSource>> parts, size_t width);

// A matrix [rows, columns] of elements of this width as [columns, rows].
std::shared_ptr<const TensorSource> transposed_elements(std::shared_ptr<const TensorSource> source,
                                                        int64_t rows, int64_t columns,
                                                        size_t width);

}  // namespace pippin::mil::networks
