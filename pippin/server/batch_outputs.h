// The files of a batch that has ended: its answers, and its failures.
#pragma once

#include "pippin/batch/job.h"
#include "pippin/server/batch_record.h"
#include "pippin/server/file_store.h"

namespace pippin::server {

// The error of requests without an answer.
struct MissingAnswer {
  const char* code;
  const char* message;
};

// Stores both files, or the one that has lines, under ids that depend on the batch's id only:
// repeating it after a crash gives the same files. Sets their ids, the counts and the usage in
// `batch`; a request without an answer counts as neither completed nor failed. Throws Io,
// Cancelled.
void store_outputs(const batch::Job& job, const MissingAnswer& missing, FileStore& files,
                   BatchRecord& batch);

}  // namespace pippin::server
