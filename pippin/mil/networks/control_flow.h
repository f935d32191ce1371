// Branches and loops: names that are assigned again become results of MIL's cond and while_loop.
#pragma once

#include <functional>
#include <span>

#include "pippin/mil/networks/layer_list.h"

namespace pippin::mil::networks {

std::span<const LayerKind> control_layers();

// Translates the layers in order.
void translate_layers(Network& network, std::span<const ListedLayer> layers);

// Translates two alternatives: a run takes the first if `condition` is true. Merges the names that
// either defines; a name that only one defines, or both with different ranks, is undefined
// afterwards.
void choose(Network& network, Var* condition, const std::function<void()>& yes,
            const std::function<void()>& no);

// Whether a run counts the value as true.
Var* condition_of(Network& network, Var* value);

// Translates a loop.
void translate_loop(Network& network, const Layer& layer);

// Names of the conditions that the loop or its iteration has ended early. They are not UTF-8, so no
// file can contain them.
inline constexpr std::string_view kBroken = "\xff broken", kContinued = "\xff continued";

}  // namespace pippin::mil::networks
