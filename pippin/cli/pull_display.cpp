#include "pippin/cli/pull_display.h"

#include <mutex>

#include "pippin/cli/progress.h"

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

}  // namespace pippin::cli
