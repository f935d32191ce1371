// Tabular models of every kind: a valid model computes a row without faults, twice with the same
// result.
#include <cstdint>
#include <cstdlib>

#include "pippin/base/error.h"
#include "pippin/mil/proto/serialize.h"
#include "pippin/tabular/stage.h"

namespace {

using namespace pippin;
using tabular::Value;

constexpr int64_t kMaxElements = 4096;

Value value_of(const mil::Feature& feature) {
  switch (feature.kind) {
    case mil::Feature::Kind::Double:
      return 0.5;
    case mil::Feature::Kind::Int64:
      return int64_t{1};
    case mil::Feature::Kind::String:
      return std::string("a");
    case mil::Feature::Kind::Dictionary: {
      tabular::Dictionary dictionary{std::vector<int64_t>{0, 1}, {1.5, -2}};
      if (feature.string_keys) dictionary.keys = std::vector<std::string>{"a", "1"};
      return dictionary;
    }
    default: {
      int64_t size = 1;
      for (const int64_t length : feature.shape) {
        size = length > kMaxElements ? kMaxElements : std::min(size * length, kMaxElements);
      }
      std::vector<double> values(static_cast<size_t>(size), 0.25);
      return tabular::Array{{size}, std::move(values)};
    }
  }
}

void run(const mil::Model& model) {
  for (const mil::PipelineStage& stage : model.stages) run(stage.model);
  if (!model.is_tabular()) return;
  const mil::FunctionDescription& description = model.functions.front();
  std::vector<Value> given, absent(description.inputs.size());
  for (const mil::Feature& input : description.inputs) given.push_back(value_of(input));
  for (const std::vector<Value>* row : {&given, &absent}) {
    try {
      const size_t count = model.tabular->run(*row).size();
      if (count != description.outputs.size()) std::abort();
      if (model.tabular->run(*row).size() != count) std::abort();
    } catch (const Error&) {
    }
  }
  model.tabular->parameters();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    run(mil::parse_model(std::as_bytes(std::span(data, size))));
  } catch (const Error&) {
  }
  return 0;
}
