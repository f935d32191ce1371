// The stored op cases (data/op-cases) in every precision, and docs/conformance.md, the table of
// what came out.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/file.h"
#include "pippin/base/output.h"
#include "pippin/base/testing.h"
#include "pippin/engine/compare.h"
#include "pippin/engine/runner.h"
#include "pippin/io/json.h"
#include "pippin/mil/ops/op.h"
#include "pippin/mil/package.h"

namespace pippin::engine {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

struct Case {
  std::string name, compare, function;
  mil::Opset opset;
  int steps = 1;
  double mismatch_ratio = 0;
  bool stateful = false;
  std::map<std::string, Tolerance> tolerances;
  std::vector<std::string> ops;
};

std::vector<Case> load_cases(const fs::path& table) {
  std::ifstream file(table);
  std::string line;
  std::getline(file, line);
  std::vector<Case> cases;
  while (std::getline(file, line)) {
    std::vector<std::string> fields = split(line, '\t');
    fields.resize(11);
    Case item;
    item.name = fields[0];
    // iOS15 is CoreML5 and so on.
    item.opset = static_cast<mil::Opset>(std::stoi(fields[2].substr(3)) - 10);
    item.compare = fields[4];
    item.steps = std::stoi(fields[5]);
    item.function = fields[6];
    item.mismatch_ratio = std::stod(fields[7]);
    item.stateful = fields[8] == "1";
    for (const std::string& entry : split(fields[9], ';')) {
      const size_t equals = entry.rfind('='), comma = entry.rfind(',');
      item.tolerances[entry.substr(0, equals)] = {
          std::stod(entry.substr(equals + 1, comma - equals - 1)),
          std::stod(entry.substr(comma + 1)), item.mismatch_ratio};
    }
    item.ops = split(fields[10], ',');
    cases.push_back(std::move(item));
  }
  return cases;
}

// Unpacks the folder's archive into the build tree once.
fs::path unpack(const fs::path& source) {
  const fs::path target = fs::path(PIPPIN_BINARY_DIR) / "op-cases" / source.filename();
  const fs::path stamp = target / ".unpacked";
  const std::string size = std::to_string(fs::file_size(source / "cases.tar.gz"));
  std::string found;
  std::ifstream(stamp) >> found;
  if (found == size) return target;
  fs::remove_all(target);
  fs::create_directories(target);
  const std::string command = fmt::format("cd '{}' && '{}' -E tar xzf '{}'", target.string(),
                                          PIPPIN_CMAKE, (source / "cases.tar.gz").string());
  if (std::system(command.c_str()) != 0) throw std::runtime_error("cannot unpack the op cases");
  std::ofstream(stamp) << size;
  return target;
}

constexpr Precision kPrecisions[] = {Precision::Reference, Precision::Exact, Precision::Fast};
constexpr std::string_view kPrecisionNames[] = {"reference", "exact", "fast"};

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

void load_states(const mil::Model& model, const Case& item, const fs::path& file, State& state) {
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
    const std::string wrong = difference(actual, expected, {HUGE_VAL, 0});
    if (!wrong.empty()) return wrong;
  }
  return {};
}

// What is wrong, or nothing.
std::string run_steps(const mil::Model& model, const Case& item, const fs::path& folder,
                      Precision precision, ThreadPool& pool) {
  RunnerOptions options;
  options.precision = precision;
  const auto runner = Runner::make(model, item.function, pool, options);
  const NamedHostTensors inputs = to_hosts(load_tensors(folder / "in.npz"));
  State state(model.description(item.function).states);
  if (item.stateful) load_states(model, item, folder / "state_in.npz", state);
  for (int step = 0; step < item.steps; ++step) {
    const NamedHostTensors outputs = runner->run(inputs, state);
    if (item.compare == "random") {
      const std::string wrong = check_random(folder, outputs);
      if (!wrong.empty()) return wrong;
      continue;
    }
    const std::string file = step == 0 ? "expected.npz" : fmt::format("expected_{}.npz", step);
    for (const auto& [name, expected] : load_tensors(folder / file)) {
      const auto tolerance = item.tolerances.find(name);
      if (tolerance == item.tolerances.end()) continue;
      const auto it = outputs.find(name);
      if (it == outputs.end()) return "output " + name + " is missing";
      const std::string wrong = difference(as_tensor(it->second), expected, tolerance->second);
      if (!wrong.empty()) return fmt::format("{} (step {}): {}", name, step, wrong);
    }
  }
  return {};
}

