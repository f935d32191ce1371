#include "pippin/cli/options/pull_display.h"

#include <mutex>

#include "pippin/cli/options/progress.h"

namespace pippin::cli {

struct PullDisplay::State {
  State(const std::string& label, Progress::Style style) : bar(label, style) {}
  std::mutex mutex;
  Progress bar;
};

PullDisplay::PullDisplay(const std::string& label, bool quiet)
    : state_(
          std::make_shared<State>(label, quiet ? Progress::Style::Quiet : Progress::Style::Auto)) {}

PullDisplay::~PullDisplay() = default;

void PullDisplay::attach(hub::PullOptions& options) {
  options.progress = [state = state_](uint64_t done, uint64_t total) {
    const std::lock_guard lock(state->mutex);
    state->bar.update(done, total);
  };
  options.notice = [state = state_](const std::string& line) {
    const std::lock_guard lock(state->mutex);
    state->bar.print_line("pippin: " + line);
  };
}

app::PullObserver show_pulls() {
  return [](const std::string& repository, hub::PullOptions& options) {
    auto display = std::make_shared<PullDisplay>(repository);
    display->attach(options);
    return display;
  };
}

std::string local_model(const std::string& model, app::ModelPart part) {
  return app::resolve_model(model, part, show_pulls());
}

}  // namespace pippin::cli
