#include "pippin/cli/options/ranks.h"

#include <csignal>
#include <memory>
#include <utility>

#include "pippin/base/error.h"
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

}  // namespace

bool run_as_rank(app::ModelChoice& choice) {
  if (!pipeline::job_size()) return false;
  const auto ranks = pipeline::Pipeline::make(pipeline::join_job());
  if (ranks->is_root()) check_options(choice.load);  // one line, not one of each rank
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

bool serve_as_rank(server::ModelListOptions& options) {
  if (!pipeline::job_size()) return false;
  if (options.models.size() != 1) {
    fail(ErrorCode::InvalidArgument, "the ranks of an MPI job serve one model, not {}",
         options.models.size());
  }
  server::ModelEntry& entry = options.models.front();
  const server::ModelSettings& given = entry.settings == nullptr ? options : *entry.settings;
  auto settings = std::make_shared<server::ModelSettings>(given);
  settings->choice.path = entry.path;
  settings->is_pinned = true;
  const bool is_other = run_as_rank(settings->choice);
  entry.settings = std::move(settings);
  return is_other;
}

}  // namespace pippin::cli
