// Commands as a rank of an MPI job: `mpirun -n 4 pippin run big/` (pipeline/pipeline.h).
#pragma once

#include "pippin/app/open/open_model.h"
#include "pippin/server/model_list.h"

namespace CLI {
class App;
}

namespace pippin::cli {

// --tensor-parallel: the ranks that compute each layer together. `width` must outlive `command`.
void add_ranks_option(CLI::App& command, int& width);

// Joins the job if this process is a rank of one, and sets the choice's device: the model's layers
// run on all ranks, in groups of `width`. Rank 0 then uses the model as usual: false. The others
// open it here, carry out what rank 0 asks until it ends, and have nothing left to do: true. Throws
// InvalidArgument for options that need one process, and for a width that needs a job.
bool run_as_rank(app::ModelChoice& choice, int width);

// The same for a server, which then has one model: the first request does not have to load it.
bool serve_as_rank(server::ModelListOptions& options, int width);

// Whether the parsed command is that of a rank before this one, and a job of ranks may run it: that
// rank prints the errors in its options (pipeline::repeats_command_line()).
bool repeats_command(const CLI::App& app);

}  // namespace pippin::cli
