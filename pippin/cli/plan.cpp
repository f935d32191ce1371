#include "pippin/cli/plan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/app/facts/capacity.h"
#include "pippin/app/facts/model_shape.h"
#include "pippin/app/open/text_input.h"
#include "pippin/base/error.h"
#include "pippin/base/platform/free_memory.h"
#include "pippin/cli/options/options.h"
#include "pippin/cli/options/pull_display.h"
#include "pippin/cli/plan_report.h"

namespace pippin::cli {
namespace {

struct PlanCommand {
  std::string model, bench;
  app::Machines machines;
  app::Load load;
  std::optional<int64_t> context, prompt, answer;
  double network_bits = 1e9, latency_us = 100;
  bool json = false;
};

// A number with an optional unit of 1000: "60G".
CLI::Validator per_second(const char* what) {
  const std::string unit = what;
  const auto read = [unit](std::string& text) {
    size_t end = 0;
    double value = 0;
    try {
      value = std::stod(text, &end);
    } catch (const std::exception&) {
      end = 0;
    }
    const std::string rest = end > 0 ? text.substr(end) : "?";
    const double factor = rest.empty()  ? 1
                          : rest == "K" ? 1e3
                          : rest == "M" ? 1e6
                          : rest == "G" ? 1e9
                          : rest == "T" ? 1e12
                                        : 0;
    if (factor == 0 || !(value > 0) || !std::isfinite(value)) {
      return fmt::format("{} is not a number of {} per second, such as 10G", text, unit);
    }
    text = fmt::format("{}", value * factor);
    return std::string();
  };
  return {read, ""};
}

void set_context(int64_t own, PlanCommand& command) {
  if (own > 0 && command.context > own) {
    fail(ErrorCode::InvalidArgument, "--context {}: the context of {} is {} tokens",
         *command.context, command.model, own);
  }
  int64_t& context = command.load.context;
  context = command.context.value_or(own > 0 ? std::min(context, own) : context);
}

// A request has to fit the context: its usual sizes are reduced, those that are given are not.
void set_request(PlanCommand& command) {
  app::Load& load = command.load;
  load.answer = command.answer.value_or(std::clamp<int64_t>(
      load.context - command.prompt.value_or(load.context * 3 / 4), 1, load.answer));
  load.prompt =
      command.prompt.value_or(std::clamp<int64_t>(load.context - load.answer, 1, load.prompt));
  if (load.prompt + load.answer > load.context) {
    fail(ErrorCode::InvalidArgument, "a prompt of {} and an answer of {} tokens: the context is {}",
         load.prompt, load.answer, load.context);
  }
}

void plan(PlanCommand& command) {
  if (command.machines.memory_bytes == 0) command.machines.memory_bytes = total_memory();
  command.machines.network_bytes_per_second = command.network_bits / 8;
  command.machines.network_latency = command.latency_us * 1e-6;
  if (command.bench.empty() && command.machines.bandwidth == 0) {
    throw CLI::ValidationError(
        "--bench or --bandwidth is needed: a report of a machine, or the speed of its memory");
  }
  if (command.machines.tensor_parallel > command.machines.count) {
    throw CLI::ValidationError(fmt::format("--tensor-parallel {}: --machines {} are fewer",
                                           command.machines.tensor_parallel,
                                           command.machines.count));
  }
  const app::MachineSpeed speed =
      command.bench.empty() ? app::speed_of_bandwidth(command.machines.bandwidth)
                            : app::read_speed(app::read_text(command.bench), command.bench);
  if (command.machines.bandwidth > 0 && speed.memory_bandwidth <= 0) {
    fail(ErrorCode::InvalidArgument, "--bandwidth: {} does not have its machine's bandwidth",
         command.bench);
  }
  const app::ModelShape shape = app::read_shape({command.model, "", {}, show_pulls()});
  set_context(shape.context, command);
  set_request(command);
  const app::CapacityPlan made = app::plan_capacity(shape, speed, command.machines, command.load);
  print_out(command.json ? plan_json(shape, made)
                         : plan_text(shape, made, command.machines, command.load));
}

}  // namespace

CLI::App* add_plan_command(CLI::App& app) {
  auto command = std::make_shared<PlanCommand>();
  CLI::App* sub =
      app.add_subcommand("plan", "Predict a model's speed and cost on several machines");
  const auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return sub->add_option(name, value, help)->type_name(type);
  };
  option("MODEL", command->model, "", "What `pippin run` takes; its weights are not read")
      ->required();
  option("--bench", command->bench, "FILE",
         "Report of `pippin bench --json --parallel 1,8 -n 32`, of any model on such a machine; "
         "without it only what memory determines is predicted");
  option("--machines", command->machines.count, "N", "Machines (1)")->check(between(1, 100000));
  option("--tensor-parallel", command->machines.tensor_parallel, "N",
         "Machines that compute each layer together (1): a token takes less time")
      ->check(between(1, 1024));
  option("--memory", command->machines.memory_bytes, "BYTES",
         "Memory of each for weights and caches (this machine's)")
      ->transform(size_in_bytes());
  option("--bandwidth", command->machines.bandwidth, "BYTES",
         "Bytes per second that each reads from memory: 60G (the report's)")
      ->transform(per_second("bytes"));
  option("--network", command->network_bits, "BITS", "Bits per second between them (1G)")
      ->transform(per_second("bits"));
  option("--latency", command->latency_us, "US", "Microseconds for a message between them (100)")
      ->check(CLI::Range(0.0, 1e7).description(""));
  option("--streams", command->load.streams, "N", "Sequences that decode together (8)")
      ->check(between(1, 100000));
  option("--context", command->context, "N",
         "Tokens of each sequence's cache (the model's context, at most 4096)")
      ->check(between(1));
  option("--prompt", command->prompt, "N", "Tokens of a prompt (512, or what fits the context)")
      ->check(between(1));
  option("--answer", command->answer, "N", "Tokens of an answer (128, or what fits the context)")
      ->check(between(1));
  option("--requests", command->load.requests, "N", "Requests of a corpus: its time and cost")
      ->check(between(1));
  option("--price", command->machines.price_per_hour, "PRICE", "Price of a machine for an hour")
      ->check(CLI::Range(0.0, 1e9).description(""))
      ->needs("--requests");
  sub->add_flag("--json", command->json, "Print the plan as JSON");
  sub->callback([command] { plan(*command); });
  return sub;
}

}  // namespace pippin::cli
