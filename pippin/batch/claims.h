// Claims of several processes, perhaps on several machines, on numbered pieces of work: files in a
// folder that all of them see.
//
// claims/00000003.2 is the second claim on piece 3. A process that creates the file holds the claim
// and renews the file's time. If that stops, another one creates 00000003.3: only one can, because
// a file is created exclusively. Nothing depends on clocks of several machines, since all times are
// those that the folder's file system writes.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pippin/base/files/file_lock.h"

namespace pippin::batch {

struct ClaimTimes {
  std::chrono::milliseconds beat{10'000};   // between renewals
  std::chrono::milliseconds stale{60'000};  // without one: the holder has died
};

// The last claim on a piece of work.
struct ClaimState {
  size_t number = 0;
  std::string host;
  int64_t pid = 0;
  double age = 0;  // seconds since its last renewal
  bool is_stale = false;
};

// Not thread-safe.
class Claims {
 public:
  explicit Claims(std::filesystem::path folder, ClaimTimes times = {});
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;
  ~Claims();  // releases all

  // HOST-PID-TIME, in letters, digits and dashes: unlike that of any other object of this class.
  static std::string new_owner();

  // Claims the first of the pieces that no living process has; if there is none, one whose process
  // has died. Returns nothing if all have living ones. Throws Io.
  std::optional<size_t> take_one(const std::vector<size_t>& numbers);
  // Renews the claims that are due. Call it at least every `beat`.
  void beat();
  void release(size_t number);  // the work is not done
  void finish(size_t number);   // the work is done
  std::vector<ClaimState> list() const;

 private:
  struct Held {
    std::filesystem::path path;
    std::optional<FileLock> lock;
  };
  std::map<size_t, int> last_claims() const;
  std::filesystem::path path_of(size_t number, int claim) const;
  bool create(size_t number, int claim);
  std::optional<ClaimState> state_of(size_t number, int claim) const;

  const std::filesystem::path folder_;
  const ClaimTimes times_;
  std::map<size_t, Held> held_;
  std::chrono::steady_clock::time_point last_beat_ = std::chrono::steady_clock::now();
};

}  // namespace pippin::batch
