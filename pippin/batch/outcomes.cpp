#include "pippin/batch/outcomes.h"

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pippin/batch/merge.h"
#include "pippin/batch/shard.h"

namespace pippin::batch {

void each_outcome(const Job& job, size_t shard,
                  const std::function<void(const Request& request, std::string_view line)>& use) {
  const std::vector<Request> requests = job.read(shard);
  std::vector<std::string> lines;
  if (std::filesystem::exists(job.part(shard))) {
    lines.reserve(requests.size());
    each_answer_of(job, shard, [&](std::string_view line) { lines.emplace_back(line); });
  } else {
    lines = partial_answers(job, shard);
  }
  std::unordered_map<std::string, std::string_view> answers;
  for (const std::string& line : lines) {
    if (auto id = answered_id(line)) answers.emplace(std::move(*id), line);
  }
  for (const Request& request : requests) {
    const auto found = answers.find(request.custom_id);
    use(request, found == answers.end() ? std::string_view() : found->second);
  }
}

}  // namespace pippin::batch
