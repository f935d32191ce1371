// The MPI job that this process belongs to.
#pragma once

#include <memory>
#include <optional>

#include "pippin/pipeline/transport.h"

namespace pippin::pipeline {

// The number of ranks of the job that this process belongs to, as its launcher tells: mpirun, or
// srun --mpi=pmix. Nothing for other processes, with one rank, and with PIPPIN_MPI=off.
std::optional<int> job_size();

// Joins the job by the plugin libpippin-mpi.so (plugin.h). Throws NotFound if that is not
// installed, saying where it was looked for, Unsupported for one of another version.
std::unique_ptr<Transport> join_job();

}  // namespace pippin::pipeline
