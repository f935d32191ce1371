// Looking elements up by indices.
#pragma once

#include <memory>
#include <string>

namespace pippin::engine {

struct QuantizedWeight;

// Rows of a compressed weight; views: y [indices, k], indices [indices]. Negative indices count
// from the end; what is still outside reads the nearest row.
struct QuantizedGatherNode {
  std::shared_ptr<const QuantizedWeight> weight;
  std::string form;  // "int4"
};

}  // namespace pippin::engine
