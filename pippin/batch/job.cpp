#include "pippin/batch/job.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "pippin/base/bytes.h"
#include "pippin/base/error.h"
#include "pippin/base/files/created_folders.h"
#include "pippin/base/files/durable.h"
#include "pippin/base/files/file.h"
#include "pippin/base/platform/file_times.h"
#include "pippin/base/shortened.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/io/digest.h"
#include "pippin/io/json.h"

namespace pippin::batch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKinds[] = {"requests", "texts"};
constexpr int kVersion = 1;

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

std::string digest_of(const MappedFile& file) {
  constexpr size_t kPiece = size_t{16} << 20;
  Digest digest = Digest::sha256();
  for (ByteSpan rest = file.bytes(); !rest.empty();) {
    check_cancel();
    const ByteSpan piece = rest.first(std::min(kPiece, rest.size()));
    digest.update(piece);
    rest = rest.subspan(piece.size());
  }
  return digest.finish();
}

int64_t modified_at(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? modified_ns(status) : 0;
}

std::string where_is(const fs::path& input, int64_t line) {
  return fmt::format("{}: line {}", input.filename().string(), line);
}

// A custom_id, by its hash. Texts of all of them would take too much memory.
struct SeenId {
  size_t hash;
  ShardPlace place;
  bool operator<(const SeenId& other) const {
    return std::pair(hash, place.line) < std::pair(other.hash, other.place.line);
  }
};

void refuse_twins(std::vector<SeenId> seen, std::string_view text, const fs::path& input) {
  std::sort(seen.begin(), seen.end());
  const auto id_at = [&](const ShardPlace& place) {
    const std::string_view line =
        text.substr(place.offset, text.find('\n', place.offset) - place.offset);
    return parse_request(line, place.line, InputKind::Requests, where_is(input, place.line))
        .custom_id;
  };
  for (size_t i = 0; i < seen.size(); ++i) {
    for (size_t j = i + 1; j < seen.size() && seen[j].hash == seen[i].hash; ++j) {
      const std::string id = id_at(seen[i].place);
      if (id != id_at(seen[j].place)) continue;
      fail(ErrorCode::InvalidFile, "{}: custom_id \"{}\" is also that of line {}",
           where_is(input, seen[j].place.line), shortened(id), seen[i].place.line);
    }
  }
}

// Finds all requests and checks them.
void index_input(const JobSettings& settings, Job& job) {
  const std::string_view text = text_of(*job.input);
  std::vector<ShardPlace> places;
  std::vector<SeenId> seen;
  int64_t line = 0;
  each_line(text, true, [&](std::string_view one, size_t offset) {
    ++line;
    if (line % 1024 == 0) check_cancel();
    if (is_blank(one, job.kind)) return;
    const std::string where = where_is(settings.input, line);
    const Request request = parse_request(one, line, job.kind, where);
    if (settings.check) settings.check(request, where);
    places.push_back({offset, line});
    if (job.kind == InputKind::Requests) {
      seen.push_back({std::hash<std::string_view>()(request.custom_id), places.back()});
    }
  });
  if (places.empty()) {
    fail(ErrorCode::InvalidFile, "{}: has no {}", settings.input.string(),
         job.kind == InputKind::Requests ? "request" : "text");
  }
  refuse_twins(std::move(seen), text, settings.input);
  if (settings.check_all) settings.check_all();
  job.requests = places.size();
  constexpr uint64_t kShards = 256, kFewest = 16, kMost = 512;
  job.shard_requests = settings.shard_requests > 0
                           ? settings.shard_requests
                           : std::clamp((job.requests + kShards - 1) / kShards, kFewest, kMost);
  for (size_t i = 0; i < places.size(); i += job.shard_requests) job.shards.push_back(places[i]);
}

std::string job_text(const Job& job, const fs::path& input, int64_t modified) {
  JsonWriter json(1);
  json.begin_object().member("version", kVersion).member("id", job.id);
  json.member("kind", kKinds[static_cast<size_t>(job.kind)]);
  json.key("input").begin_object().member("path", fs::absolute(input).string());
  json.member("bytes", job.input->bytes().size()).member("modified_ns", modified);
  json.member("sha256", digest_of(*job.input)).end_object();
  json.key("options").begin_object();
  for (const auto& [name, value] : job.options) json.member(name, value);
  json.end_object().member("requests", job.requests).member("shard_requests", job.shard_requests);
  std::vector<uint64_t> offsets, lines;
  offsets.reserve(job.shards.size());
  lines.reserve(job.shards.size());
  for (const ShardPlace& place : job.shards) {
    offsets.push_back(place.offset);
    lines.push_back(static_cast<uint64_t>(place.line));
  }
  json.member("offsets", offsets).member("lines", lines).end_object();
  return json.text() + "\n";
}

Json load_job(const fs::path& folder) {
  return Json::parse(read_file(folder / "job.json", size_t{1} << 30, StandIns::Allow),
                     (folder / "job.json").string());
}

[[noreturn]] void refuse(const fs::path& folder, const std::string& there,
                         const std::string& here) {
  fail(ErrorCode::InvalidArgument,
       "{}: its job is another one: {} there, {} here; give another folder, or remove this one",
       folder.string(), there, here);
}

