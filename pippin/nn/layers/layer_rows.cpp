#include "pippin/nn/layers/layer_rows.h"

#include <cmath>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"

namespace pippin::nn {

using array::Array;

LayerRowTable::LayerRowTable(const Parameters& root, const LayerRowsOptions& options,
                             int64_t layers)
    : path_(root.path()),
      options_(options),
      layers_(layers),
      table_(root.at("embed_tokens_per_layer"), options.vocab_size, layers * options.row),
      projection_(root.at("per_layer_model_projection"), options.features, layers * options.row),
      norm_(root.at("per_layer_projection_norm"), options.row, options.norm, Norm::Of::Heads) {}

Array LayerRowTable::operator()(const Array& ids, const Array& x) const {
  const array::Scope scope(path_ + ".rows");
  const mil::Shape shape = {1, x.dim(1), layers_, options_.row};
  // Ids beyond the table, of pictures and sounds, use the first row.
  const Array known = array::less(ids, array::constant(static_cast<int32_t>(options_.vocab_size)));
  const Array inside = array::select(known, ids, array::constant(int32_t{0}));
  const Array own =
      array::reshape(table_(inside) * std::sqrt(static_cast<double>(options_.row)), shape);
  const Array projected = projection_(x) * (1 / std::sqrt(static_cast<double>(options_.features)));
  return (norm_(array::reshape(projected, shape)) + own) * std::sqrt(0.5);
}

LayerRow::LayerRow(const Parameters& parameters, const LayerRowsOptions& options)
    : activation_(options.activation),
      gate_(parameters.at("per_layer_input_gate"), options.features, options.row),
      projection_(parameters.at("per_layer_projection"), options.row, options.features),
      norm_(parameters.at("post_per_layer_input_norm"), options.features, options.norm) {
  if (parameters.style().convolutions) {
    fail(ErrorCode::Unsupported,
         "'{}': rows of a table for each layer have no form for this package family",
         parameters.path());
  }
}

Array LayerRow::operator()(const Array& x, const Array& row) const {
  return norm_(projection_(apply(activation_, gate_(x)) * row));
}

Array row_of(const Array& rows, int64_t layer) {
  return array::slice(rows, {array::Index::all(), array::Index::all(), array::Index::at(layer)});
}

}  // namespace pippin::nn
