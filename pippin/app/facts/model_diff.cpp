#include "pippin/app/facts/model_diff.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "pippin/app/open/open_model.h"
#include "pippin/base/error.h"
#include "pippin/io/json.h"
#include "pippin/mil/package/archive.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/package/summary.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/benchmark.h"
#include "pippin/runtime/open/package_family.h"
#include "pippin/runtime/package/folder.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;

// The programs and texts of a model, with the files that they are read from.
struct OpenedFiles {
  std::unique_ptr<runtime::PackageFolder> folder;  // of unpacked files; may be null
  std::map<std::string, mil::Model> programs;      // by name
  std::map<std::string, std::string> texts;
};

void add_texts(std::vector<mil::ExtraFile> files, OpenedFiles& opened) {
  for (mil::ExtraFile& file : files) {
    opened.texts.insert_or_assign(std::move(file.name), std::move(file.content));
  }
}

OpenedFiles open_files(const fs::path& path) {
  OpenedFiles opened;
  if (!fs::exists(path)) fail(ErrorCode::NotFound, "{}: there is no such model", path.string());
  if (!runtime::names_packages(path)) {
    opened.programs.emplace("", models::build(path));
    add_texts(models::package_files(path), opened);
    return opened;
  }
  const auto read = [&](const std::string& name, const fs::path& package) {
    mil::Model model = mil::read_package(package);
    if (!model.has_program()) {
      fail(ErrorCode::Unsupported, "{}: a {}, which has no program to compare", package.string(),
           to_string(model.kind));
    }
    opened.programs.emplace(name, std::move(model));
    add_texts(mil::read_extra_files(package), opened);
  };
  if (mil::is_package(path) && !mil::is_archive(path)) {
    read("", path);
    return opened;
  }
  opened.folder = std::make_unique<runtime::PackageFolder>(path);
  const std::vector<std::string> stems = opened.folder->stems();
  for (const std::string& stem : stems) {
    read(stems.size() == 1 ? "" : stem, opened.folder->package(stem));
  }
  if (fs::is_directory(path)) add_texts(models::folder_files(path), opened);
  return opened;
}

using Facts = std::map<std::string, std::string>;

// Facts of one model only, or that differ.
std::vector<FactChange> changes_of(const Facts& a, const Facts& b) {
  std::vector<FactChange> changes;
  for (const auto& [place, fact] : a) {
    const auto found = b.find(place);
    if (found == b.end()) changes.push_back({place, fact, ""});
    if (found != b.end() && found->second != fact) changes.push_back({place, fact, found->second});
  }
  for (const auto& [place, fact] : b) {
    if (!a.contains(place)) changes.push_back({place, "", fact});
  }
  std::sort(changes.begin(), changes.end(),
            [](const FactChange& x, const FactChange& y) { return x.place < y.place; });
  return changes;
}

Facts interface_of(const mil::Model& model) {
  Facts facts;
  facts["specification version"] = std::to_string(model.specification_version);
  facts["default function"] = model.default_function;
  for (const auto& [key, value] : model.metadata.user_defined) {
    facts[fmt::format("metadata {}", key)] = value;
  }
  for (const auto& [key, value] :
       {std::pair("description", model.metadata.short_description),
        std::pair("author", model.metadata.author), std::pair("license", model.metadata.license),
        std::pair("version", model.metadata.version)}) {
    if (!value.empty()) facts[fmt::format("metadata {}", key)] = value;
  }
  for (const mil::FunctionDescription& function : model.functions) {
    facts[fmt::format("{}, opset", function.name)] = model.program.function(function.name).opset;
    const auto add = [&](const char* kind, const std::vector<mil::Feature>& features) {
      for (const mil::Feature& feature : features) {
        facts[fmt::format("{}, {} {}", function.name, kind, feature.name)] =
            mil::spell_type(feature);
      }
    };
    add("input", function.inputs);
    add("output", function.outputs);
    add("state", function.states);
  }
  return facts;
}

