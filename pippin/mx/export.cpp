#include "pippin/mx/export.h"

#include "pippin/array/builder.h"
#include "pippin/base/error.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/package.h"
#include "pippin/mx/eval.h"
#include "pippin/mx/export_model.h"
#include "pippin/mx/recorder.h"

namespace pippin::mx {
namespace {

// The type of an input or output: Core ML has no bools there.
mil::DataType feature_type(Dtype dtype) {
  const mil::DataType type = mil_type(dtype);
  return type == mil::DataType::Bool ? mil::DataType::Int32 : type;
}

mil::Feature feature(const std::string& name, const array& value) {
  mil::Feature result;
  result.name = name;
  result.data_type = feature_type(value.dtype());
  result.shape = to_vector(value.shape());
  return result;
}

class Outputs : public Recorder {
 public:
  void add_input(const array& placeholder, Value value) {
    if (placeholder.is_available() || placeholder.node()->primitive) {
      fail(ErrorCode::InvalidArgument, "export: an input of shape {} is no placeholder",
           to_string(placeholder.shape()));
    }
    define(*placeholder.node(), std::move(value));
  }
};

}  // namespace

mil::Model export_model(const std::vector<NamedArray>& inputs,
                        const std::vector<NamedArray>& outputs,
                        const std::vector<NamedState>& states) {
  pippin::array::Builder builder;
  Outputs recorder;
  mil::FunctionDescription description;
  description.name = "main";
  for (const auto& [name, placeholder] : inputs) {
    description.inputs.push_back(feature(name, placeholder));
    recorder.add_input(placeholder, builder.input(name, feature_type(placeholder.dtype()),
                                                  mil::to_shape(to_vector(placeholder.shape()))));
  }
  std::vector<pippin::array::State> held;
  std::vector<Node*> roots;
  for (const NamedState& state : states) {
    if (state.before.dtype() != float16 || !(state.after.shape() == state.before.shape())) {
      fail(ErrorCode::InvalidArgument,
           "export: state {} of {} and shapes {} and {}; states are float16 and keep their shape",
           state.name, to_string(state.before.dtype()), to_string(state.before.shape()),
           to_string(state.after.shape()));
    }
    description.states.push_back(feature(state.name, state.before));
    held.push_back(
        builder.state(state.name, mil::DataType::Float16, to_vector(state.before.shape())));
    recorder.add_input(state.before, pippin::array::read_state(held.back()));
    roots.push_back(state.after.node().get());
  }
  for (const auto& [name, value] : outputs) roots.push_back(value.node().get());
  eval_constants(roots);
  walk(roots, [&](Node& node) { recorder.record(node); });
  for (size_t i = 0; i < states.size(); ++i) {
    Node& after = *states[i].after.node();
    recorder.record(after);
    pippin::array::write_state(held[i],
                               pippin::array::cast(recorder.value(after), mil::DataType::Float16));
  }
  for (const auto& [name, value] : outputs) {
    recorder.record(*value.node());
    description.outputs.push_back(feature(name, value));
    const pippin::array::Array& result = recorder.value(*value.node());
    // An output is an operation's: not an input or a constant itself.
    builder.output(
        name, Recorder::one("identity",
                            {{"x", pippin::array::cast(result, feature_type(value.dtype()))}}));
  }
  mil::Model model;
  model.program.functions.emplace("main", builder.build());
  model.functions.push_back(std::move(description));
  mil::verify(model.program);
  return model;
}

void export_package(const std::filesystem::path& path, const std::vector<NamedArray>& inputs,
                    const std::vector<NamedArray>& outputs, const std::vector<NamedState>& states) {
  mil::write_package(export_model(inputs, outputs, states), path);
}

}  // namespace pippin::mx
