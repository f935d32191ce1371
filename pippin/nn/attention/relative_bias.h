// Scores that depend on the distance between key and query, learned for each head and range of
// distances (Raffel et al., T5): small distances have separate buckets, larger ones share buckets
// in ranges of logarithmic size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct RelativeBiasOptions {
  std::string path;  // of a table (buckets, heads)
  int64_t heads = 0;
  int64_t buckets = 32;        // even if both_ways
  int64_t max_distance = 128;  // all distances from here on share a bucket
  bool both_ways = true;       // keys after the query have half of the buckets; else all share one
};

// The bucket of a key `distance` positions after the query (below 0: before it).
int64_t relative_bucket(const RelativeBiasOptions& options, int64_t distance);

class RelativeBias {
 public:
  // For positions below `context`.
  RelativeBias(const Parameters& parameters, const RelativeBiasOptions& options, int64_t context);

  // (1, heads, queries, keys) for int32 positions (queries) and (keys).
  array::Array operator()(const array::Array& queries, const array::Array& keys) const;

 private:
  std::string path_;
  int64_t context_;
  array::Array table_;
  std::vector<int64_t> buckets_;  // of the distances from 1 - context to context - 1
};

}  // namespace pippin::nn
