// The layers of a network, and of the networks nested in branches and loops.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "pippin/mil/networks/layers.h"

namespace pippin::mil::networks {

inline constexpr uint32_t kCopyField = 600, kBranchField = 605, kLoopField = 615, kBreakField = 620,
                          kContinueField = 625, kCustomField = 500;

// The limit on nested networks.
inline constexpr int kMaxNesting = 8;

struct ListedLayer {
  Layer layer;
  uint32_t field;  // of its type
};

// Reads the layers of a NeuralNetwork message. Throws InvalidFile for layers without a type and
// Unsupported for unknown types.
std::vector<ListedLayer> read_layers(const Fields& network);

// The nested networks of a branch or a loop; none for other layers.
std::vector<Fields> nested_networks(const ListedLayer& listed);

// Calls visit for every layer, nested ones included. Throws LimitExceeded if they are nested too
// deeply.
void for_each_layer(const Fields& network, const std::function<void(const ListedLayer&)>& visit,
                    int depth = 0);

// Counts how often the layers read each name.
void count_reads(const Fields& network, std::map<std::string, int, std::less<>>& reads);
// The names that the layers define.
std::set<std::string> defined_names(const Fields& network);

// Whether the layers end the enclosing loop, or its current iteration, early.
bool leaves_loop(const Fields& network, uint32_t field, int depth = 0);

}  // namespace pippin::mil::networks
