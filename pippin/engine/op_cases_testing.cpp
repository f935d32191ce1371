#include "pippin/engine/op_cases_testing.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "pippin/io/json.h"

namespace pippin::engine {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

void load_states(const mil::Model& model, const OpCase& item, const fs::path& file, State& state) {
  const NamedTensors stored = load_tensors(file);
  for (const mil::Feature& feature : model.description(item.function).states) {
    const auto found = stored.find(feature.name);
    if (found == stored.end()) continue;
    mil::Tensor tensor = found->second;
    tensor.type = feature.data_type;
    const auto bytes = mil::to_bytes(tensor);
    std::copy(bytes.begin(), bytes.end(), state.bytes(feature.name).begin());
  }
}

std::string check_random(const fs::path& folder, const NamedHostTensors& outputs) {
  const Json description = Json::load(folder / "case.json");
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

std::string check_values(const fs::path& folder, const OpCase& item, int step,
                         const NamedHostTensors& outputs) {
  const std::string file = step == 0 ? "expected.npz" : fmt::format("expected_{}.npz", step);
  const NamedTensors expected = load_tensors(folder / file);
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

std::vector<OpCase> load_op_cases(const fs::path& root, std::string_view folder) {
  std::ifstream file(root / folder / "cases.tsv");
  std::string line;
  std::getline(file, line);  // the names of the columns
  std::vector<OpCase> cases;
  while (std::getline(file, line)) {
    std::vector<std::string> fields = split(line, '\t');
    fields.resize(11);
    OpCase item;
    item.name = fmt::format("{}/{}", folder, fields[0]);
    item.compare = fields[4];
    item.steps = std::stoi(fields[5]);
    item.function = fields[6];
    item.stateful = fields[8] == "1";
    for (const std::string& entry : split(fields[9], ';')) {
      const size_t equals = entry.rfind('='), comma = entry.rfind(',');
      item.tolerances[entry.substr(0, equals)] = {
          .atol = std::stod(entry.substr(equals + 1, comma - equals - 1)),
          .rtol = std::stod(entry.substr(comma + 1)),
          .mismatch_ratio = std::stod(fields[7])};
    }
    item.ops = split(fields[10], ',');
    cases.push_back(std::move(item));
  }
  return cases;
}

fs::path unpack_op_cases(const fs::path& root, std::string_view folder) {
  fs::path target = fs::path(PIPPIN_BINARY_DIR) / "op-cases";
  const fs::path archive = root / folder / "cases.tar.gz";
  const fs::path stamp = target / folder / ".unpacked";
  const std::string size = std::to_string(fs::file_size(archive));
  std::string found;
  std::ifstream(stamp) >> found;
  if (found == size) return target;
  fs::remove_all(target / folder);
  fs::create_directories(target / folder);
  const std::string command =
      fmt::format("cd '{}' && '{}' -E tar xzf '{}'", (target / folder).string(), PIPPIN_CMAKE,
                  archive.string());
  if (std::system(command.c_str()) != 0) throw std::runtime_error("cannot unpack the op cases");
  std::ofstream(stamp) << size;
  return target;
}

std::string run_op_case(const mil::Model& model, const OpCase& item, const fs::path& folder,
                        Precision precision, ThreadPool& pool) {
  RunnerOptions options;
  options.compute.precision = precision;
  const auto runner = Runner::make(model, item.function, pool, options);
  const NamedHostTensors inputs = to_hosts(load_tensors(folder / "in.npz"));
  State state(model.description(item.function).states);
  if (item.stateful) load_states(model, item, folder / "state_in.npz", state);
  for (int step = 0; step < item.steps; ++step) {
    const NamedHostTensors outputs = runner->run(inputs, state);
    std::string wrong = item.compare == "random" ? check_random(folder, outputs)
                                                 : check_values(folder, item, step, outputs);
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
