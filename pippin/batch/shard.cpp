#include "pippin/batch/shard.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <system_error>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/files/durable.h"
#include "pippin/base/files/file.h"
#include "pippin/base/numbers/number.h"

namespace pippin::batch {
namespace {

namespace fs = std::filesystem;

// A process may be killed for other reasons than a request.
constexpr int kCrash = 2, kKill = 1, kMostBlame = 4;

fs::path file_of(const Job& job, size_t number, const std::string& rest) {
  return job.parts() / fmt::format("{:08}.{}", number, rest);
}

// Of all owners, in the order of their names.
std::vector<fs::path> files_of(const Job& job, size_t number) {
  const std::string prefix = fmt::format("{:08}.", number);
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(job.parts())) {
    if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Another process may remove the file at any time.
std::string read_if_there(const fs::path& path) {
  try {
    return read_file(path, size_t{1} << 40, StandIns::Allow);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::NotFound) return {};
    throw;
  }
}

// Calls with the custom_id of each undamaged answer.
template <typename Use>
void each_answer(const std::string& text, const Use& use) {
  each_line(text, false, [&](std::string_view line, size_t) {
    if (const auto id = answered_id(line)) use(*id, line);
  });
}

}  // namespace

Shard::Shard(const Job& job, size_t number, const std::string& owner)
    : job_(job),
      number_(number),
      owner_(owner),
      partial_path_(file_of(job, number, owner + ".partial")),
      begun_path_(file_of(job, number, owner + ".begun")),
      requests_(job.read(number)),
      answers_(requests_.size()) {
  read_earlier();
}

void Shard::read_earlier() {
  std::unordered_map<std::string_view, size_t> places;
  for (size_t i = 0; i < requests_.size(); ++i) places.emplace(requests_[i].custom_id, i);
  std::vector<Deaths> deaths(requests_.size());
  for (const fs::path& path : files_of(job_, number_)) {
    const std::string text = read_if_there(path);
    if (path.extension() == ".partial") {
      each_answer(text, [&](const std::string& id, std::string_view line) {
        const auto place = places.find(id);
        if (place == places.end() || !answers_[place->second].empty()) return;
        answers_[place->second] = fmt::format("{}\n", line);
        ++num_answered_;
      });
    } else if (path.extension() == ".begun") {
      const std::string owner = path.stem().extension().string().substr(1);
      const int blame = fs::exists(crash_mark(job_, owner)) ? kCrash : kKill;
      each_line(text, false, [&](std::string_view line, size_t) {
        size_t index = 0;
        if (!parse_number(line.substr(0, line.find(' ')), index) || index >= deaths.size()) return;
        ++deaths[index].any;
        if (line.ends_with(" alone")) deaths[index].blame += blame;
      });
    }
  }
  sort_out(deaths);
}

void Shard::sort_out(const std::vector<Deaths>& deaths) {
  std::vector<size_t> order(requests_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // Those that were alone already come last: most often they were not to blame, but the first after
  // a start, whose processes are killed most often.
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const Request &one = requests_[a], &other = requests_[b];
    if (job_.kind == InputKind::Texts) {
      return std::pair(deaths[a].blame, one.body.size()) <
             std::pair(deaths[b].blame, other.body.size());
    }
    return std::tie(deaths[a].blame, one.url, one.body) <
           std::tie(deaths[b].blame, other.url, other.body);
  });
  for (const size_t i : order) {
    if (!answers_[i].empty()) continue;
    if (deaths[i].blame >= kMostBlame) {
      answer(i, error_line(job_.id, requests_[i], "crashed",
                           fmt::format("{} processes ended while they computed this request, the "
                                       "last ones while they computed nothing else",
                                       deaths[i].any)));
    } else {
      (deaths[i].any > 0 ? alone_ : pending_).push_back(i);
    }
  }
}

void Shard::begin(size_t index, bool alone) {
  if (begun_ == nullptr) begun_ = std::make_unique<FileWriter>(begun_path_);
  begun_->write(fmt::format("{}{}\n", index, alone ? " alone" : ""));
  begun_->flush();
}

void Shard::answer(size_t index, std::string line) {
  if (partial_ == nullptr) partial_ = std::make_unique<FileWriter>(partial_path_);
  partial_->write(line);
  partial_->flush();
  is_dirty_ = true;
  answers_[index] = std::move(line);
  ++num_answered_;
}

void Shard::sync() {
  if (std::exchange(is_dirty_, false)) sync_to_disk(partial_path_);
}

bool Shard::commit() {
  std::string text;
  for (const std::string& line : answers_) text += line;
  const bool is_ours =
      publish_file(job_.part(number_), file_of(job_, number_, owner_ + ".new"), text);
  std::error_code ignored;
  for (const fs::path& path : files_of(job_, number_)) {
    if (path != job_.part(number_)) fs::remove(path, ignored);
  }
  return is_ours;
}

void Shard::leave() {
  std::error_code ignored;
  fs::remove(begun_path_, ignored);
  sync();
}

fs::path crash_mark(const Job& job, std::string_view owner) {
  return job.parts() / fmt::format("{}.crashed", owner);
}

std::vector<std::string> partial_answers(const Job& job, size_t number) {
  std::unordered_map<std::string, std::string> found;
  for (const fs::path& path : files_of(job, number)) {
    if (path.extension() != ".partial") continue;
    each_answer(read_if_there(path),
                [&](const std::string& id, std::string_view line) { found.emplace(id, line); });
  }
  std::vector<std::string> lines;
  lines.reserve(found.size());
  for (auto& [id, line] : found) lines.push_back(std::move(line));
  return lines;
}

}  // namespace pippin::batch
