// Values known when a network is read.
#pragma once

#include <optional>
#include <vector>

#include "pippin/mil/networks/graph.h"

namespace pippin::mil::networks {

// The elements of a tensor of few numbers, truncated; nullopt if they are not known.
std::optional<std::vector<int64_t>> known_integers(const Graph& graph, const Var* var);

}  // namespace pippin::mil::networks
