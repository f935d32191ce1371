#include "pippin/doctor/watching_device.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "pippin/doctor/norms.h"
#include "pippin/doctor/overflow.h"
#include "pippin/engine/cpu_device.h"
#include "pippin/engine/device_execution.h"

namespace pippin::doctor {
namespace {

namespace fs = std::filesystem;
using engine::DeviceExecution;
using engine::Plan;
using engine::State;

// A watched value: an output of the plan, or one of its inputs.
struct Watched {
  std::pair<std::string, std::string> name;  // function, value
  bool is_input;
  size_t port;
};

struct Watch {
  WatchingDevice& device;
  fs::path package;
  std::vector<Watched> values;
};

std::span<const float> floats(ByteSpan bytes) {
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

// The size of a value in fp32; an axis of any size counts as the length of a text's pieces
// (calibrate.cpp).
uint64_t bytes_of(const std::vector<Extent>& extents) {
  constexpr int64_t kPiece = 512;
  constexpr uint64_t kLimit = 1ULL << 31;  // so that no product overflows
  uint64_t bytes = sizeof(float);
  for (const Extent& extent : extents) {
    const int64_t size = extent.fixed() ? extent.lower : std::min(extent.upper, kPiece);
    bytes = std::min(bytes * static_cast<uint64_t>(std::max<int64_t>(size, 1)), kLimit);
  }
  return bytes;
}

class WatchedExecution final : public DeviceExecution {
 public:
  WatchedExecution(const Watch& watch, std::unique_ptr<DeviceExecution> inner)
      : watch_(watch), inner_(std::move(inner)) {}

  void reserve_lanes(size_t count) override { inner_->reserve_lanes(count); }
  size_t lanes() const override { return inner_->lanes(); }
  void bind(const std::vector<std::vector<int64_t>>& shapes, State& state, size_t lane) override {
    inner_->bind(shapes, state, lane);
  }
  MutableByteSpan input_bytes(size_t index, size_t lane) override {
    return inner_->input_bytes(index, lane);
  }
  // All rows: those not requested are watched too.
  void run(size_t lane, std::optional<engine::WantedRows> /*rows*/) override {
    inner_->run(lane, std::nullopt);
    look(lane);
  }
  void run_cancellable(size_t lane) override {
    inner_->run_cancellable(lane);
    look(lane);
  }
  void run_together(std::span<const size_t> lanes) override {
    inner_->run_together(lanes);
    for (const size_t lane : lanes) look(lane);
  }
  ByteSpan output_bytes(size_t index, size_t lane) const override {
    return inner_->output_bytes(index, lane);
  }
  std::span<const int64_t> output_shape(size_t index, size_t lane) const override {
    return inner_->output_shape(index, lane);
  }

 private:
  void look(size_t lane) {
    for (const Watched& value : watch_.values) {
      const ByteSpan bytes = value.is_input ? ByteSpan(inner_->input_bytes(value.port, lane))
                                            : inner_->output_bytes(value.port, lane);
      watch_.device.take(watch_.package, value.name, floats(bytes));
    }
  }

  const Watch& watch_;
  std::unique_ptr<DeviceExecution> inner_;
};

class WatchedPlan final : public Plan {
 public:
  WatchedPlan(std::shared_ptr<const Plan> inner, Watch watch)
      : inner_(std::move(inner)), watch_(std::move(watch)) {}

  const std::string& name() const override { return inner_->name(); }
  std::span<const engine::Port> inputs() const override { return inner_->inputs(); }
  std::span<const engine::Port> outputs() const override { return inner_->outputs(); }
  const std::vector<mil::Feature>& states() const override { return inner_->states(); }
  uint64_t arena_bytes() const override { return inner_->arena_bytes(); }
  uint64_t weight_bytes() const override { return inner_->weight_bytes(); }
  uint64_t saved_bytes() const override { return inner_->saved_bytes(); }
  std::string describe() const override { return inner_->describe(); }
  std::unique_ptr<DeviceExecution> make_execution(ThreadPool& pool) const override {
    return std::make_unique<WatchedExecution>(watch_, inner_->make_execution(pool));
  }

 private:
  std::shared_ptr<const Plan> inner_;
  Watch watch_;
};

}  // namespace

fs::path package_key(const fs::path& package) {
  std::error_code error;
  const fs::path key = fs::canonical(package, error);
  return error ? package : key;
}

const std::string& WatchingDevice::name() const {
  return engine::cpu_device().name();
}

std::shared_ptr<const Plan> WatchingDevice::make_plan(const mil::Model& model,
                                                      std::string_view function,
                                                      const engine::PlanOptions& options) {
  const mil::Function& program = model.program.function(function);
  const mil::FunctionDescription& description = model.description(function);
  const FunctionView view(std::string(function), program, description);
  engine::PlanOptions wanted = options;
  wanted.compute.device = nullptr;
  if (wanted.outputs.empty()) {
    wanted.outputs.assign(program.block().outputs().begin(), program.block().outputs().end());
  }
  Watch watch{*this, package_key(model.path), {}};
  for (const mil::Var* var : watched_values(view)) {
    Watched value{{view.name(), var->name}, false, 0};
    const auto input = std::find_if(
        description.inputs.begin(), description.inputs.end(),
        [&](const mil::Feature& feature) { return program.find_input(feature.name) == var; });
    if (input != description.inputs.end()) {
      value.is_input = true;
      value.port = static_cast<size_t>(input - description.inputs.begin());
    } else {
      const auto output = std::find(wanted.outputs.begin(), wanted.outputs.end(), var);
      value.port = static_cast<size_t>(output - wanted.outputs.begin());
      if (output == wanted.outputs.end()) wanted.outputs.push_back(var);
    }
    watch.values.push_back(std::move(value));
  }
  return std::make_shared<WatchedPlan>(engine::cpu_device().make_plan(model, function, wanted),
                                       std::move(watch));
}

std::unique_ptr<engine::StateMemory> WatchingDevice::make_state(
    const std::vector<mil::Feature>& states) {
  return engine::cpu_device().make_state(states);
}

std::vector<const mil::Var*> WatchingDevice::watched_values(const FunctionView& function) {
  std::vector<const mil::Var*> all;
  for (const SquaringNorm& norm : squaring_norms(function)) all.push_back(norm.x);
  for (const mil::Var* result : half_results(function)) all.push_back(result);
  std::set<const mil::Var*> seen;
  std::vector<const mil::Var*> watched;
  uint64_t bytes = 0;
  size_t pass = 0;
  for (const mil::Var* var : all) {
    if (!seen.insert(var).second) continue;
    const uint64_t size = bytes_of(function.extents(*var));
    if (bytes > 0 && bytes + size > most_bytes_) {
      ++pass;
      bytes = 0;
    }
    bytes += size;
    if (pass == pass_) watched.push_back(var);
  }
  const std::lock_guard lock(mutex_);
  passes_ = std::max(passes_, pass + 1);
  return watched;
}

size_t WatchingDevice::passes() const {
  const std::lock_guard lock(mutex_);
  return passes_;
}

void WatchingDevice::take(const fs::path& package, const std::pair<std::string, std::string>& name,
                          std::span<const float> values) {
  double largest = 0;
  for (const float value : values) {
    largest = std::max(largest, static_cast<double>(std::abs(value)));
  }
  const std::lock_guard lock(mutex_);
  double& peak = peaks_[package][name];
  peak = std::max(peak, largest);
}

PackagePeaks WatchingDevice::peaks() const {
  const std::lock_guard lock(mutex_);
  return peaks_;
}

}  // namespace pippin::doctor
