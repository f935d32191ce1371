#include "tests/coreml/standin.h"

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

// Memory that GCC's runtime and GNUstep keep until the process ends is not our leak. Objects of the
// stand-in are counted instead (counters()), since those libraries allocate them.
extern "C" const char* __lsan_default_suppressions();   // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __lsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "leak:objc_malloc\nleak:class_copyMethodList\nleak:libgnustep-base\n";
}
extern "C" const char* __lsan_default_options();   // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __lsan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "print_suppressions=0";                   // a trial's last line must be its result
}

// The sanitizer sees no code of these libraries: it does not know that they count references with
// atomic instructions, which orders the last use before the memory is freed; and two of their
// internal locks are taken in either order while classes are set up. Visible, since GCC's sanitizer
// is a library that looks for it.
extern "C" __attribute__((visibility("default"))) const char*
__tsan_default_suppressions();                          // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __tsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "race:libgnustep-base\ndeadlock:libgnustep-base\ndeadlock:libobjc\n";
}

namespace pippin::standin {
namespace {

struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> faults;
  int running = 0;
};

Shared& shared() {
  static Shared all;
  return all;
}

void take_behaviour(const char* name, std::atomic<Behaviour>& behaviour) {
  static const std::map<std::string, Behaviour> names = {{"works", Behaviour::Works},
                                                         {"fails", Behaviour::Fails},
                                                         {"hangs", Behaviour::Hangs},
                                                         {"kills", Behaviour::KillsItsProcess}};
  const char* const value = std::getenv(name);
  if (value != nullptr) behaviour = names.at(value);
}

}  // namespace

Settings& settings() {
  static Settings all;
  return all;
}

Counters& counters() {
  static Counters all;
  return all;
}

void take_settings_from_environment() {
  take_behaviour("STANDIN_COMPILE", settings().compile);
  take_behaviour("STANDIN_LOAD", settings().load);
  take_behaviour("STANDIN_PREDICT", settings().predict);
  if (const char* const ios = std::getenv("STANDIN_IOS")) settings().ios = std::atoi(ios);
  if (const char* const late = std::getenv("STANDIN_LATE_MS")) {
    settings().late_ms = std::atoi(late);
  }
}

void add_fault(const std::string& what) {
  const std::lock_guard lock(shared().mutex);
  shared().faults.push_back(what);
}

std::vector<std::string> take_faults() {
  const std::lock_guard lock(shared().mutex);
  return std::exchange(shared().faults, {});
}

void LateWork::begin() {
  const std::lock_guard lock(shared().mutex);
  ++shared().running;
}

void LateWork::end() {
  const std::lock_guard lock(shared().mutex);
  --shared().running;
  shared().changed.notify_all();
}

void LateWork::wait_for_all() {
  std::unique_lock lock(shared().mutex);
  shared().changed.wait(lock, [] { return shared().running == 0; });
}

bool acts_up(Behaviour behaviour) {
  switch (behaviour) {
    case Behaviour::Works:
      return false;
    case Behaviour::Hangs:
      std::this_thread::sleep_for(std::chrono::seconds(20));
      return true;
    case Behaviour::KillsItsProcess:
      std::raise(SIGKILL);
      return true;
    case Behaviour::Fails:
      break;
  }
  return true;
}

}  // namespace pippin::standin
