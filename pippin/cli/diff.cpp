#include "pippin/cli/diff.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/app/facts/model_diff.h"
#include "pippin/base/columns.h"
#include "pippin/base/text.h"
#include "pippin/cli/options/options.h"
#include "pippin/cli/options/progress.h"
#include "pippin/cli/options/pull_display.h"

namespace pippin::cli {
namespace {

struct DiffCommand {
  std::string a, b;
  app::DiffOptions options;
  size_t shown_weights = 20;
  bool json = false, sets_status = false;
};

using Rows = std::vector<std::vector<std::string>>;

std::string section(const std::string& title, const Rows& rows) {
  return rows.empty() ? "" : fmt::format("{}\n{}", title, in_columns(rows, "  "));
}

Rows rows_of(const std::vector<app::FactChange>& changes) {
  const auto spell = [](const std::string& fact) {
    return fact.empty() ? "absent" : one_line(fact);
  };
  Rows rows;
  rows.reserve(changes.size());
  for (const app::FactChange& change : changes) {
    rows.push_back({one_line(change.place), spell(change.a), "->", spell(change.b)});
  }
  return rows;
}

Rows rows_of(const app::WeightDiff& weights, size_t most) {
  Rows rows;
  for (const app::WeightChange& change : weights.changes) {
    if (rows.size() == most) {
      rows.push_back({fmt::format("... {} more (--all)", weights.changes.size() - most)});
      break;
    }
    std::string error = change.form_a.empty()   ? "only in B"
                        : change.form_b.empty() ? "only in A"
                                                : "";
    if (error.empty()) {
      error = change.has_error ? fmt::format("{:.3e}, at most {:.3e}", change.relative_error,
                                             change.largest_error)
                               : "other sizes";
    }
    const bool same_form = change.form_a == change.form_b;
    rows.push_back({one_line(change.name), error,
                    same_form ? change.form_a
                              : fmt::format("{} -> {}", change.form_a.empty() ? "-" : change.form_a,
                                            change.form_b.empty() ? "-" : change.form_b)});
  }
  return rows;
}

std::string text_of(const app::ProgramDiff& program, size_t most) {
  const std::string name = program.name.empty() ? "" : fmt::format("{}: ", program.name);
  std::string text = section(name + "interface", rows_of(program.interface));
  Rows operations;
  operations.reserve(program.operations.size());
  for (const app::OperationChange& change : program.operations) {
    operations.push_back({one_line(change.function), one_line(change.type),
                          fmt::format("{} -> {}", change.a, change.b),
                          fmt::format("{:+}", change.b - change.a)});
  }
  text += section(name + "operations", operations);
  const app::WeightDiff& weights = program.weights;
  text += section(fmt::format("{}weights: {} differ, {} are equal; error of all {:.3e}; {} -> {}",
                              name, weights.changes.size(), weights.equal, weights.relative_error,
                              format_bytes(weights.bytes_a), format_bytes(weights.bytes_b)),
                  rows_of(weights, most));
  return text;
}

std::string text_of(const app::ModelDiff& diff, size_t most) {
  std::string text = section("packages", rows_of(diff.packages));
  for (const app::ProgramDiff& program : diff.programs) text += text_of(program, most);
  Rows texts, speed;
  for (const app::TextChange& change : diff.texts) {
    texts.push_back({one_line(change.name),
                     !change.in_a   ? "only in B"
                     : !change.in_b ? "only in A"
                                    : fmt::format("-{} +{} lines", change.removed, change.added)});
  }
  text +=
      section(fmt::format("texts: {} differ, {} are equal", texts.size(), diff.equal_texts), texts);
  for (const app::SpeedChange& change : diff.speed) {
    speed.push_back({change.name, fmt::format("{:.1f} -> {:.1f} tok/s", change.a, change.b),
                     fmt::format("{:+.1f} %", (change.b / change.a - 1) * 100)});
  }
  text += section("speed", speed);
  if (diff.is_equal()) text += "no difference\n";
  return text;
}

}  // namespace

CLI::App* add_diff_command(CLI::App& app, int& exit_status) {
  auto command = std::make_shared<DiffCommand>();
  CLI::App* sub = app.add_subcommand("diff", "Compare two models, or two versions of one");
  const auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return sub->add_option(name, value, help)->type_name(type);
  };
  option("A", command->a, "", "A package, a folder, or org/name[@revision]")->required();
  option("B", command->b, "", "The model to compare with it")->required();
  sub->add_flag("--speed", command->options.speed, "Also run both, in turns");
  option("-r,--repetitions", command->options.repetitions, "N", "Runs of each for --speed (3)")
      ->check(between(1, 100));
  option("-t,--threads", command->options.threads, "N", "Threads (default: one per core)")
      ->check(between(1, 1024));
  sub->add_flag_callback(
      "--all", [command] { command->shown_weights = SIZE_MAX; },
      "Print all weights that differ, not only the 20 with the largest errors");
  sub->add_flag("--json", command->json, "Print the differences as JSON");
  sub->add_flag("--exit-code", command->sets_status, "Exit with status 1 if the models differ");
  sub->callback([command, &exit_status] {
    const std::string a = local_model(command->a), b = local_model(command->b);
    app::ModelDiff diff;
    {
      Progress bar("Comparing", command->json ? Progress::Style::Quiet : Progress::Style::Auto,
                   stderr, "weights");
      command->options.progress = [&](uint64_t done, uint64_t total) { bar.update(done, total); };
      diff = app::compare_models(a, b, command->options);
    }
    print_out(command->json ? app::to_json(diff) + "\n" : text_of(diff, command->shown_weights));
    if (command->sets_status && !diff.is_equal()) exit_status = 1;
  });
  return sub;
}

}  // namespace pippin::cli
