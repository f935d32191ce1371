#include "pippin/nn/attention/qkv_rows.h"

#include <utility>
#include <vector>

#include "pippin/nn/layers/rope.h"

namespace pippin::nn {
namespace {

// The first row of each head of a part in its matrix.
std::vector<int64_t> head_rows(const AttentionOptions& options, QkvPart part) {
  const int64_t group = options.num_heads / options.num_kv_heads, size = options.head_dim;
  const int64_t heads = part == QkvPart::Query ? options.num_heads : options.num_kv_heads;
  const int64_t block = part == QkvPart::Query ? 0
                        : part == QkvPart::Key ? options.num_heads
                                               : options.num_heads + options.num_kv_heads;
  std::vector<int64_t> rows;
  for (int64_t head = 0; head < heads; ++head) {
    if (options.layout == QkvLayout::Separate) {
      const bool gated = options.output_gate && part == QkvPart::Query;
      rows.push_back(head * size * (gated ? 2 : 1));
    } else if (options.layout == QkvLayout::Blocks) {
      rows.push_back((block + head) * size);
    } else if (options.layout == QkvLayout::GateBlocks) {
      rows.push_back((options.num_heads + block + head) * size);
    } else if (options.layout == QkvLayout::Quarters) {
      const int64_t own = heads / 4;
      const int64_t place = part == QkvPart::Query ? 0 : part == QkvPart::Value ? 1 : 2;
      rows.push_back(((head / own * 3 + place) * own + head % own) * size);
    } else if (part == QkvPart::Query) {
      rows.push_back((head / group * (group + 2) + head % group) * size);
    } else {
      rows.push_back((head * (group + 2) + group + (part == QkvPart::Value ? 1 : 0)) * size);
    }
  }
  return rows;
}

WeightLayout own_layout(const AttentionOptions& options, QkvPart part) {
  WeightLayout layout;
  layout.transposed = options.transposed;
  layout.groups = part == QkvPart::Query ? options.query_groups
                  : part == QkvPart::Key ? options.key_groups
                                         : options.value_groups;
  const bool fused = options.layout != QkvLayout::Separate;
  if (fused) {
    layout.stored_rows = qkv_heads(options) * options.head_dim;
    layout.part.assign(1, "qkv"[static_cast<int>(part)]);
  }
  const bool gated = options.output_gate && part == QkvPart::Query;
  if (gated) {
    layout.stored_rows = 2 * options.num_heads * options.head_dim;
    layout.part = "q";
  }
  const int64_t reordered = reordered_dims(options, part);
  if (!fused && !gated && reordered == 0) return layout;
  const auto order = deinterleaved(options.head_dim, reordered);
  for (const int64_t first : head_rows(options, part)) {
    for (const int64_t dim : order) layout.rows.push_back(first + dim);
  }
  return layout;
}

}  // namespace

int64_t qkv_heads(const AttentionOptions& options) {
  const int64_t gates = options.layout == QkvLayout::GateBlocks ? options.num_heads : 0;
  return gates + options.num_heads + 2 * options.num_kv_heads;
}

int64_t reordered_dims(const AttentionOptions& options, QkvPart part) {
  if (!options.interleaved || part == QkvPart::Value) return 0;
  if (options.rope) return options.rope_dims;
  // Without positions any order would do, but the converter to GGUF has changed it all the same:
  // adapters in the other form have to follow.
  const bool differs = options.other_form && options.other_form->interleaved != options.interleaved;
  return differs ? options.head_dim : 0;
}

WeightLayout qkv_layout(const AttentionOptions& options, QkvPart part) {
  WeightLayout layout = own_layout(options, part);
  if (!options.other_form) return layout;
  AttentionOptions other = options;
  other.layout = options.other_form->layout;
  other.interleaved = options.other_form->interleaved;
  other.other_form->interleaved = options.interleaved;
  WeightLayout theirs = own_layout(other, part);
  if (theirs.stored_rows == layout.stored_rows && theirs.rows == layout.rows) return layout;
  layout.other_form = {true, theirs.stored_rows, std::move(theirs.rows)};
  return layout;
}

Linear output_gate(const Parameters& parameters, const AttentionOptions& options) {
  const int64_t width = options.num_heads * options.head_dim;
  if (options.layout == QkvLayout::GateBlocks) {
    WeightLayout first;
    first.stored_rows = qkv_heads(options) * options.head_dim;
    first.part = "gate";
    for (int64_t i = 0; i < width; ++i) first.rows.push_back(i);
    return Linear(parameters.at(options.qkv), options.features, width, options.qkv_bias, first);
  }
  WeightLayout layout = qkv_layout(options, QkvPart::Query);
  layout.part = "gate";
  layout.rows.clear();
  layout.other_form.reset();  // gates are not rotated
  for (const int64_t first : head_rows(options, QkvPart::Query)) {
    for (int64_t i = 0; i < options.head_dim; ++i) {
      layout.rows.push_back(first + options.head_dim + i);
    }
  }
  return Linear(parameters.at(options.query), options.features, width, options.qkv_bias, layout);
}

}  // namespace pippin::nn
