#include "pippin/mx/export/export.h"

#include <set>
#include <unordered_set>

#include "pippin/array/builder.h"
#include "pippin/base/error.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/package.h"
#include "pippin/mx/core/primitive.h"
#include "pippin/mx/export/compile.h"
#include "pippin/mx/export/export_choices.h"
#include "pippin/mx/export/export_model.h"
#include "pippin/mx/record/recorder.h"

namespace pippin::mx {
namespace {

// A function, recorded for particular sizes.
struct Recording {
  ExportedArrays given;
  ExportedResults results;

  Traces::Roots roots() const {
    Traces::Roots nodes;
    for (const auto* arrays : {&given.inputs, &given.states}) {
      for (const array& each : *arrays) nodes.push_back(each.node());
    }
    for (const auto& [name, each] : results.outputs) nodes.push_back(each.node());
    for (const array& each : results.states) nodes.push_back(each.node());
    return nodes;
  }
};

class Exporter {
 public:
  explicit Exporter(const ExportedFunction& function)
      : function_(checked(function)), choices_(function) {}

  // `known`: an existing recording, for functions without sizes to choose; or null.
  void run(mil::Model& model, RecordedConstants& constants, const Recording* known) {
    Sizes sizes(choices_.choices(), choices_.values(), choices_.are_all());
    std::vector<Recording> recordings;
    std::vector<Traces::Roots> roots;
    for (const std::vector<int64_t>& chosen : choices_.values()) {
      recordings.push_back(known != nullptr ? *known : call(chosen));
      check_states(recordings.back());
      check_like_first(recordings.front(), recordings.back());
      roots.push_back(recordings.back().roots());
    }
    Traces traces(roots, sizes.to_string());
    for (const std::vector<int64_t>& bound : choices_.bounds()) {
      const Recording other = call(bound);
      check_like_first(recordings.front(), other);
      traces.check_like(other.roots(), Sizes(choices_.choices(), {bound}, false).to_string());
    }
    traces.eval_fixed();
    write(model, recordings.front(), traces, sizes, constants);
  }

 private:
  static const ExportedFunction& checked(const ExportedFunction& function) {
    std::set<std::string> names;
    for (const ExportedInput& input : function.inputs) check_name(names, input.name);
    for (const ExportedState& state : function.states) check_name(names, state.name);
    return function;
  }
  static void check_name(std::set<std::string>& names, const std::string& name) {
    if (!name.empty() && names.insert(name).second) return;
    fail(ErrorCode::InvalidArgument, "export: two inputs or states are called \"{}\"", name);
  }

  Recording call(const std::vector<int64_t>& chosen) const {
    Recording recording;
    for (size_t i = 0; i < function_.inputs.size(); ++i) {
      recording.given.inputs.push_back(
          Trace::placeholder(function_.inputs[i].dtype, choices_.shape(i, chosen)));
    }
    for (const ExportedState& state : function_.states) {
      recording.given.states.push_back(Trace::placeholder(float16, state.shape));
    }
    recording.results = function_.body(recording.given);
    return recording;
  }

  void check_states(const Recording& recording) const {
    const auto& states = recording.results.states;
    if (states.size() != function_.states.size()) {
      fail(ErrorCode::InvalidArgument, "export: {} states, but {} new values for them",
           function_.states.size(), states.size());
    }
    for (size_t i = 0; i < states.size(); ++i) {
      const ExportedState& state = function_.states[i];
      if (states[i].dtype() == float16 && states[i].shape() == state.shape) continue;
      fail(ErrorCode::InvalidArgument,
           "export: state {} of {} and shapes {} and {}; states are float16 and keep their shape",
           state.name, to_string(states[i].dtype()), to_string(state.shape),
           to_string(states[i].shape()));
    }
  }

  static void check_like_first(const Recording& first, const Recording& other) {
    std::set<std::string> names;
    bool is_same = first.results.outputs.size() == other.results.outputs.size();
    for (size_t i = 0; is_same && i < first.results.outputs.size(); ++i) {
      const auto& [name, value] = first.results.outputs[i];
      is_same = name == other.results.outputs[i].first;
      if (name.empty() || !names.insert(name).second) {
        fail(ErrorCode::InvalidArgument, "export: two outputs are called \"{}\"", name);
      }
    }
    if (is_same) return;
    fail(ErrorCode::InvalidArgument, "export: the function has other outputs for other sizes");
  }

