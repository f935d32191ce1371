// Elements computed on reading from other bytes, in a way that can be described. Two sources with
// the same recipe have the same elements, so results can be cached.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "pippin/mil/value.h"

namespace pippin::mil {

class Recipe {
 public:
  virtual ~Recipe() = default;
  virtual Recipe& step(std::string_view name) = 0;  // "transposed"
  virtual Recipe& number(int64_t value) = 0;        // a parameter of the step
  virtual Recipe& bytes(ByteSpan bytes) = 0;        // the bytes it is applied to: usually mapped
};

// A matrix stored in a file as blocks of quantized values and scales. Each part of its compressed
// form (data, scale, offset) is computed from the same blocks; code that understands the blocks may
// read them directly instead.
struct StoredBlocks {
  std::string_view form;  // "q4_k"
  ByteSpan bytes;         // of whole rows of the file
  int64_t rows = 0, columns = 0;
  std::vector<int64_t> order = {};  // row i is the file's row order[i]; empty: row i
};

class DerivedSource : public TensorSource {
 public:
  // The blocks that the elements come from, or null; all sources computed from the same blocks
  // return the same object.
  virtual const StoredBlocks* blocks() const { return nullptr; }
  // Returns false if some step cannot be described.
  virtual bool describe(Recipe& recipe) const = 0;
  // The elements as consecutive pieces, if each lies in memory unchanged; otherwise empty.
  virtual std::vector<ByteSpan> pieces() const { return {}; }
};

// The pieces of any source: a single one if everything lies in memory.
inline std::vector<ByteSpan> pieces_of(const TensorSource& source) {
  if (!source.view().empty()) return {source.view()};
  const auto* derived = dynamic_cast<const DerivedSource*>(&source);
  return derived != nullptr ? derived->pieces() : std::vector<ByteSpan>();
}

// The recipe of any source: its bytes if it lies in memory.
inline bool describe_source(const TensorSource& source, Recipe& recipe) {
  if (const auto* derived = dynamic_cast<const DerivedSource*>(&source)) {
    return derived->describe(recipe);
  }
  if (source.view().empty()) return false;
  recipe.step("bytes").bytes(source.view());
  return true;
}

}  // namespace pippin::mil
