// pippin-bandwidth [--json] [--threads N] [--mib SIZE]: measures this machine's memory read
// bandwidth, with one thread and with N. It limits the speed of a decode step.
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "pippin/app/facts/machine.h"
#include "pippin/base/cpu_features.h"
#include "pippin/base/error.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/runtime/benchmark.h"

namespace {

struct Options {
  bool json = false;
  int threads = pippin::default_num_threads();
  int mib = 1024;
};

int parse_positive(std::string_view name, std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) {
    pippin::fail(pippin::ErrorCode::InvalidArgument, "{} needs a positive number, not '{}'", name,
                 text);
  }
  return value;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const std::string_view next = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--json") {
      options.json = true;
    } else if (name == "--threads") {
      options.threads = parse_positive(name, next);
      ++i;
    } else if (name == "--mib") {
      options.mib = parse_positive(name, next);
      ++i;
    } else {
      pippin::fail(pippin::ErrorCode::InvalidArgument,
                   "unknown argument '{}'; usage: pippin-bandwidth [--json] [--threads N] "
                   "[--mib SIZE]",
                   name);
    }
  }
  return options;
}

// Bytes per second over several runs.
struct Bandwidth {
  int threads = 0;
  double median = 0, best = 0;
};

Bandwidth measure(int threads, size_t bytes) {
  pippin::ThreadPool pool(threads);
  pippin::app::MachineProbe probe(pool, bytes);
  probe.read_once();  // warm-up
  std::vector<double> speeds;
  for (int run = 0; run < 9; ++run) speeds.push_back(probe.read_once());
  return {threads, pippin::runtime::percentile(speeds, 0.5),
          pippin::runtime::percentile(speeds, 1)};
}

void run(const Options& options) {
  const std::string cpu = pippin::app::cpu_name();
  const std::string features = to_string(pippin::detect_cpu());
  if (options.json) {
    fmt::print("{{\"cpu\": \"{}\", \"features\": \"{}\", \"read\": [", cpu, features);
  } else {
    fmt::print("{} ({})\n", cpu, features);
  }
  bool first = true;
  for (const int threads : {1, options.threads}) {
    if (threads == 1 && !first) break;  // N is 1
    const Bandwidth read = measure(threads, static_cast<size_t>(options.mib) << 20);
    if (options.json) {
      fmt::print(
          "{}{{\"threads\": {}, \"median_bytes_per_second\": {:.0f}, "
          "\"best_bytes_per_second\": {:.0f}}}",
          first ? "" : ", ", read.threads, read.median, read.best);
    } else {
      fmt::print("{} thread{}: {:.1f} GB/s read (median; best {:.1f})\n", read.threads,
                 read.threads == 1 ? "" : "s", read.median / 1e9, read.best / 1e9);
    }
    first = false;
  }
  if (options.json) fmt::print("]}}\n");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(parse(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pippin-bandwidth: %s\n", error.what());
    return 1;
  }
}