using Counts = std::map<std::pair<std::string, std::string>, int64_t>;  // by function and type

Counts count_operations(const mil::Model& model) {
  Counts counts;
  for (const auto& [name, function] : model.program.functions) {
    mil::for_each_operation(function->block(), [&, &owner = name](const mil::Operation& operation) {
      ++counts[{owner, operation.type()}];
    });
  }
  return counts;
}

std::vector<OperationChange> operation_changes(const mil::Model& a, const mil::Model& b) {
  const Counts first = count_operations(a), second = count_operations(b);
  std::set<std::pair<std::string, std::string>> keys;
  for (const Counts* counts : {&first, &second}) {
    for (const auto& [key, count] : *counts) keys.insert(key);
  }
  const auto count_in = [](const Counts& counts, const auto& key) {
    const auto found = counts.find(key);
    return found == counts.end() ? 0 : found->second;
  };
  std::vector<OperationChange> changes;
  for (const auto& key : keys) {
    const int64_t one = count_in(first, key), other = count_in(second, key);
    if (one != other) changes.push_back({key.first, key.second, one, other});
  }
  return changes;
}

std::map<std::string_view, int64_t> lines_of(std::string_view text) {
  std::map<std::string_view, int64_t> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    ++lines[text.substr(0, end)];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

TextChange text_change(const std::string& name, std::string_view a, std::string_view b) {
  TextChange change{name, true, true};
  std::map<std::string_view, int64_t> lines = lines_of(b);
  for (const auto& [line, count] : lines_of(a)) lines[line] -= count;
  for (const auto& [line, count] : lines) {
    (count > 0 ? change.added : change.removed) += std::abs(count);
  }
  return change;
}

void compare_texts(const OpenedFiles& a, const OpenedFiles& b, ModelDiff& diff) {
  for (const auto& [name, text] : a.texts) {
    const auto found = b.texts.find(name);
    if (found == b.texts.end()) {
      diff.texts.push_back({name, true, false});
    } else if (found->second == text) {
      ++diff.equal_texts;
    } else {
      diff.texts.push_back(text_change(name, text, found->second));
    }
  }
  for (const auto& [name, text] : b.texts) {
    if (!a.texts.contains(name)) diff.texts.push_back({name, false, true});
  }
}

// One after the other, several times: the speed of a machine changes.
std::vector<SpeedChange> compare_speed(const fs::path& a, const fs::path& b,
                                       const DiffOptions& options) {
  const auto open = [&](const fs::path& path) {
    ModelChoice choice;
    choice.path = path.string();
    choice.load.threads = options.threads;
    return open_runnable(choice);
  };
  const runtime::RunnableModel models[] = {open(a), open(b)};
  runtime::BenchmarkOptions bench;
  const int64_t context = std::min(models[0].model->context(), models[1].model->context());
  bench.tokens = std::min<int64_t>(32, context / 2);
  bench.prompts = {std::min<int64_t>(128, context / 2)};
  bench.depths = {0};
  bench.repetitions = 1;
  for (const auto& model : models) runtime::warm_up(*model.model, bench);
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> rates;
  for (int i = 0; i < options.repetitions; ++i) {
    for (const auto& model : models) {
      for (const runtime::BenchmarkCase& one : runtime::run_benchmark(*model.model, bench)) {
        const bool reads = one.kind == runtime::BenchmarkCase::Kind::Prefill;
        auto& [of_a, of_b] = rates[reads ? fmt::format("prompt of {} tokens", one.tokens)
                                         : fmt::format("decode of {} tokens", one.tokens)];
        for (const runtime::BenchmarkSample& sample : one.samples) {
          (&model == &models[0] ? of_a : of_b)
              .push_back(static_cast<double>(one.tokens) / sample.seconds);
        }
      }
    }
  }
  std::vector<SpeedChange> speed;
  speed.reserve(rates.size());
  for (auto& [name, both] : rates) {
    speed.push_back({name, runtime::percentile(std::move(both.first), 0.5),
                     runtime::percentile(std::move(both.second), 0.5)});
  }
  return speed;
}

void write_changes(JsonWriter& json, const std::vector<FactChange>& changes) {
  json.begin_array();
  for (const FactChange& change : changes) {
    json.begin_object().member("place", change.place);
    if (!change.a.empty()) json.member("a", change.a);
    if (!change.b.empty()) json.member("b", change.b);
    json.end_object();
  }
  json.end_array();
}

void write_weights(JsonWriter& json, const WeightDiff& weights) {
  json.begin_object().member("equal", weights.equal).member("bytes_a", weights.bytes_a);
  json.member("bytes_b", weights.bytes_b).member("relative_error", weights.relative_error);
  json.key("changes").begin_array();
  for (const WeightChange& change : weights.changes) {
    json.begin_object().member("name", change.name);
    if (!change.form_a.empty()) json.member("form_a", change.form_a);
    if (!change.form_b.empty()) json.member("form_b", change.form_b);
    if (change.has_error) {
      json.member("relative_error", change.relative_error);
      json.member("largest_error", change.largest_error);
    }
    json.end_object();
  }
  json.end_array().end_object();
}

}  // namespace

