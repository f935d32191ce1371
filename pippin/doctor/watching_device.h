// Watches the CPU while a model of any family runs: measures the inputs of norms and the fp16
// results.
//
// Passed as the device (engine/device.h) to any code that runs the model; adds the watched values
// to the CPU's plans as further outputs. Outputs are kept until a run ends: if they exceed the
// memory limit, the model runs several times, and each pass watches some of them.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "pippin/doctor/subject.h"
#include "pippin/engine/device.h"

namespace pippin::doctor {

// By package: its canonical path.
using PackagePeaks = std::map<std::filesystem::path, Peaks>;

// Watches norms that square their input in fp16 (norms.h) and results (overflow.h). Values are
// computed in fp32, so nothing overflows during the measurement.
class WatchingDevice final : public engine::Device {
 public:
  static constexpr uint64_t kMostBytes = 1ULL << 30;
  // `most_bytes` limits the values of a function watched in one pass.
  explicit WatchingDevice(uint64_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}

  // For plans made from now on.
  void begin_pass(size_t pass) { pass_ = pass; }
  // The number of passes needed by the functions for which plans were made.
  size_t passes() const;

  const std::string& name() const override;
  std::shared_ptr<const engine::Plan> make_plan(const mil::Model& model, std::string_view function,
                                                const engine::PlanOptions& options) override;
  std::unique_ptr<engine::StateMemory> make_state(const std::vector<mil::Feature>& states) override;

  // Records a value, named by its function and itself; NaN is ignored, since other values show it.
  void take(const std::filesystem::path& package, const std::pair<std::string, std::string>& name,
            std::span<const float> values);
  PackagePeaks peaks() const;

 private:
  // The values of this pass.
  std::vector<const mil::Var*> watched_values(const FunctionView& function);

  uint64_t most_bytes_;
  std::atomic<size_t> pass_ = 0;
  mutable std::mutex mutex_;
  size_t passes_ = 1;
  PackagePeaks peaks_;
};

// The key of a package in its peaks.
std::filesystem::path package_key(const std::filesystem::path& package);

}  // namespace pippin::doctor
