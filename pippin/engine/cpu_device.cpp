#include "pippin/engine/cpu_device.h"

#include "pippin/engine/dynamic/dynamic_runner.h"
#include "pippin/engine/planning/planning.h"
#include "pippin/engine/reference/reference_runner.h"
#include "pippin/engine/run/host_state.h"

namespace pippin::engine {
namespace {

class CpuDevice final : public Device {
 public:
  const std::string& name() const override { return name_; }

  std::shared_ptr<const Plan> make_plan(const mil::Model& model, std::string_view function,
                                        const PlanOptions& options) override {
    return plan_function(model, function, options);
  }
  std::unique_ptr<StateMemory> make_state(const std::vector<mil::Feature>& states) override {
    return std::make_unique<HostState>(states);
  }
  std::unique_ptr<Runner> make_runner(const mil::Model& model, std::string_view function,
                                      ThreadPool& pool, const RunnerOptions& options) override {
    if (options.compute.precision == Precision::Reference) {
      return make_reference_runner(model, function, options);
    }
    return make_dynamic_runner(model, function, pool, options);
  }

 private:
  std::string name_ = HostState::kDevice;
};

}  // namespace

Device& cpu_device() {
  static CpuDevice device;
  return device;
}

}  // namespace pippin::engine