void check_same(const Json& stored, const Job& known, const JobSettings& settings, Job& job) {
  const auto shown = [](const std::map<std::string, std::string>& options,
                        const std::string& name) {
    const auto found = options.find(name);
    return found == options.end() ? "no " + name : fmt::format("{} {}", name, found->second);
  };
  if (known.kind != settings.kind) {
    constexpr const char* kNames[] = {"requests", "--embed"};
    refuse(job.folder, kNames[static_cast<size_t>(known.kind)],
           kNames[static_cast<size_t>(settings.kind)]);
  }
  std::map<std::string, std::string> names = known.options;
  names.insert(settings.options.begin(), settings.options.end());
  for (const auto& [name, value] : names) {
    const std::string there = shown(known.options, name), here = shown(settings.options, name);
    if (there != here) refuse(job.folder, there, here);
  }
  if (settings.shard_requests > 0 && settings.shard_requests != known.shard_requests) {
    refuse(job.folder, fmt::format("{} requests a shard", known.shard_requests),
           std::to_string(settings.shard_requests));
  }
  const Json input = stored.at("input");
  const auto bytes = input.at("bytes").as_uint64();
  if (bytes != job.input->bytes().size()) {
    refuse(job.folder, fmt::format("an input of {} bytes", bytes),
           fmt::format("{} of {}", settings.input.string(), job.input->bytes().size()));
  }
  // A copy has other times.
  if (input.at("modified_ns").as_int() != modified_at(settings.input) &&
      input.get_string("sha256") != digest_of(*job.input)) {
    refuse(job.folder, "other content", settings.input.string());
  }
}

Job job_of(const Json& json, const fs::path& folder) {
  if (json.get_int("version") != kVersion) {
    json.at("version").invalid("was written by a newer pippin");
  }
  Job job;
  job.folder = folder;
  job.id = json.get_string("id");
  job.kind = json.get_string("kind") == kKinds[1] ? InputKind::Texts : InputKind::Requests;
  for (const auto& [name, value] : json.at("options").members()) {
    job.options.emplace(name, value.as_string());
  }
  job.requests = json.at("requests").as_uint64();
  job.shard_requests = json.at("shard_requests").as_uint64();
  const std::vector<int64_t> offsets = json.at("offsets").as_ints();
  const std::vector<int64_t> lines = json.at("lines").as_ints();
  if (job.shard_requests == 0 || offsets.size() != lines.size() ||
      offsets.size() != (job.requests + job.shard_requests - 1) / job.shard_requests) {
    json.invalid("the numbers of requests and shards contradict each other");
  }
  job.shards.reserve(offsets.size());
  for (size_t i = 0; i < offsets.size(); ++i) {
    job.shards.push_back({static_cast<uint64_t>(offsets[i]), lines[i]});
  }
  return job;
}

}  // namespace

fs::path Job::part(size_t shard) const {
  return parts() / fmt::format("{:08}.jsonl", shard);
}

uint64_t Job::size_of(size_t shard) const {
  return std::min(shard_requests, requests - shard * shard_requests);
}

size_t Job::count_missing() const {
  size_t missing = 0;
  for (size_t shard = 0; shard < shards.size(); ++shard) missing += fs::exists(part(shard)) ? 0 : 1;
  return missing;
}

std::vector<Request> Job::read(size_t shard) const {
  const ShardPlace& place = shards.at(shard);
  const std::string_view text =
      text_of(*input).substr(std::min(place.offset, input->bytes().size()));
  const std::string name = input->path().filename().string();
  std::vector<Request> found;
  found.reserve(size_of(shard));
  int64_t line = place.line;
  for (size_t begin = 0; begin < text.size() && found.size() < size_of(shard); ++line) {
    const std::string_view one = text.substr(begin, text.find('\n', begin) - begin);
    begin += one.size() + 1;
    if (is_blank(one, kind)) continue;
    found.push_back(parse_request(one, line, kind, where_is(input->path(), line)));
  }
  if (found.size() != size_of(shard)) {
    fail(ErrorCode::InvalidFile, "{}: has changed while it was read", input->path().string());
  }
  return found;
}

std::optional<Job> read_job(const fs::path& folder) {
  if (!fs::exists(folder / "job.json")) return std::nullopt;
  return job_of(load_job(folder), folder);
}

Job open_job(const fs::path& folder, const JobSettings& settings, const std::string& owner) {
  if (fs::exists(settings.input) && !fs::is_regular_file(settings.input)) {
    fail(ErrorCode::InvalidArgument, "{}: is not a file, which each process could read again",
         settings.input.string());
  }
  Job job;
  job.folder = folder;
  job.input = MappedFile::open(settings.input, StandIns::Allow);
  if (!fs::exists(folder / "job.json")) {
    const int64_t modified = modified_at(settings.input);
    job.kind = settings.kind;
    job.options = settings.options;
    index_input(settings, job);
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    job.id = "batch_" + request_id(owner, fmt::format("{}", now));
    CreatedFolders folders;
    folders.create(job.parts());
    folders.create(job.claims());
    const bool is_ours = publish_file(folder / "job.json", folder / ("job.json." + owner),
                                      job_text(job, settings.input, modified));
    folders.keep();
    if (is_ours) return job;
  }
  const Json stored = load_job(folder);
  Job known = job_of(stored, folder);
  check_same(stored, known, settings, job);
  known.input = std::move(job.input);
  return known;
}

}  // namespace pippin::batch
