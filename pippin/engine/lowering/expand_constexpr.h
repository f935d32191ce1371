// Expands compressed weights that no kernel supports, sparse ones and vector palettes, when a plan
// is made: by a few loops over bytes on all threads, instead of the value rules of the op table,
// which take a double and a call for each element.
#pragma once

#include "pippin/engine/lowering/builder.h"

namespace pippin::engine {

// Defines the results of a constexpr op of a known form; returns false for others. Plans of one
// program that live at the same time share the results.
bool expand_constexpr(Builder& builder, const mil::Operation& operation);

}  // namespace pippin::engine
