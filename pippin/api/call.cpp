#include "pippin/api/call.h"

#include <atomic>
#include <optional>

#include "pippin/api/model_impl.h"
#include "pippin/api/planned_call.h"
#include "pippin/api/targets.h"
#include "pippin/base/error.h"

namespace pippin {

struct Call::Impl {
  // A run: no other one of this call.
  class Use {
   public:
    explicit Use(Impl& call) : call_(call) {
      if (call_.is_used.exchange(true, std::memory_order_acquire)) {
        fail(ErrorCode::InvalidArgument, "the call is in use: one thread at a time may run it");
      }
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() { call_.is_used.store(false, std::memory_order_release); }

   private:
    Impl& call_;
  };

  void run(State& state) {
    const State::Impl& given = *state.impl_;
    function->executable->check_names(inputs);
    function->check_state(given);
    const Model::Impl::Use use(*function->model);
    if (planned != nullptr && planned->run(inputs, state.impl_->state, outputs)) return;
    Values results = function->executable->run(inputs, state.impl_->state);
    api::store(function->executable->outputs(), results, outputs);
  }

  std::shared_ptr<Function::Impl> function;
  Values inputs, outputs;
  std::unique_ptr<api::PlannedCall> planned;  // null: it cannot be
  std::optional<State> own;                   // of runs without one
  std::atomic<bool> is_used{false};
};

Call::Call(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Call::Call(Call&&) noexcept = default;
Call& Call::operator=(Call&&) noexcept = default;
Call::~Call() = default;

Call Function::prepare(Values inputs, Values outputs) const {
  api::Executable& executable = *impl_->executable;
  executable.check_inputs(inputs);
  api::check_targets(executable.outputs(), outputs);
  auto call = std::make_unique<Call::Impl>();
  call->function = impl_;
  {
    const Model::Impl::Use use(*impl_->model);
    call->planned = executable.plan_call(inputs, outputs);
  }
  call->inputs = std::move(inputs);
  call->outputs = std::move(outputs);
  return Call(std::move(call));
}

void Call::run(State& state) {
  const Impl::Use use(*impl_);
  impl_->run(state);
}

void Call::run(State& state, const CancelToken& cancel) {
  const CancelScope scope(cancel);
  run(state);
}

void Call::run() {
  const Impl::Use use(*impl_);
  const Function::Impl& function = *impl_->function;
  if (!impl_->own) {
    impl_->own = State(
        std::make_unique<State::Impl>(function.declared_states, function.model->options.compute));
  } else {
    impl_->own->reset();
  }
  impl_->run(*impl_->own);
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
