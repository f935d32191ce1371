#include "pippin/pipeline/mpi/job.h"

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/lower_case.h"
#include "pippin/base/platform/program_path.h"
#include "pippin/pipeline/mpi/mpi_transport.h"

namespace pippin::pipeline {
namespace {

namespace fs = std::filesystem;

constexpr const char* kChoice = "PIPPIN_MPI";
constexpr const char* kPlugin = "libpippin-mpi.so";

// Next to the program, where the package installs it, or where the system looks.
std::vector<std::string> plugin_places() {
  if (const char* given = std::getenv("PIPPIN_MPI_LIBRARY"); given != nullptr && *given != '\0') {
    return {given};
  }
  std::vector<std::string> places;
  const fs::path folder = fs::path(program_path()).parent_path();
  places.push_back((folder / kPlugin).string());
  places.push_back((folder / "../lib/pippin" / kPlugin).lexically_normal().string());
  places.emplace_back(kPlugin);
  return places;
}

const PippinMpi& load_plugin() {
  std::string reason;
  for (const std::string& place : plugin_places()) {
    // MPI loads parts of itself, which look for its symbols.
    void* const handle = ::dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (handle == nullptr) {
      if (reason.empty() || fs::exists(place)) reason = ::dlerror();
      continue;
    }
    const auto get = reinterpret_cast<const PippinMpi* (*)()>(::dlsym(handle, "pippin_mpi"));
    if (get == nullptr || get()->version != PIPPIN_MPI_VERSION) {
      fail(ErrorCode::Unsupported, "{}: of another version of Pippin", place);
    }
    return *get();
  }
  fail(ErrorCode::NotFound,
       "this process is a rank of an MPI job, and {} cannot be loaded: {} (install pippin-mpi, or "
       "set PIPPIN_MPI=off to run alone)",
       kPlugin, reason);
}

int number_of(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return 0;
  int number = 0;
  const std::string_view all(text);
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), number);
  return error == std::errc{} && end == all.data() + all.size() ? number : 0;
}

std::string text_of(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

bool is_off(const std::string& choice) {
  return choice == "off" || choice == "0";
}

// srun tells PMIx's rank to ranks of MPI, and to no others.
constexpr const char* kPmixRank = "PMIX_RANK";

std::atomic<bool> has_joined = false;

}  // namespace

std::optional<int> job_size() {
  const std::string given = text_of(kChoice), chosen = to_lower(given);
  if (is_off(chosen)) return std::nullopt;
  if (!chosen.empty() && chosen != "on" && chosen != "1") {
    fail(ErrorCode::InvalidArgument, "{}={}: neither on or 1 nor off or 0", kChoice, given);
  }
  int size = number_of("OMPI_COMM_WORLD_SIZE");
  if (size == 0 && !text_of(kPmixRank).empty()) size = number_of("SLURM_STEP_NUM_TASKS");
  return size > 1 ? std::optional(size) : std::nullopt;
}

bool repeats_command_line() {
  if (has_joined || is_off(to_lower(text_of(kChoice)))) return false;
  std::string rank = text_of("OMPI_COMM_WORLD_RANK");
  if (rank.empty()) rank = text_of(kPmixRank);
  if (rank.empty()) return false;
  // The first ranks of each command line: "0 2" for mpirun -n 2 A : -n 2 B.
  const std::string firsts = text_of("OMPI_FIRST_RANKS");
  return fmt::format(" {} ", firsts.empty() ? "0" : firsts).find(fmt::format(" {} ", rank)) ==
         std::string::npos;
}

std::unique_ptr<Transport> join_job() {
  has_joined = true;
  return std::make_unique<MpiTransport>(load_plugin());
}

}  // namespace pippin::pipeline
