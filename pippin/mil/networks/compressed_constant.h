// Constants of compressed weights, in the forms of MIL.
#pragma once

#include <vector>

#include "pippin/mil/networks/compressed_form.h"
#include "pippin/mil/networks/graph.h"

namespace pippin::mil::networks {

// Adds the constant in the smallest form that the graph's opset has: numbers of 8 bits, or of 4
// since CoreML8, with scales; indices of a palette; fp16. Returns null if that is fp32. If a newer
// opset has a form that is clearly smaller, the graph records it (Graph::wanted).
Var* compressed_constant(Graph& graph, const CompressedForm& form,
                         const std::vector<int64_t>& shape);

}  // namespace pippin::mil::networks
