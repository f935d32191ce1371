#include "pippin/cli/doctor.h"

#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/cli/options/options.h"
#include "pippin/cli/options/progress.h"
#include "pippin/cli/options/pull_display.h"
#include "pippin/doctor/report_text.h"

namespace pippin::cli {
namespace {

struct DoctorCommand {
  std::string path, target, text, tokenizer;
  int threads = 0;
  bool json = false, all = false, rules = false;
};

// Distinct from the statuses for errors and wrong usage.
constexpr int kWarnings = 4, kErrors = 5;

int run(const DoctorCommand& command) {
  if (command.rules) {
    print_out(doctor::rules_table());
    return 0;
  }
  if (command.path.empty()) throw CLI::RequiredError("PACKAGE");
  doctor::ExamineOptions options;
  if (!command.target.empty()) options.target = doctor::parse_target(command.target);
  options.text = command.text;
  options.tokenizer = command.tokenizer;
  options.threads = command.threads;
  const doctor::Report report =
      doctor::examine(local_model(command.path, app::ModelPart::Package), options);
  print_out(command.json ? doctor::report_json(report)
                         : doctor::report_text(report, {has_styles(stdout), command.all}));
  if (report.count(doctor::Severity::Error) > 0) return kErrors;
  return report.count(doctor::Severity::Warning) > 0 ? kWarnings : 0;
}

}  // namespace

CLI::App* add_doctor_command(CLI::App& app, int& exit_status) {
  CLI::App* command = app.add_subcommand(
      "doctor", "Report what keeps a package off the Neural Engine, or makes a system reject it");
  auto values = std::make_shared<DoctorCommand>();
  command->add_option(
      "PACKAGE", values->path,
      "X.mlpackage, X.mlmodelc, X.mlmodel or model.mil, a .zip or .gz of one, or a folder of "
      "packages");
  command
      ->add_option("--target", values->target,
                   "The system that it is for: ios15 to ios18, ios26, macos12 to macos15, macos26")
      ->type_name("SYSTEM");
  command
      ->add_option("--calibrate", values->text,
                   "Text to measure norms and results of fp16 on, - is stdin; or X.npz: inputs of "
                   "one package")
      ->type_name("FILE");
  command->add_option("--tokenizer", values->tokenizer, "Tokenizer for a package without one")
      ->type_name("FOLDER");
  command->add_option("-t,--threads", values->threads, "Threads of --calibrate (default: all)")
      ->check(between(1, 1024));
  command->add_flag("--all", values->all, "List every place, not the first three");
  command->add_flag("--json", values->json, "Print the report as JSON");
  command->add_flag("--rules", values->rules, "Print the table of rules as Markdown");
  command->footer(
      "Exit status: 0 for nothing or notes, 4 for warnings, 5 for errors.\n"
      "Nothing is run on any device: the rules are published findings (docs/doctor.md).");
  command->callback([values, &exit_status] { exit_status = run(*values); });
  return command;
}

}  // namespace pippin::cli
