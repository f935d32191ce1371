// The stand-in for Core ML: how strict it is, what it makes fail, and what it caught.
//
// Its predictions are made by Pippin's engine (standin_engine.h). Everything that Apple's
// documentation allows and its machines seldom do, it does always: outputs have padded rows with
// poison between them, every second backing is ignored, states move and are poisoned after each
// look, completions come late from another thread, compiled models vanish at the end.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace pippin::standin {

enum class Behaviour : uint8_t { Works, Fails, Hangs, KillsItsProcess };

struct Settings {
  // What members there are: those of this iOS version and before, in tenths (macOS 15 is 180).
  std::atomic<int> ios = 260;
  std::atomic<Behaviour> compile = Behaviour::Works, load = Behaviour::Works,
                         predict = Behaviour::Works;
  std::atomic<int> late_ms = 1;               // how much later completions come
  std::atomic<bool> ignores_backings = true;  // every second one
};
Settings& settings();
// As the variables STANDIN_IOS, STANDIN_COMPILE, STANDIN_LOAD, STANDIN_PREDICT (works, fails,
// hangs, kills) and STANDIN_LATE_MS say.
void take_settings_from_environment();

// What a caller did that Core ML does not allow, such as two predictions of one state at a time.
void add_fault(const std::string& what);
std::vector<std::string> take_faults();

struct Counters {
  std::atomic<int64_t> compiled = 0, loaded = 0, predictions = 0, asynchronous = 0,
                       used_backings = 0, states = 0, looks = 0, models_alive = 0;
};
Counters& counters();

// What completes late, on other threads.
class LateWork {
 public:
  static void begin();
  static void end();
  static void wait_for_all();
};

// Acts as a behaviour other than Works says; true: it is to fail.
bool acts_up(Behaviour behaviour);

}  // namespace pippin::standin
