// Simplifies a translated network: several layers of old converters become one operation.
//
//   pad with zeros, then conv                     conv with a border
//   conv, then batch_norm, mul or add by channel  conv with other weights and bias
//   relu, negation, threshold, negation           relu6 or clip
#pragma once

#include "pippin/mil/networks/graph.h"

namespace pippin::mil::networks {

// Rewrites the function's blocks, and removes operations without readers. New values get names of
// the graph, which is not to be added to afterwards.
void simplify(Function& function, Graph& graph);

}  // namespace pippin::mil::networks
