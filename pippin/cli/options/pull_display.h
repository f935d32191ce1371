// The display of a running pull: its progress and notices, on stderr.
#pragma once

#include <memory>
#include <string>

#include "pippin/app/open/hub_model.h"
#include "pippin/hub/pull.h"

namespace pippin::cli {

// May be called by any thread.
class PullDisplay {
 public:
  explicit PullDisplay(const std::string& label, bool quiet = false);
  ~PullDisplay();
  // Sets the progress and notice callbacks, which may be called as long as `options` lives.
  void attach(hub::PullOptions& options);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Shows downloads that a MODEL argument causes.
app::PullObserver show_pulls();
// app::resolve_model() with a display.
std::string local_model(const std::string& model, app::ModelPart part = app::ModelPart::All);

}  // namespace pippin::cli
