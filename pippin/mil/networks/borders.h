// Padding of convolutions and pooling.
#pragma once

#include <string>
#include <vector>

#include "pippin/mil/networks/fields.h"
#include "pippin/mil/networks/graph.h"

namespace pippin::mil::networks {

// MIL's sizes have 32 bits; products of two fit into 64.
inline constexpr int64_t kMostSize = INT32_MAX;

struct Borders {
  std::string type = "custom";   // MIL's pad_type
  std::vector<int64_t> amounts;  // before and after, for each spatial axis; empty: none given
};

// The list as stored, or `count` times the default if it is empty. Throws InvalidFile for another
// length and for numbers below 1.
std::vector<int64_t> positive(const Fields& parameters, const Field& field, size_t count,
                              int64_t absent);

// Three numbers from the field on; 0 means 1. Throws InvalidFile for negative ones.
std::vector<int64_t> three_sizes(const Fields& parameters, uint32_t first, std::string_view name);

// Amounts of a BorderAmounts message, (start, end) for height and width; empty if it has none.
std::vector<int64_t> border_amounts(const Fields& borders);

// The padding of a two-dimensional layer whose fields 50 or 30 (`valid`) and the next one (`same`)
// choose it.
Borders read_borders(const Fields& parameters, uint32_t valid);

// The padding of a three-dimensional layer: paddingType and the six amounts from field `first` on.
Borders read_borders3(const Fields& parameters, const Field& type, uint32_t first);

// Adds the arguments pad_type and pad.
void add_borders(const Borders& borders, Graph::Arguments& arguments);

}  // namespace pippin::mil::networks
