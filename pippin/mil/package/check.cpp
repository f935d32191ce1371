// Checks that the parts of a model agree with each other.
#include <algorithm>
#include <set>

#include "pippin/base/error.h"
#include "pippin/mil/package/files.h"

namespace pippin::mil {
namespace {

void check_names(const std::vector<Feature>& features, std::vector<std::string> names,
                 std::string_view what) {
  std::vector<std::string> described;
  described.reserve(features.size());
  for (const Feature& feature : features) described.push_back(feature.name);
  std::sort(described.begin(), described.end());
  std::sort(names.begin(), names.end());
  if (described == names) return;
  std::vector<std::string> odd;
  std::set_symmetric_difference(described.begin(), described.end(), names.begin(), names.end(),
                                std::back_inserter(odd));
  const std::string& name = odd.front();
  const bool undescribed = std::find(names.begin(), names.end(), name) != names.end();
  fail(ErrorCode::InvalidFile, "the {} '{}' of the {} is not in the {}", what, name,
       undescribed ? "program" : "description", undescribed ? "description" : "program");
}

void check_program(const Model& model) {
  for (const FunctionDescription& description : model.functions) {
    with_context(fmt::format("function '{}'", description.name), [&] {
      const Function& function = model.program.function(description.name);
      std::vector<std::string> inputs, states, outputs;
      for (const auto& input : function.inputs) {
        (input->type.is_state() ? states : inputs).push_back(input->name);
      }
      for (const Var* output : function.block().outputs()) outputs.push_back(output->name);
      check_names(description.inputs, inputs, "input");
      check_names(description.states, states, "state");
      check_names(description.outputs, outputs, "output");
    });
  }
  model.description(model.default_function);
}

// Every stage must find its inputs, and the pipeline its outputs, among earlier values.
void check_pipeline(const Model& model) {
  std::set<std::string_view> known;
  const FunctionDescription& own = model.description(model.default_function);
  for (const Feature& input : own.inputs) known.insert(input.name);
  for (size_t i = 0; i < model.stages.size(); ++i) {
    const Model& stage = model.stages[i].model;
    with_context(stage_name(model, i), [&] {
      check_description(stage);
      const FunctionDescription& description = stage.description(stage.default_function);
      for (const Feature& input : description.inputs) {
        if (!input.optional && known.count(input.name) == 0) {
          fail(ErrorCode::InvalidFile,
               "the input '{}' is neither an input of the pipeline nor an output of an earlier "
               "stage",
               input.name);
        }
      }
      for (const Feature& output : description.outputs) known.insert(output.name);
    });
  }
  for (const Feature& output : own.outputs) {
    if (known.count(output.name) == 0) {
      fail(ErrorCode::InvalidFile, "no stage produces the pipeline's output '{}'", output.name);
    }
  }
}

}  // namespace

void check_file_name(const std::string& name, std::string_view what) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != name.npos ||
      name.find('\0') != name.npos) {
    fail(ErrorCode::InvalidArgument, "'{}' is not a file name for {}", name, what);
  }
}

void check_description(const Model& model) {
  if (model.is_pipeline()) return check_pipeline(model);
  // A tabular model's parts were checked against its description when it was read.
  if (!model.is_tabular()) check_program(model);
}

}  // namespace pippin::mil
