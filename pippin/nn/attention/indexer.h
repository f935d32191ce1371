// The lightning indexer of DeepSeek-V3.2: small extra heads score every key for a query, and
// attention sees only the best keys. The indexer's keys are kept in the cache.
#pragma once

#include <cstdint>
#include <string>

#include "pippin/array/array.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct IndexerOptions {
  int64_t features = 0;        // of the input, from which keys and the weights of heads are
                               // computed
  int64_t query_features = 0;  // of the vector from which queries are computed
  int64_t heads = 0, head_dim = 0;
  int64_t rope_dims = 0;     // the first ones of a head are rotated
  bool interleaved = false;  // as neighbouring pairs
  int64_t top_k = 0;         // keys that a query sees
};

class Indexer {
 public:
  Indexer(const Parameters& parameters, const IndexerOptions& options);

  // The mask that is added to the scores of attention: the given mask for the best keys, else -inf,
  // (1, 1, q, end). `narrow` is the vector from which queries are computed.
  array::Array operator()(const array::Array& x, const array::Array& narrow,
                          const MixerInput& input) const;

 private:
  array::Array heads_of(const array::Array& x, int64_t heads, const Rotation& rotation) const;

  std::string path_;
  IndexerOptions options_;
  Linear queries_, keys_, weights_;
  array::Array norm_weight_, norm_bias_;
};

}  // namespace pippin::nn
