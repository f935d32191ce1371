#include "pippin/engine/op_cases_testing.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "pippin/base/op_case_folders_testing.h"
#include "pippin/io/json.h"

namespace pippin::engine {
namespace {

namespace fs = std::filesystem;

void load_states(const mil::Model& model, const OpCase& item, const fs::path& file, State& state) {
  const NamedTensors stored = load_tensors(file);
  for (const mil::Feature& feature : model.description(item.function).states) {
    const auto found = stored.find(feature.name);
    if (found == stored.end()) continue;
    mil::Tensor tensor = found->second;
    tensor.type = feature.data_type;
    state.write(feature.name, mil::to_bytes(tensor));
  }
}

std::string check_random(const OpCase& item, const NamedHostTensors& outputs) {
  const Json description = Json::load(item.folder / "case.json");
  for (const Json& output : description.at("outputs").elements()) {
    const auto it = outputs.find(output.get_string("name"));
    if (it == outputs.end()) return "an output is missing";
    const mil::Tensor expected(mil::DataType::Float32, output.get_ints("shape"));
    const mil::Tensor actual = as_tensor(it->second);
    const auto& values = actual.values;
    if (!std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); })) {
      return "a value is not finite";
    }
    std::string wrong = difference(actual, expected, {HUGE_VAL, 0});
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string check_values(const OpCase& item, int step, const NamedHostTensors& outputs) {
  const std::string file = step == 0 ? "expected.npz" : fmt::format("expected_{}.npz", step);
  const NamedTensors expected = load_tensors(item.folder / file);
  for (const auto& [name, tolerance] : item.tolerances) {
    const auto wanted = expected.find(name);
    const auto actual = outputs.find(name);
    if (wanted == expected.end()) return fmt::format("{} has no '{}'", file, name);
    if (actual == outputs.end()) return fmt::format("output '{}' is missing", name);
    std::string wrong = difference(as_tensor(actual->second), wanted->second, tolerance);
    if (!wrong.empty()) return fmt::format("{} (step {}): {}", name, step, wrong);
  }
  return {};
}

}  // namespace

std::vector<OpCase> load_op_cases(const std::string& set) {
  std::vector<OpCase> cases;
  for (const fs::path& folder : op_case_folders(set)) {
    const Json description = Json::load(folder / "case.json");
    OpCase item;
    item.name = fmt::format("{}/{}/{}", set, folder.parent_path().filename().string(),
                            folder.filename().string());
    item.folder = folder;
    item.compare = description.get_string("compare");
    item.steps = static_cast<int>(description.get_int("steps"));
    item.function = description.get_string("function");
    item.stateful = fs::exists(folder / "state_in.npz");
    // Of random outputs only the shapes are compared.
    for (const Json& output : description.at("outputs").elements()) {
      if (item.compare == "random") break;
      item.tolerances[output.get_string("name")] = {
          .atol = output.get_float("atol"),
          .rtol = output.get_float("rtol"),
          .mismatch_ratio = description.get_float("mismatch_ratio")};
    }
    for (const Json& op : description.at("ops").elements()) {
      item.ops.emplace_back(op.as_string());
    }
    cases.push_back(std::move(item));
  }
  return cases;
}

std::string run_op_case(const mil::Model& model, const OpCase& item, Precision precision,
                        ThreadPool& pool) {
  RunnerOptions options;
  options.compute.precision = precision;
  const auto runner = Runner::make(model, item.function, pool, options);
  const NamedHostTensors inputs = to_hosts(load_tensors(item.folder / "in.npz"));
  State state(model.description(item.function).states);
  if (item.stateful) load_states(model, item, item.folder / "state_in.npz", state);
  for (int step = 0; step < item.steps; ++step) {
    const NamedHostTensors outputs = runner->run(inputs, state);
    std::string wrong =
        item.compare == "random" ? check_random(item, outputs) : check_values(item, step, outputs);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string_view name_of(Precision precision) {
  switch (precision) {
    case Precision::Reference:
      return "reference";
    case Precision::Exact:
      return "exact";
    case Precision::Fast:
      return "fast";
  }
  return {};
}

const std::vector<ExpectedFailure>& expected_failures() {
  static const std::vector<ExpectedFailure> failures = {};
  return failures;
}

const ExpectedFailure* find_expected_failure(std::string_view name, Precision precision) {
  for (const ExpectedFailure& failure : expected_failures()) {
    if (failure.name == name && failure.precision == precision) return &failure;
  }
  return nullptr;
}

mil::Tensor as_tensor(const HostTensor& host) {
  mil::Tensor tensor = to_tensor(host);
  tensor.type = mil::DataType::Float64;
  return tensor;
}

NamedHostTensors to_hosts(const NamedTensors& tensors) {
  NamedHostTensors hosts;
  for (const auto& [name, tensor] : tensors) hosts.emplace(name, to_host(tensor));
  return hosts;
}

}  // namespace pippin::engine
