// What a pull shows while it runs: its progress and its notices, on stderr.
#pragma once

#include <memory>
#include <string>

#include "pippin/app/hub_model.h"
#include "pippin/hub/pull.h"

namespace pippin::cli {

// Any thread may report to it.
class PullDisplay {
 public:
  explicit PullDisplay(const std::string& label, bool quiet = false);
  ~PullDisplay();
  // Sets progress and notice; what it set may be called as long as `options` lives.
  void attach(hub::PullOptions& options);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Shows what pulls do for a MODEL.
app::PullObserver show_pulls();
// app::resolve_model(), shown.
std::string local_model(const std::string& model, app::ModelPart part = app::ModelPart::All);

}  // namespace pippin::cli
