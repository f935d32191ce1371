// Compares two models on a corpus, a text on each line of a file, together with other processes
// that do the same: a queue in a folder (batch/job.h). The result is that of one process, to the
// last bit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "pippin/app/open/open_model.h"
#include "pippin/app/verify.h"

namespace pippin::app {

struct CorpusOptions {
  // A text on each line or, if the name ends in .jsonl, an object with "text".
  std::filesystem::path input;
  std::filesystem::path folder;  // of the job
  uint64_t shard = 0;            // texts that a process takes at once; 0: as batch::JobSettings
  double first_share = 0;        // batch::WorkerOptions
  // Called with the path of a file to create if this process crashes (batch::crash_mark).
  std::function<void(const std::filesystem::path&)> mark_crashes;
  std::function<void(uint64_t done, uint64_t total)> progress;  // in texts
};

struct CorpusResult {
  VerifyResult result;
  uint64_t texts = 0, failed = 0;  // texts that could not be compared have no part in the result
  std::string first_failure;       // names the line; empty: none
};

// Returns when all texts are compared, by this process or others; after a crash, the next call with
// the folder goes on. Texts are split by the source's tokenizer, each into windows of its own.
// Throws as verify() and batch::open_job(), and InvalidArgument for limits that are not measured:
// of steps, parts and greedy texts.
CorpusResult verify_corpus(const ModelChoice& model, const ModelChoice& source,
                           const CorpusOptions& corpus, const VerifyOptions& options);

}  // namespace pippin::app
