// The implementation of the public classes.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "pippin/api/executable.h"
#include "pippin/api/model.h"
#include "pippin/api/opened_files.h"
#include "pippin/base/threads/fork.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/runner.h"
#include "pippin/engine/state.h"
#include "pippin/mil/model.h"

namespace pippin {

// The enclosing classes are visible outside of the shared library (base/export.h).
#define PIPPIN_LOCAL __attribute__((visibility("hidden")))

struct PIPPIN_LOCAL State::Impl {
  Impl(const std::vector<mil::Feature>& declared, const engine::ComputeOptions& compute);
  Impl(std::vector<FeatureInfo> infos, engine::State copied)
      : features(std::move(infos)), state(std::move(copied)) {}
  const FeatureInfo* find(std::string_view name) const;
  const FeatureInfo& at(std::string_view name) const;  // throws NotFound

  std::vector<FeatureInfo> features;
  engine::State state;
};

struct PIPPIN_LOCAL Model::Impl {
  Impl(mil::Model read, const LoadOptions& load_options);

  // Locks the model for one prediction. Throws Cancelled if the call is cancelled while it waits,
  // and the errors of OpenedFiles.
  class PredictionLock {
   public:
    explicit PredictionLock(Impl& model) : model_(model) {
      model_.files.check_unchanged();
      model_.lock.lock_unless_cancelled();
    }
    PredictionLock(const PredictionLock&) = delete;
    PredictionLock& operator=(const PredictionLock&) = delete;
    ~PredictionLock() { model_.lock.unlock(); }

   private:
    Impl& model_;
  };

  mil::Model model;
  const api::OpenedFiles files;
  ModelMetadata metadata;
  engine::RunnerOptions options;
  TurnLock lock;  // of the pool, which serves one prediction at a time, and of executables

  const int num_threads;

  // Prepares a function, on the CPU where the options allow that instead of their device; functions
  // with states share one place.
  struct Opened {
    engine::ComputeOptions compute;
    std::unique_ptr<api::Executable> executable;
  };
  Opened open(std::string_view function, bool has_states);
  // Where states for all functions are.
  engine::ComputeOptions state_options();

  // Its threads start when a function is prepared: a model that is only inspected has none.
  ThreadPool& pool();

 private:
  std::mutex starting_, opening_;
  bool states_on_device_ = false;
  std::optional<ThreadPool> pool_;
};

struct PIPPIN_LOCAL Function::Impl {
  Impl(std::shared_ptr<Model::Impl> owner, std::string_view function);
  // Checks that the state has the function's states in the required form. Throws InvalidArgument.
  void check_state(const State::Impl& state) const;

  std::shared_ptr<Model::Impl> model;
  const mil::FunctionDescription& description;
  std::vector<mil::Feature> declared_states;
  std::vector<FeatureInfo> states;
  Model::Impl::Opened opened;
};

#undef PIPPIN_LOCAL

}  // namespace pippin
