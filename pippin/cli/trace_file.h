// --profile FILE.json: where the time of runs goes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "pippin/base/pending_output.h"
#include "pippin/engine/run/profile.h"

namespace pippin::cli {

class TraceFile {
 public:
  // That it cannot be written is said before anything is measured: throws Io. An empty path is
  // none.
  explicit TraceFile(const std::string& path);

  // While it lives, what this thread runs is recorded, where a trace is wanted.
  class Scope {
   public:
    explicit Scope(const TraceFile& trace) {
      if (trace.file_) scope_.emplace(trace.profile_);
    }

   private:
    std::optional<engine::ProfileScope> scope_;
  };

  bool wanted() const { return file_.has_value(); }
  const std::shared_ptr<engine::Profile>& profile() const { return profile_; }
  // Writes what was recorded as a Chrome trace, and its table by kind of step to stderr.
  void finish();

 private:
  std::optional<PendingOutput> file_;
  std::shared_ptr<engine::Profile> profile_ = std::make_shared<engine::Profile>();
};

}  // namespace pippin::cli