  void write(mil::Model& model, const Recording& recording, const Traces& traces, Sizes& sizes,
             RecordedConstants& constants) const {
    pippin::array::Builder builder;
    Recorder recorder(traces, sizes, constants);
    mil::FunctionDescription description;
    description.name = function_.name;
    for (size_t i = 0; i < function_.inputs.size(); ++i) {
      mil::Feature feature = choices_.feature(i);
      recorder.define(*recording.given.inputs[i].node(),
                      builder.input(feature.name, feature.data_type, choices_.shape(i, sizes)));
      description.inputs.push_back(std::move(feature));
    }
    std::vector<pippin::array::State> held;
    for (size_t i = 0; i < function_.states.size(); ++i) {
      mil::Feature feature = mil::state_feature(function_.states[i].name, mil::DataType::Float16,
                                                to_vector(function_.states[i].shape));
      held.push_back(builder.state(feature.name, feature.data_type, feature.shape));
      recorder.define(*recording.given.states[i].node(), pippin::array::read_state(held.back()));
      description.states.push_back(std::move(feature));
    }
    record_all(recording, traces, recorder);
    for (size_t i = 0; i < held.size(); ++i) {
      Node& after = *recording.results.states[i].node();
      recorder.record(after);
      pippin::array::write_state(held[i], recorder.value(after));
    }
    for (const auto& [name, value] : recording.results.outputs) {
      recorder.record(*value.node());
      const Recorder::Value result = recorder.value(*value.node());
      mil::Feature feature;
      feature.name = name;
      feature.data_type =
          result.type() == mil::DataType::Bool ? mil::DataType::Int32 : result.type();
      // Shapes that depend on sizes are not declared.
      if (const auto shape = mil::constant_shape(result.shape())) feature.shape = *shape;
      // An output must be an operation's result: not an input or a constant itself.
      builder.output(
          name, Recorder::one("identity", {{"x", pippin::array::cast(result, feature.data_type)}}));
      description.outputs.push_back(std::move(feature));
    }
    model.program.functions.emplace(function_.name, builder.build());
    model.functions.push_back(std::move(description));
  }

  // In order, so that record() does not recurse deeply; fixed values become constants where needed.
  static void record_all(const Recording& recording, const Traces& traces, Recorder& recorder) {
    std::unordered_set<const Node*> needed;
    for (const Ref<Node>& root : recording.roots()) needed.insert(root.get());
    for (const Ref<Node>& node : traces.order()) {
      if (!node->primitive || !node->primitive->records_inputs()) continue;
      for (size_t i = 0; i < node->inputs.size(); ++i) needed.insert(node->inputs[i].get());
    }
    for (const Ref<Node>& node : traces.order()) {
      if (needed.contains(node.get()) && !traces.is_fixed(*node)) recorder.record(*node);
    }
  }

  const ExportedFunction& function_;
  ExportChoices choices_;
};

}  // namespace

mil::Model export_model(const std::vector<ExportedFunction>& functions) {
  if (functions.empty()) fail(ErrorCode::InvalidArgument, "export: no function");
  mil::Model model;
  RecordedConstants constants;
  for (const ExportedFunction& function : functions) {
    if (model.program.functions.contains(function.name)) {
      fail(ErrorCode::InvalidArgument, "export: two functions are called {}", function.name);
    }
    const auto write = [&] { Exporter(function).run(model, constants, nullptr); };
    functions.size() == 1 ? write() : with_context(function.name, write);
  }
  model.multifunction = functions.size() > 1;
  model.default_function = functions[0].name;
  mil::verify(model.program);
  return model;
}

mil::Model export_model(const std::vector<NamedArray>& inputs,
                        const std::vector<NamedArray>& outputs,
                        const std::vector<NamedState>& states) {
  ExportedFunction function;
  Recording recording;
  recording.results.outputs = outputs;
  const auto add = [](std::vector<array>& given, const array& placeholder) {
    if (placeholder.is_available() || placeholder.node()->primitive) {
      fail(ErrorCode::InvalidArgument, "export: an input of shape {} is not a placeholder",
           to_string(placeholder.shape()));
    }
    given.push_back(placeholder);
  };
  for (const auto& [name, placeholder] : inputs) {
    add(recording.given.inputs, placeholder);
    std::vector<ExportedSize> shape(placeholder.shape().begin(), placeholder.shape().end());
    function.inputs.push_back({name, placeholder.dtype(), std::move(shape)});
  }
  for (const NamedState& state : states) {
    add(recording.given.states, state.before);
    recording.results.states.push_back(state.after);
    function.states.push_back({state.name, state.before.shape()});
  }
  mil::Model model;
  RecordedConstants constants;
  Exporter(function).run(model, constants, &recording);
  mil::verify(model.program);
  return model;
}

void export_package(const std::filesystem::path& path,
                    const std::vector<ExportedFunction>& functions) {
  mil::write_package(export_model(functions), path);
}

void export_package(const std::filesystem::path& path, const std::vector<NamedArray>& inputs,
                    const std::vector<NamedArray>& outputs, const std::vector<NamedState>& states) {
  mil::write_package(export_model(inputs, outputs, states), path);
}

}  // namespace pippin::mx