struct Failure {
  std::string name, precision, ops, reason;
};
struct FolderResult {
  std::string folder;
  int cases = 0;
  int passed[std::size(kPrecisions)] = {};
};
std::vector<FolderResult> results;
std::vector<Failure> failures;

void run_folder(const fs::path& root, const std::string& folder) {
  const fs::path cases = unpack(root / folder);
  ThreadPool pool(1);
  FolderResult result{folder};
  for (const Case& item : load_cases(root / folder / "cases.tsv")) {
    ++result.cases;
    for (size_t p = 0; p < std::size(kPrecisions); ++p) {
      std::string wrong;
      try {
        const mil::Model model = mil::read_package(cases / item.name / "model.mlpackage");
        wrong = run_steps(model, item, cases / item.name, kPrecisions[p], pool);
      } catch (const std::exception& error) {
        wrong = error.what();
      }
      if (wrong.empty()) {
        ++result.passed[p];
      } else {
        failures.push_back({folder + "/" + item.name, std::string(kPrecisionNames[p]),
                            fmt::format("{}", fmt::join(item.ops, " ")), wrong});
        std::cout << failures.back().name << " (" << kPrecisionNames[p] << "): " << wrong << "\n";
      }
    }
  }
  results.push_back(result);
}

std::string percent(int part, int whole) {
  return fmt::format("{:.2f} %", whole == 0 ? 100.0 : 100.0 * part / whole);
}

// Text in a cell of a Markdown table.
std::string cell(std::string text) {
  for (char& c : text) {
    if (c == '|' || c == '\n') c = ' ';
  }
  return text;
}

std::string conformance_table() {
  std::string text =
      "# Conformance\n\n"
      "How Pippin agrees with coremltools' own op tests and PyTorch-frontend tests, stored as "
      "stand-alone packages with\n"
      "inputs and expected outputs. `op_cases_test` writes this file when it runs; `pippin predict "
      "--precision` names the\n"
      "columns. Tolerances: 1e-4 for programs without 16-bit values (or the suite's own if "
      "larger), 2 % of the value plus\n"
      "2 % of the output's root mean square with them, exact for integers.\n\n"
      "| tests | cases | reference | exact | fast |\n|---|---|---|---|---|\n";
  FolderResult total{"all"};
  const auto add_row = [&](const FolderResult& row) {
    text += fmt::format("| {} | {} |", row.folder, row.cases);
    for (const int passed : row.passed) {
      text += fmt::format(" {} ({}) |", passed, percent(passed, row.cases));
    }
    text += "\n";
  };
  for (const FolderResult& row : results) {
    add_row(row);
    total.cases += row.cases;
    for (size_t p = 0; p < std::size(kPrecisions); ++p) total.passed[p] += row.passed[p];
  }
  add_row(total);
  text += "\n## Failures\n\n";
  if (failures.empty()) return text + "None.\n";
  text += "| case | precision | ops | reason |\n|---|---|---|---|\n";
  for (const Failure& failure : failures) {
    text += fmt::format("| {} | {} | {} | {} |\n", failure.name, failure.precision, failure.ops,
                        cell(failure.reason));
  }
  return text;
}

TEST(OpCases, AgreeInEveryPrecision) {
  PIPPIN_SHARED_OR_SKIP(root, "op-cases");
  for (const char* folder : {"iOS14", "iOS15", "iOS16", "iOS17", "iOS18", "torch"}) {
    if (fs::exists(root / folder)) run_folder(root, folder);
  }
  int cases = 0;
  int passed[std::size(kPrecisions)] = {};
  for (const FolderResult& result : results) {
    cases += result.cases;
    for (size_t p = 0; p < std::size(kPrecisions); ++p) passed[p] += result.passed[p];
  }
  ASSERT_GT(cases, 0);
  const double least[] = {0.99, 0.99, 0.98};
  for (size_t p = 0; p < std::size(kPrecisions); ++p) {
    std::cout << kPrecisionNames[p] << ": " << passed[p] << " of " << cases << "\n";
    EXPECT_GE(passed[p], least[p] * cases) << kPrecisionNames[p];
  }
  // What follows is not about ops and stays.
  constexpr const char* kDocument = PIPPIN_SOURCE_DIR "/docs/conformance.md";
  const std::string document = read_file(kDocument);
  const size_t rest = std::min(document.find("\n## Chat templates\n"), document.size());
  const char* target = std::getenv("PIPPIN_CONFORMANCE");
  write_file(target != nullptr ? target : kDocument, conformance_table() + document.substr(rest));
}

