// Commands as a rank of an MPI job: `mpirun -n 4 pippin run big/` (pipeline/pipeline.h).
#pragma once

#include "pippin/app/open/open_model.h"
#include "pippin/server/model_list.h"

namespace pippin::cli {

// Joins the job if this process is a rank of one, and sets the choice's device: the model's layers
// run on all ranks. Rank 0 then uses the model as usual: false. The others open it here, carry out
// what rank 0 asks until it ends, and have nothing left to do: true. Throws InvalidArgument for
// options that need one process.
bool run_as_rank(app::ModelChoice& choice);

// The same for a server, which then has one model: the first request does not have to load it.
bool serve_as_rank(server::ModelListOptions& options);

}  // namespace pippin::cli
