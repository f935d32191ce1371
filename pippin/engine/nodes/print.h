// Lists of nodes as text for readers, and as JSON for programs.
#pragma once

#include <span>
#include <string>

#include "pippin/engine/nodes/buffer.h"
#include "pippin/engine/nodes/node.h"

namespace pippin {
class JsonWriter;
}

namespace pippin::engine {

// "%12 f32 [1, 64] = rms_norm(%7 f32 [1, 64], const f32 [64]) epsilon = 1e-05": %12 is a buffer of
// the arena.
std::string node_text(const Node& node, std::span<const Buffer> buffers);
// An object: node, parameters, writes and reads.
void write_node(JsonWriter& json, const Node& node, std::span<const Buffer> buffers);

}  // namespace pippin::engine