// Floats that kernels trip over, among ordinary ones.
mil::Tensor ugly(const mil::Tensor& like, bool finite, std::mt19937& random) {
  constexpr double kSpecial[] = {0.0,  -0.0,  1.0,    -1.0, 0.5,        1e-7,     -1e-7,
                                 88.0, -88.0, 1000.0, 1e15, 1e-40,      INFINITY, -INFINITY,
                                 NAN,  0.1,   2.5,    -3.5, 16777217.0, 2.0e-38};
  mil::Tensor tensor = like;
  std::uniform_real_distribution<double> plain(-3, 3);
  std::uniform_int_distribution<size_t> pick(0, std::size(kSpecial) - 1);
  for (double& value : tensor.values) {
    value = random() % 4 == 0 ? kSpecial[pick(random)] : plain(random);
    if (finite && !std::isfinite(value)) value = 0;
  }
  return tensor;
}

TEST(OpCases, PlansAgreeWithTheReferenceOnUglyInput) {
  PIPPIN_SHARED_OR_SKIP(root, "op-cases");
  ThreadPool pool(1);
  std::mt19937 random(20261121);
  int compared = 0, differing = 0;
  for (const char* folder : {"iOS14", "iOS15", "iOS16", "iOS17", "iOS18"}) {
    const fs::path cases = unpack(root / folder);
    for (const Case& item : load_cases(root / folder / "cases.tsv")) {
      if (item.compare != "values" || item.stateful) continue;
      const mil::Model model = mil::read_package(cases / item.name / "model.mlpackage");
      NamedHostTensors inputs;
      const mil::Function& function = model.program.function(item.function);
      // Whether a key that does not count or a place in the padding adds 0 times infinity is open.
      const bool finite = std::any_of(item.ops.begin(), item.ops.end(), [](const auto& op) {
        return op == "conv" || op == "scaled_dot_product_attention";
      });
      bool floats = true;  // and no halves: plans do not round in between
      mil::for_each_operation(function.block(), [&](const mil::Operation& operation) {
        for (const auto& output : operation.outputs()) {
          const bool half =
              output->type.is_tensor() && output->type.data_type == mil::DataType::Float16;
          floats = floats && !half;
        }
      });
      for (const auto& [name, tensor] : load_tensors(cases / item.name / "in.npz")) {
        const mil::Var* var = function.find_input(name);
        floats = floats && var->type.data_type == mil::DataType::Float32;
        inputs.emplace(name, to_host(floats ? ugly(tensor, finite, random) : tensor));
      }
      if (!floats) continue;
      std::string wrong;
      State state({});
      NamedHostTensors expected;
      try {
        RunnerOptions options;
        options.precision = Precision::Reference;
        expected = Runner::make(model, item.function, pool, options)->run(inputs, state);
      } catch (const Error&) {
        continue;  // what the value rule refuses
      }
      try {
        RunnerOptions options;
        options.precision = Precision::Exact;
        const auto actual = Runner::make(model, item.function, pool, options)->run(inputs, state);
        for (const auto& [name, tensor] : expected) {
          if (tensor.type == mil::DataType::String) continue;
          const std::string d =
              difference(as_tensor(actual.at(name)), as_tensor(tensor), {1e-4, 1e-4});
          if (!d.empty()) wrong = name + ": " + d;
        }
      } catch (const Error& error) {
        wrong = error.what();
      }
      ++compared;
      if (wrong.empty()) continue;
      ++differing;
      std::cout << folder << "/" << item.name << " " << fmt::format("{}", fmt::join(item.ops, " "))
                << ": " << wrong << "\n";
    }
  }
  std::cout << compared << " compared, " << differing << " differ\n";
  EXPECT_EQ(differing, 0);
}

}  // namespace
}  // namespace pippin::engine
