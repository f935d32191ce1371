#include "pippin/mil/model.h"

#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"

namespace pippin::mil {

Feature array_feature(std::string name, std::string description, DataType type,
                      std::vector<int64_t> shape, std::vector<SizeRange> ranges) {
  Feature result;
  result.name = std::move(name);
  result.description = std::move(description);
  result.data_type = type;
  result.shape = std::move(shape);
  result.ranges = std::move(ranges);
  return result;
}

Feature state_feature(std::string name, DataType type, std::vector<int64_t> shape) {
  Feature result = array_feature(std::move(name), "", type, std::move(shape));
  result.kind = Feature::Kind::State;
  return result;
}

std::string stage_name(const Model& pipeline, size_t index) {
  const std::string& name = pipeline.stages.at(index).name;
  return name.empty() ? fmt::format("stage {}", index) : fmt::format("stage {} '{}'", index, name);
}

const FunctionDescription& Model::description(std::string_view function) const {
  std::string names;
  for (const FunctionDescription& description : functions) {
    if (description.name == function) return description;
    names += (names.empty() ? "" : ", ") + description.name;
  }
  fail(ErrorCode::NotFound, "no function '{}' in the model's description; it has: {}", function,
       names);
}

}  // namespace pippin::mil
