// Counts what a pass of a language model would do with more threads than the machine has: parallel
// runs, the imbalance of their shares, serial parts, and the bytes of weights that two sockets
// would send each other. All shares are computed and timed one after another (simulated_clock.h),
// so the times are those of one core with the memory to itself: counts, not measurements.
//
//   pippin convert config.json --random-weights --quantize int4 -o model.mlpackage
//   pippin-threads model.mlpackage -t 1,2,8,64 -d 512 -p 512
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "benchmarks/threads/simulated_clock.h"
#include "pippin/base/error.h"
#include "pippin/engine/run/profile.h"
#include "pippin/mil/package/package.h"
#include "pippin/runtime/sequence.h"
#include "pippin/runtime/stateful/model.h"

namespace pippin {
namespace {

struct Arguments {
  std::string model;
  std::vector<int> threads = {1, 2, 4, 8, 16, 32, 64};
  int64_t depth = 512, prompt = 512;
  int repetitions = 5;
  // Of a run with N threads: begin + each * (N - 1) microseconds.
  std::vector<double> barrier = {0.3, 0.02};
  bool steps = false;
};

// The sums of the runs of a pass, or of its steps of one name.
struct Count {
  int64_t runs = 0;
  double serial = 0, shares = 0, longest = 0, barriers = 0;  // seconds
  // Bytes of weights: all, and those that the second socket reads from the first one if the loading
  // thread touched every page first, or each thread the pages of its own share.
  double weights = 0, far_of_loader = 0, far_of_reader = 0;

  double seconds() const { return serial + longest + barriers; }
  // The longest share over the mean of all threads.
  double imbalance(int threads) const { return shares > 0 ? longest * threads / shares : 1; }
};

class Counter {
 public:
  Counter(const mil::Model& program, const Arguments& arguments, int threads)
      : arguments_(arguments),
        threads_(threads),
        pool_(threads, clock_),
        model_(runtime::make_stateful_model(program, pool_)),
        sequence_(model_->new_sequence()) {}

  void count_prompt() {
    count([&] { sequence_->truncate(0); }, [&] { sequence_->prefill(ids(arguments_.prompt)); });
  }
  void count_decode() {
    sequence_->truncate(0);
    if (arguments_.depth > 0) sequence_->prefill(ids(arguments_.depth));
    count([&] { sequence_->truncate(arguments_.depth); }, [&] { sequence_->decode(1); });
  }

  const Count& all() const { return all_; }
  const std::map<std::string, Count>& by_step() const { return by_step_; }

 private:
  static std::vector<int32_t> ids(int64_t count) {
    std::vector<int32_t> result(static_cast<size_t>(count));
    for (size_t i = 0; i < result.size(); ++i) result[i] = static_cast<int32_t>(i * 97 % 251);
    return result;
  }

  template <typename Prepare, typename Pass>
  void count(const Prepare& prepare, const Pass& pass) {
    const auto record = [&] {
      prepare();
      clock_.restart();
      pass();
      return clock_.take();
    };
    record();  // the first time, memory is touched
    auto runs = record();
    for (int i = 1; i < arguments_.repetitions; ++i) keep_fastest(runs, record());
    prepare();
    // Which step a run belongs to; recording takes time, so it is not among the repetitions.
    const auto profile = std::make_shared<engine::Profile>();
    clock_.restart();
    {
      const engine::ProfileScope scope(profile);
      pass();
    }
    const auto named = clock_.take();
    if (named.size() != runs.size()) {
      fail(ErrorCode::Internal, "a profiled pass has {} runs, not {}", named.size(), runs.size());
    }
    all_ = {};
    by_step_.clear();
    const auto events = profile->events();
    for (const auto& event : events) {
      if (event.is_step) by_step_[event.name].serial += event.duration / 1e6;
    }
    auto event = events.begin();
    const auto find_event = [&](const SimulatedRun& run) {
      const double middle = run.middle * 1e6;
      while (event != events.end() &&
             (!event->is_step || event->start + event->duration < middle)) {
        ++event;
      }
      if (event == events.end()) fail(ErrorCode::Internal, "a run is after all steps");
      return event;
    };
    std::vector<const engine::Profile::Event*> steps;
    for (const SimulatedRun& run : named) {
      steps.push_back(run.own.empty() ? nullptr : &*find_event(run));
    }
    for (size_t i = 0; i < runs.size(); ++i) {
      Count one = of_run(runs[i]);
      add(all_, one);
      if (steps[i] == nullptr) continue;
      // Of a step's runs, the last one reads the weights.
      if (steps[i] != steps[i + 1]) {
        add_bytes(one, runs[i], static_cast<double>(steps[i]->weight_bytes));
      }
      one.serial = -schedule(named[i]).total;  // of the step's time
      add(by_step_[steps[i]->name], one);
    }
    for (const auto& [name, one] : by_step_) {
      all_.weights += one.weights;
      all_.far_of_loader += one.far_of_loader;
      all_.far_of_reader += one.far_of_reader;
    }
  }

