#include "pippin/python/prepared_calls.h"

#include <algorithm>
#include <utility>

namespace pippin::python {
namespace {

constexpr size_t kMaxReady = 16;   // the longest unused goes
constexpr size_t kMaxRefused = 4;  // after so many no plan is tried any more

}  // namespace

// Of an input.
struct PreparedCalls::Form {
  std::string name;
  DataType type;
  std::vector<int64_t> shape;

  static bool fit(const std::vector<Form>& forms, const Values& inputs) {
    return std::equal(forms.begin(), forms.end(), inputs.begin(), inputs.end(),
                      [](const Form& form, const auto& input) {
                        const auto* tensor = std::get_if<Tensor>(&input.second);
                        return tensor != nullptr && form.name == input.first &&
                               form.type == tensor->type() && form.shape == tensor->shape();
                      });
  }
};

struct PreparedCalls::Ready {
  std::vector<Form> forms;
  Call call;
};

struct PreparedCalls::Cache {
  std::list<Ready> ready;
  std::vector<std::vector<Form>> refused;  // these have no plan
  std::optional<State> none;               // of a function without states
};

class PreparedCalls::Turn {
 public:
  explicit Turn(PreparedCalls& calls) : calls_(calls) {
    calls_.lock_.lock_unless_cancelled();
    if (calls_.cache_ != nullptr && calls_.process_ == fork_count()) return;
    // A thread of the parent may have been in the middle of it: better lost than half modified.
    static_cast<void>(calls_.cache_.release());
    calls_.process_ = fork_count();
    calls_.cache_ = std::make_unique<Cache>();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { calls_.lock_.unlock(); }

 private:
  PreparedCalls& calls_;
};

PreparedCalls::PreparedCalls(Function function) : function_(std::move(function)) {}
PreparedCalls::~PreparedCalls() = default;

// Null where there is none for these inputs.
Call* PreparedCalls::find(const Values& inputs) {
  std::list<Ready>& ready = cache_->ready;
  const auto known = std::find_if(ready.begin(), ready.end(),
                                  [&](const Ready& one) { return Form::fit(one.forms, inputs); });
  if (known != ready.end()) {
    ready.splice(ready.begin(), ready, known);
    return &ready.front().call;
  }
  auto& refused = cache_->refused;
  if (refused.size() == kMaxRefused) return nullptr;
  std::vector<Form> forms;
  for (const auto& [name, value] : inputs) {
    const auto* tensor = std::get_if<Tensor>(&value);
    if (tensor == nullptr) return nullptr;  // an image
    forms.push_back({name, tensor->type(), tensor->shape()});
  }
  if (std::any_of(refused.begin(), refused.end(),
                  [&](const auto& one) { return Form::fit(one, inputs); })) {
    return nullptr;
  }
  Call call = function_.prepare(inputs);
  if (!call.is_planned()) {
    refused.push_back(std::move(forms));
    return nullptr;
  }
  call.inputs().clear();
  ready.push_front({std::move(forms), std::move(call)});
  if (ready.size() > kMaxReady) ready.pop_back();
  return &ready.front().call;
}

template <typename Body>
void PreparedCalls::with_state(State* given, Body&& body) {
  if (given != nullptr) return body(*given);
  if (function_.states().empty()) {
    if (!cache_->none) cache_->none = function_.make_state();
    return body(*cache_->none);
  }
  State fresh = function_.make_state();
  body(fresh);
}

namespace {

// The call has the inputs while this lives.
class Lent {
 public:
  Lent(Call& call, Values& inputs) : call_(call), inputs_(inputs) { call_.inputs().swap(inputs_); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  ~Lent() { call_.inputs().swap(inputs_); }

 private:
  Call& call_;
  Values& inputs_;
};

}  // namespace

Values PreparedCalls::predict(Values& inputs, State* state) {
  const Turn turn(*this);
  Values results;
  Call* const call = find(inputs);
  with_state(state, [&](State& used) {
    if (call == nullptr) {
      results = function_.predict(inputs, used);
    } else {
      const Lent lent(*call, inputs);
      results = call->predict(used);
    }
  });
  return results;
}

void PreparedCalls::predict(Values& inputs, State* state, Values& outputs) {
  const Turn turn(*this);
  Call* const call = find(inputs);
  with_state(state, [&](State& used) {
    if (call == nullptr) return function_.predict(inputs, used, outputs);
    const Lent lent(*call, inputs);
    call->predict(used, outputs);
  });
}

}  // namespace pippin::python