bool ModelDiff::is_equal() const {
  const bool programs_equal =
      std::all_of(programs.begin(), programs.end(), [](const ProgramDiff& program) {
        return program.interface.empty() && program.operations.empty() &&
               program.weights.changes.empty();
      });
  return programs_equal && packages.empty() && texts.empty();
}

ModelDiff compare_models(const fs::path& a, const fs::path& b, const DiffOptions& options) {
  OpenedFiles first = open_files(a), second = open_files(b);
  ModelDiff diff;
  for (auto& [name, program] : first.programs) {
    const auto found = second.programs.find(name);
    if (found == second.programs.end()) {
      diff.packages.push_back({name, "present", ""});
      continue;
    }
    ProgramDiff one;
    one.name = name;
    one.interface = changes_of(interface_of(program), interface_of(found->second));
    one.operations = operation_changes(program, found->second);
    one.weights = compare_weights(program, found->second, options.progress);
    diff.programs.push_back(std::move(one));
  }
  for (const auto& [name, program] : second.programs) {
    if (!first.programs.contains(name)) diff.packages.push_back({name, "", "present"});
  }
  compare_texts(first, second, diff);
  if (options.speed) diff.speed = compare_speed(a, b, options);
  return diff;
}

std::string to_json(const ModelDiff& diff) {
  JsonWriter json;
  json.begin_object().member("equal", diff.is_equal());
  if (!diff.packages.empty()) write_changes(json.key("packages"), diff.packages);
  json.key("programs").begin_array();
  for (const ProgramDiff& program : diff.programs) {
    json.begin_object();
    if (!program.name.empty()) json.member("name", program.name);
    write_changes(json.key("interface"), program.interface);
    json.key("operations").begin_array();
    for (const OperationChange& change : program.operations) {
      json.begin_object().member("function", change.function).member("type", change.type);
      json.member("a", change.a).member("b", change.b).end_object();
    }
    json.end_array();
    write_weights(json.key("weights"), program.weights);
    json.end_object();
  }
  json.end_array();
  json.member("equal_texts", diff.equal_texts).key("texts").begin_array();
  for (const TextChange& change : diff.texts) {
    json.begin_object().member("name", change.name).member("in_a", change.in_a);
    json.member("in_b", change.in_b);
    if (change.in_a && change.in_b) {
      json.member("removed_lines", change.removed).member("added_lines", change.added);
    }
    json.end_object();
  }
  json.end_array();
  if (!diff.speed.empty()) {
    json.key("tokens_per_second").begin_array();
    for (const SpeedChange& change : diff.speed) {
      json.begin_object().member("name", change.name).member("a", change.a);
      json.member("b", change.b).end_object();
    }
    json.end_array();
  }
  return json.end_object().text();
}

}  // namespace pippin::app