  Count of_run(const SimulatedRun& run) const {
    const Schedule plan = schedule(run);
    Count one;
    one.serial = run.serial;
    if (run.own.empty()) return one;
    one.runs = 1;
    one.shares = plan.total;
    one.longest = plan.longest;
    if (threads_ > 1) {
      one.barriers = (arguments_.barrier[0] + arguments_.barrier[1] * (threads_ - 1)) / 1e6;
    }
    return one;
  }

  // Bytes are in proportion to times. Half of the threads are on the second socket.
  void add_bytes(Count& one, const SimulatedRun& run, double bytes) const {
    const Schedule plan = schedule(run);
    double second = 0;
    for (size_t i = plan.busy.size() / 2; i < plan.busy.size(); ++i) second += plan.busy[i];
    one.weights = bytes;
    if (threads_ == 1 || plan.total <= 0) return;
    one.far_of_loader = bytes * second / plan.total;
    one.far_of_reader = bytes * plan.dealt / plan.total / 2;
  }

  static void add(Count& sum, const Count& one) {
    sum.runs += one.runs;
    for (const auto member : {&Count::serial, &Count::shares, &Count::longest, &Count::barriers,
                              &Count::weights, &Count::far_of_loader, &Count::far_of_reader}) {
      sum.*member += one.*member;
    }
  }

  const Arguments& arguments_;
  const int threads_;
  SimulatedClock clock_;
  ThreadPool pool_;
  std::shared_ptr<runtime::Model> model_;
  std::unique_ptr<runtime::Sequence> sequence_;
  Count all_;
  std::map<std::string, Count> by_step_;
};

void print_pass(const Arguments& arguments, const mil::Model& program, const std::string& title,
                void (Counter::*count)()) {
  fmt::print("{}\n{:>7} {:>5} {:>10} {:>10} {:>10} {:>10} {:>10} {:>9} {:>9} {:>9}\n", title,
             "threads", "runs", "imbalance", "serial ms", "longest ms", "barrier ms", "total ms",
             "speed-up", "far MB", "far, own");
  double alone = 0;
  std::string steps;
  for (const int threads : arguments.threads) {
    Counter counter(program, arguments, threads);
    (counter.*count)();
    const Count& all = counter.all();
    if (alone == 0) alone = all.seconds();
    fmt::print(
        "{:>7} {:>5} {:>10.2f} {:>10.3f} {:>10.3f} {:>10.3f} {:>10.3f} {:>9.2f} {:>9.1f} "
        "{:>9.1f}\n",
        threads, all.runs, all.imbalance(threads), all.serial * 1e3, all.longest * 1e3,
        all.barriers * 1e3, all.seconds() * 1e3, alone / all.seconds(), all.far_of_loader / 1e6,
        all.far_of_reader / 1e6);
    std::fflush(stdout);
    for (const auto& [name, one] : counter.by_step()) {
      steps += fmt::format("{:>7} {:>5} {:>10.2f} {:>10.3f} {:>10.3f} {:>10.3f} {:>10.1f}  {}\n",
                           threads, one.runs, one.imbalance(threads), one.serial * 1e3,
                           one.shares * 1e3, one.longest * 1e3, one.weights / 1e6, name);
    }
  }
  if (arguments.steps) {
    fmt::print("\n{:>7} {:>5} {:>10} {:>10} {:>10} {:>10} {:>10}  step\n{}", "threads", "runs",
               "imbalance", "serial ms", "shares ms", "longest ms", "weights MB", steps);
  }
  fmt::print("\n");
}

void run(const Arguments& arguments) {
  const mil::Model program = mil::read_package(arguments.model);
  if (arguments.prompt > 0) {
    print_pass(arguments, program, fmt::format("Prompt of {} tokens", arguments.prompt),
               &Counter::count_prompt);
  }
  print_pass(arguments, program, fmt::format("Token after {}", arguments.depth),
             &Counter::count_decode);
}

}  // namespace
}  // namespace pippin

int main(int argc, char** argv) {
  CLI::App app("Counts what a pass of a language model would do with any number of threads");
  pippin::Arguments arguments;
  app.add_option("MODEL", arguments.model, "X.mlpackage of the family stateful")->required();
  app.add_option("-t,--threads", arguments.threads,
                 "Numbers of threads; speed-ups are over the first")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("-d,--n-depth", arguments.depth, "Tokens in the cache before the decoded one")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("-p,--n-prompt", arguments.prompt, "Length of the prompt; 0: none")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("-r,--repetitions", arguments.repetitions,
                 "Of each pass; the fastest shares count")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--barrier", arguments.barrier,
                 "Microseconds A,B: a run of N threads costs A + B * (N - 1)")
      ->delimiter(',')
      ->expected(2)
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--steps", arguments.steps, "Also by kind of step");
  CLI11_PARSE(app, argc, argv);
  try {
    pippin::run(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pippin-threads: %s\n", error.what());
    return 1;
  }
  return 0;
}
