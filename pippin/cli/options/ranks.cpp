#include "pippin/cli/options/ranks.h"

#include <csignal>
#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "pippin/base/error.h"
#include "pippin/cli/options/options.h"
#include "pippin/pipeline/mpi/job.h"
#include "pippin/pipeline/pipeline.h"

namespace pippin::cli {

namespace {

void check_options(const runtime::LoadOptions& load) {
  if (load.compute.device != nullptr) {
    fail(ErrorCode::InvalidArgument, "--backend: the ranks of an MPI job compute on CPUs");
  }
  if (load.low_memory) {
    fail(ErrorCode::InvalidArgument, "--low-memory: the ranks of an MPI job keep their layers");
  }
}

// Of a process without a job.
void check_alone(int width) {
  if (width > 1) {
    fail(ErrorCode::InvalidArgument,
         "--tensor-parallel {}: no MPI job started this process (mpirun -n {} pippin ...)", width,
         width);
  }
}

}  // namespace

void add_ranks_option(CLI::App& command, int& width) {
  command
      .add_option(
          "--tensor-parallel", width,
          "Under mpirun: ranks that compute each layer together, so that a token takes less "
          "time (1); as many as ranks, or a divisor of their number")
      ->type_name("N")
      ->check(between(1, 1024));
}

bool run_as_rank(app::ModelChoice& choice, int width) {
  if (!pipeline::job_size()) {
    check_alone(width);
    return false;
  }
  auto transport = pipeline::join_job();
  const int size = transport->size();
  const bool fits = size % width == 0;
  const auto ranks = pipeline::Pipeline::make(std::move(transport), {.width = fits ? width : 1});
  if (ranks->is_root()) {  // one line, not one of each rank
    check_options(choice.load);
    if (!fits) {
      fail(ErrorCode::InvalidArgument, "--tensor-parallel {}: {} ranks do not form groups of {}",
           width, size, width);
    }
  }
  choice.load.compute.device = ranks->device();
  choice.load.compute.fallback = engine::Fallback::Never;
  if (ranks->is_root()) return false;
  std::signal(SIGTERM, SIG_IGN);  // rank 0 ends in its own time, and then this one
  std::signal(SIGINT, SIG_IGN);
  try {
    const runtime::LoadedModel model = app::open_model(choice);
    ranks->serve();
  } catch (const Error& error) {
    ranks->end_job(error);
  }
  return true;
}

bool repeats_command(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  const std::string name = commands.empty() ? "" : commands.front()->get_name();
  const bool may_join = name == "run" || name == "serve" || name == "batch";
  return may_join && pipeline::repeats_command_line();
}

bool serve_as_rank(server::ModelListOptions& options, int width) {
  if (!pipeline::job_size()) {
    check_alone(width);
    return false;
  }
  if (options.models.size() != 1) {
    fail(ErrorCode::InvalidArgument, "the ranks of an MPI job serve one model, not {}",
         options.models.size());
  }
  server::ModelEntry& entry = options.models.front();
  const server::ModelSettings& given = entry.settings == nullptr ? options : *entry.settings;
  auto settings = std::make_shared<server::ModelSettings>(given);
  settings->choice.path = entry.path;
  settings->is_pinned = true;
  const bool is_other = run_as_rank(settings->choice, width);
  entry.settings = std::move(settings);
  return is_other;
}

}  // namespace pippin::cli
