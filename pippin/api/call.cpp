#include "pippin/api/call.h"

#include <atomic>
#include <optional>

#include "pippin/api/model_impl.h"
#include "pippin/api/planned_call.h"
#include "pippin/api/targets.h"
#include "pippin/base/error.h"

namespace pippin {

struct Call::Impl {
  // A run in progress: excludes other runs of this call.
  class BusyScope {
   public:
    explicit BusyScope(Impl& call) : call_(call) {
      if (call_.is_used.exchange(true, std::memory_order_acquire)) {
        fail(ErrorCode::InvalidArgument, "the call is in use: one thread at a time may run it");
      }
    }
    BusyScope(const BusyScope&) = delete;
    BusyScope& operator=(const BusyScope&) = delete;
    ~BusyScope() { call_.is_used.store(false, std::memory_order_release); }

   private:
    Impl& call_;
  };

  // As PlannedCall::make().
  void plan(std::shared_ptr<Function::Impl> of, Values given, const Values* wanted) {
    of->opened.executable->check_inputs(given);
    function = std::move(of);
    inputs = std::move(given);
    const Model::Impl::PredictionLock lock(*function->model);
    planned = function->opened.executable->plan_call(inputs, wanted);
  }

  void check(const State& state) const {
    function->opened.executable->check_names(inputs);
    function->check_state(*state.impl_);
  }

  void run(State& state, Values& into) {
    check(state);
    const Model::Impl::PredictionLock lock(*function->model);
    if (planned != nullptr && planned->run(inputs, state.impl_->state, into)) return;
    function->opened.executable->run_into(inputs, state.impl_->state, into);
  }

  Values predict(State& state) {
    check(state);
    const Model::Impl::PredictionLock lock(*function->model);
    if (planned != nullptr) {
      if (auto results = planned->run(inputs, state.impl_->state)) return std::move(*results);
    }
    return function->opened.executable->run(inputs, state.impl_->state);
  }

  std::shared_ptr<Function::Impl> function;
  Values inputs, outputs;
  std::unique_ptr<api::PlannedCall> planned;  // null: not plannable
  std::optional<State> own;                   // for runs without a state
  std::atomic<bool> is_used{false};
};

Call::Call(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Call::Call(Call&&) noexcept = default;
Call& Call::operator=(Call&&) noexcept = default;
Call::~Call() = default;

Call Function::prepare(Values inputs, Values outputs) const {
  api::check_targets(impl_->opened.executable->outputs(), outputs);
  auto call = std::make_unique<Call::Impl>();
  call->outputs = std::move(outputs);
  call->plan(impl_, std::move(inputs), &call->outputs);
  return Call(std::move(call));
}

Call Function::prepare(Values inputs) const {
  auto call = std::make_unique<Call::Impl>();
  call->plan(impl_, std::move(inputs), nullptr);
  return Call(std::move(call));
}

void Call::run(State& state) {
  const Impl::BusyScope busy(*impl_);
  impl_->run(state, impl_->outputs);
}

Values Call::predict(State& state) {
  const Impl::BusyScope busy(*impl_);
  return impl_->predict(state);
}

void Call::predict(State& state, Values& outputs) {
  const Impl::BusyScope busy(*impl_);
  api::check_targets(impl_->function->opened.executable->outputs(), outputs);
  impl_->run(state, outputs);
}

void Call::run(State& state, const CancelToken& cancel) {
  const CancelScope scope(cancel);
  run(state);
}

void Call::run() {
  const Impl::BusyScope busy(*impl_);
  const Function::Impl& function = *impl_->function;
  if (!impl_->own) {
    impl_->own =
        State(std::make_unique<State::Impl>(function.declared_states, function.opened.compute));
  } else {
    impl_->own->reset();
  }
  impl_->run(*impl_->own, impl_->outputs);
}

Values& Call::inputs() {
  return impl_->inputs;
}
const Values& Call::outputs() const {
  return impl_->outputs;
}
bool Call::is_planned() const {
  return impl_->planned != nullptr;
}

}  // namespace pippin
