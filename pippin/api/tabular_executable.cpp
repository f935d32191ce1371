#include "pippin/api/tabular_executable.h"

#include <fmt/format.h>

#include "pippin/api/feature.h"
#include "pippin/api/tabular_value.h"
#include "pippin/base/error.h"

namespace pippin::api {

TabularExecutable::TabularExecutable(const mil::Model& model,
                                     const mil::FunctionDescription& description,
                                     int64_t max_elements)
    : Executable(description), model_(model), max_elements_(max_elements) {
  const std::string refusal = model.tabular->refusal();
  if (!refusal.empty()) fail(ErrorCode::Unsupported, "{}", refusal);
  for (const mil::Feature& input : description.inputs) {
    has_default_.push_back(input.optional && input.default_value.index() != 0);
  }
}

Values TabularExecutable::run(const Values& inputs, engine::State& /*state*/) {
  std::vector<tabular::Value> row(this->inputs().size());
  for (size_t i = 0; i < row.size(); ++i) {
    const FeatureInfo& feature = this->inputs()[i];
    with_context(fmt::format("input '{}'", feature.name), [&] {
      const auto found = inputs.find(feature.name);
      if (found != inputs.end()) {
        row[i] = to_tabular(feature, found->second);
      } else if (has_default_[i]) {
        row[i] = to_tabular(feature, default_input(feature, max_elements_));
      }
    });
  }
  std::vector<tabular::Value> results = model_.tabular->run(row);
  Values outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    const FeatureInfo& feature = this->outputs()[i];
    outputs.emplace(feature.name, from_tabular(feature, std::move(results[i])));
  }
  return outputs;
}

std::string TabularExecutable::describe() const {
  return fmt::format("{}: in double precision, row by row\n", to_string(model_.kind));
}

}  // namespace pippin::api
