// A job in its folder: job.json, written once by the first process, describes the input and its
// shards; parts/ has the answers, claims/ who works.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/files/mapped_file.h"
#include "pippin/batch/request.h"

namespace pippin::batch {

struct JobSettings {
  std::filesystem::path input;
  InputKind kind = InputKind::Requests;
  // The settings that determine the answers, by the names that messages use.
  std::map<std::string, std::string> options;
  uint64_t shard_requests = 0;  // 0: a 256th of the input, 16 to 512
  // Throws for a request that cannot be answered, with a message that begins with `where`.
  std::function<void(const Request& request, const std::string& where)> check;
  // Called after `check` of the last request. Throws if they cannot be answered together.
  std::function<void()> check_all = {};
};

// Where a shard begins in the input.
struct ShardPlace {
  uint64_t offset = 0;
  int64_t line = 1;
};

struct Job {
  std::filesystem::path folder;
  std::string id;
  InputKind kind = InputKind::Requests;
  std::map<std::string, std::string> options;
  uint64_t requests = 0, shard_requests = 1;
  std::vector<ShardPlace> shards;
  std::shared_ptr<const MappedFile> input;  // null after read_job()

  std::filesystem::path part(size_t shard) const;  // its answers, complete and in order
  std::filesystem::path parts() const { return folder / "parts"; }
  std::filesystem::path claims() const { return folder / "claims"; }
  // A file that exists when the answers were moved out of the folder: the number of failed ones.
  std::filesystem::path merged() const { return folder / "merged"; }
  uint64_t size_of(size_t shard) const;  // in requests
  size_t count_missing() const;          // shards that are not complete
  std::vector<Request> read(size_t shard) const;
};

// Returns the job of a folder, without its input; nothing if there is none.
std::optional<Job> read_job(const std::filesystem::path& folder);

// Joins the job of a folder, or begins one. Throws InvalidFile for an input that is not a list of
// requests, with the line, and InvalidArgument if the folder has a job with another input or other
// settings.
Job open_job(const std::filesystem::path& folder, const JobSettings& settings,
             const std::string& owner);

}  // namespace pippin::batch
