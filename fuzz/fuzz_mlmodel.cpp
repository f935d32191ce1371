// A model's protobuf. A model that was read round-trips to the same bytes; a verified program does
// not change in a round trip through text.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "pippin/base/error.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/summary.h"
#include "pippin/mil/proto/serialize.h"
#include "pippin/mil/text/text.h"

namespace {

using namespace pippin;

void check_programs(mil::Model& model) {
  for (mil::PipelineStage& stage : model.stages) check_programs(stage.model);
  if (!model.has_program()) return;
  mil::verify(model.program);
  model.program = mil::parse_text(mil::print(model.program), "printed");
}

// Weights of networks are read on demand, and printed as "...".
bool has_network(const mil::Model& model) {
  if (!model.network_kind.empty()) return true;
  return std::any_of(model.stages.begin(), model.stages.end(),
                     [](const mil::PipelineStage& stage) { return has_network(stage.model); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mil::Model model;
  std::string bytes;
  try {
    model = mil::parse_model(std::as_bytes(std::span(data, size)));
    bytes = mil::serialize_model(model);
  } catch (const Error&) {
    return 0;
  }
  if (mil::serialize_model(mil::parse_model(as_byte_span(bytes))) != bytes) std::abort();
  try {
    if (has_network(model)) {
      mil::summary_text(model);
      return 0;
    }
    check_programs(model);
  } catch (const Error& error) {
    // The output of print() must parse.
    if (std::string_view(error.what()).substr(0, 8) == "printed:") std::abort();
    return 0;
  }
  if (mil::serialize_model(model) != bytes) std::abort();
  try {
    mil::summary_text(model);
    mil::summary_json(model);
  } catch (const Error&) {  // describes other functions
  }
  return 0;
}
