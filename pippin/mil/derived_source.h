// Elements that are computed while they are read: from other bytes, in a way that can be told. Two
// sources with the same recipe give the same elements, so that what was read once may be kept.
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
  virtual Recipe& bytes(ByteSpan bytes) = 0;        // what it is applied to: mapped, as a rule
};

// Where a matrix lies in a file in blocks of codes and scales: what makes a form of compressed
// weights (data, scale, offset) is computed from the same ones, and who knows the blocks may read
// them instead.
struct StoredBlocks {
  std::string_view form;  // "q4_k"
  ByteSpan bytes;         // of whole rows of the file
  int64_t rows = 0, columns = 0;
  std::vector<int64_t> order = {};  // row i is the file's row order[i]; empty: row i
};

class DerivedSource : public TensorSource {
 public:
  // Those that the elements come from, if they do; one object for all that is computed from them.
  virtual const StoredBlocks* blocks() const { return nullptr; }
  // False where something on the way cannot be told.
  virtual bool describe(Recipe& recipe) const = 0;
  // The elements in pieces, one after another, where each lies in memory as it is; else none.
  virtual std::vector<ByteSpan> pieces() const { return {}; }
};

// The pieces of any source: one where all lies in memory.
inline std::vector<ByteSpan> pieces_of(const TensorSource& source) {
  if (!source.view().empty()) return {source.view()};
  const auto* derived = dynamic_cast<const DerivedSource*>(&source);
  return derived != nullptr ? derived->pieces() : std::vector<ByteSpan>();
}

// The recipe of any source: its bytes where it lies in memory.
inline bool describe_source(const TensorSource& source, Recipe& recipe) {
  if (const auto* derived = dynamic_cast<const DerivedSource*>(&source)) {
    return derived->describe(recipe);
  }
  if (source.view().empty()) return false;
  recipe.step("bytes").bytes(source.view());
  return true;
}

}  // namespace pippin::mil
