// The MPI job that this process belongs to.
#pragma once

#include <memory>
#include <optional>

#include "pippin/pipeline/transport.h"

namespace pippin::pipeline {

// The number of ranks of the job that this process belongs to, as its launcher tells: mpirun, or
// srun --mpi=pmix. Nothing for other processes, with one rank, and if PIPPIN_MPI is `off` or `0`.
// Throws InvalidArgument if it is neither that nor empty, `on` or `1`, in any case.
std::optional<int> job_size();

// Whether a rank before this one has the same command line, as far as the launcher tells, and this
// one has not joined the job: then an error in the options is that rank's, too.
bool repeats_command_line();

// Joins the job by the plugin libpippin-mpi.so (plugin.h). Throws NotFound if that is not
// installed, saying where it was looked for, Unsupported for one of another version.
std::unique_ptr<Transport> join_job();

}  // namespace pippin::pipeline
