// AltUp (Baykal et al., "Alternating Updates for Efficient Transformers", 2023) as in Gemma 3n: the
// residual consists of several streams, (streams, q, features); a layer computes one of them and
// predicts the others; with LAuREL, a low-rank product next to attention, and a table's row for
// each layer and token that is added to the other streams.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/layers/layer_rows.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct AltUpOptions {
  int64_t features = 0;
  int64_t streams = 4;
  int64_t active = 0;               // the stream that layers compute
  std::optional<double> coef_clip;  // limit of the prediction and correction coefficients
  bool correct_scale = true;
  int64_t laurel_rank = 64;
  LayerRowsOptions rows;
  NormOptions norm;
};

// The part of AltUp in a layer.
class AltUp {
 public:
  AltUp(const Parameters& parameters, const AltUpOptions& options);

  // Predicted streams without the layer, and the stream that it computes.
  array::Array predict(const array::Array& streams) const;
  array::Array active(const array::Array& predictions) const;
  // x + norm(right(left(x))).
  array::Array laurel(const array::Array& x) const;
  // The streams after the layer, which computed `activated` from the active one; `row` is the
  // token's (1, q, row).
  array::Array correct(const array::Array& predictions, const array::Array& activated,
                       const array::Array& row) const;

 private:
  array::Array modalities(const array::Array& x) const;

  std::string path_;
  AltUpOptions options_;
  Norm router_norm_;
  Linear router_;
  array::Array prediction_, correction_;
  std::optional<array::Array> scale_;
  Linear left_, right_;
  Norm laurel_norm_;
  LayerRow row_;
};

// The parts of AltUp around the layers.
class AltUpStreams {
 public:
  AltUpStreams(const Parameters& root, const AltUpOptions& options, int64_t layers);

  // (streams, q, features) from the embedding (1, q, features), and back.
  array::Array spread(const array::Array& x) const;
  array::Array merge(const array::Array& streams) const;
  // Rows of all layers, (1, q, layers, row).
  array::Array rows(const array::Array& ids, const array::Array& x) const { return table_(ids, x); }

 private:
  array::Array stream(const array::Array& streams, int64_t index) const;

  std::string path_;
  Style style_;
  AltUpOptions options_;
  LayerRowTable table_;
  std::vector<Linear> into_, out_of_;
};

}  // namespace pippin::nn
