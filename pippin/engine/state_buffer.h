// The memory behind one state of a State.
#pragma once

#include "pippin/engine/memory.h"
#include "pippin/engine/plan.h"

namespace pippin::engine {

struct State::Buffer {
  Memory memory;
};

}  // namespace pippin::engine
