#include "pippin/runtime/windowed/ports.h"

#include <algorithm>
#include <map>
#include <utility>

#include "pippin/families/windowed.h"

namespace pippin::runtime {
namespace {

namespace windowed = families::windowed;

std::optional<size_t> hidden_port(const FixedPart& part) {
  for (const std::string& name :
       {windowed::updated(windowed::kStream), std::string(windowed::kStream)}) {
    const auto& outputs = part.description().outputs;
    if (std::any_of(outputs.begin(), outputs.end(),
                    [&](const mil::Feature& output) { return output.name == name; })) {
      return part.output_port(name);
    }
  }
  return std::nullopt;
}

}  // namespace

WindowedPorts::WindowedPorts(const WindowedSchema& schema,
                             const std::vector<std::unique_ptr<FixedPart>>& parts,
                             const FixedPart& cache_processor)
    : ids(parts.front()->input_port(schema.ids)),
      length(parts.front()->input_port(schema.length)),
      processor{.old_k = cache_processor.input_port(windowed::kOldKeys),
                .old_v = cache_processor.input_port(windowed::kOldValues),
                .new_k = cache_processor.input_port(windowed::kNewKeys),
                .new_v = cache_processor.input_port(windowed::kNewValues),
                .updated_k = cache_processor.output_port(windowed::kUpdatedKeys),
                .updated_v = cache_processor.output_port(windowed::kUpdatedValues)} {
  std::map<std::pair<size_t, size_t>, size_t> numbers;  // of outputs that are kept
  for (size_t i = 0; i < parts.size(); ++i) {
    const FixedPart& part = *parts[i];
    Chunk& chunk = chunks.emplace_back();
    for (const WindowedRoute& route : schema.chunks[i].routes) {
      const size_t output = parts[route.chunk]->output_port(route.output);
      const auto number = numbers.try_emplace({route.chunk, output}, numbers.size()).first->second;
      chunk.routes.push_back({part.input_port(route.input), route.chunk, output, number});
    }
    for (const WindowedBlock& block : schema.chunks[i].blocks) {
      chunk.blocks.push_back({part.input_port(block.k), part.input_port(block.v),
                              part.output_port(block.new_k), part.output_port(block.new_v)});
    }
    chunk.hidden = hidden_port(part);
  }
  for (const std::string& name : schema.logits) logits.push_back(parts.back()->output_port(name));
  kept = numbers.size();
}

}  // namespace pippin::runtime
