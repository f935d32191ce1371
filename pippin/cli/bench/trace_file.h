// --profile FILE.json: a trace of where runs spend their time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "pippin/base/files/pending_output.h"
#include "pippin/engine/run/profile.h"

namespace pippin::cli {

class TraceFile {
 public:
  // Throws Io now, before anything is measured, if the file cannot be written. An empty path means
  // no trace.
  explicit TraceFile(const std::string& path);

  // While it lives, runs on this thread are recorded, if a trace is wanted.
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
  // Writes the recorded steps as a Chrome trace, and a table by kind of step to stderr.
  void finish();

 private:
  std::optional<PendingOutput> file_;
  std::shared_ptr<engine::Profile> profile_ = std::make_shared<engine::Profile>();
};

}  // namespace pippin::cli
