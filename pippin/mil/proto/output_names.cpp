#include "pippin/mil/proto/output_names.h"

#include <utility>

#include "pippin/mil/proto/serialize.h"
#include "pippin/mil/proto/translation.h"

namespace pippin::mil {
namespace {

// The program that returns its inputs under the names of the outputs, in this order.
Model naming_model(FunctionDescription description, const std::vector<const Var*>& values) {
  Model model;
  Translation to(description);
  std::vector<Var*> results;
  results.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const ValueType& type = values[i]->type;
    Var* input = to.add_input(description.inputs[i], type.data_type, type.dims);
    Operation& identity = to.append("identity", {{"x", {input}}});
    results.push_back(identity.add_output(description.outputs[i].name, type));
  }
  model.program = to.finish(std::move(results));
  model.specification_version =
      specification_version(model.program.function(description.name).opset_version());
  model.functions.push_back(std::move(description));
  return model;
}

}  // namespace

Model with_output_names(Model network, const std::vector<Feature>& declared) {
  const FunctionDescription& inner = network.functions.front();
  FunctionDescription outer = inner, naming;
  naming.name = inner.name;
  std::vector<const Var*> values;
  for (size_t i = 0; i < declared.size(); ++i) {
    if (inner.outputs[i].name == declared[i].name) continue;
    for (const Var* output : network.program.function(inner.name).block().outputs()) {
      if (output->name == inner.outputs[i].name) values.push_back(output);
    }
    outer.outputs[i].name = declared[i].name;
    naming.inputs.push_back(inner.outputs[i]);
    naming.outputs.push_back(outer.outputs[i]);
  }
  if (values.empty()) return network;
  Model pipeline;
  const bool labels = network.network_kind == model_kind_name(kNeuralNetworkClassifierField);
  pipeline.kind = labels ? ModelKind::PipelineClassifier : ModelKind::Pipeline;
  pipeline.specification_version = network.specification_version;
  pipeline.default_function = network.default_function;
  pipeline.metadata = std::exchange(network.metadata, {});
  pipeline.functions.push_back(std::move(outer));
  Model names = naming_model(std::move(naming), values);
  pipeline.stages.push_back({"network", std::move(network)});
  pipeline.stages.push_back({"names", std::move(names)});
  return pipeline;
}

}  // namespace pippin::mil
