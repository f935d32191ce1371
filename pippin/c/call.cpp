#include "pippin/api/call.h"

#include <utility>
#include <variant>

#include "pippin/c/boundary.h"
#include "pippin/c/handles.h"

namespace pippin::c {
namespace {

bool fits(const Value& set, const Tensor& tensor) {
  const Tensor& before = std::get<Tensor>(set);
  return before.type() == tensor.type() && before.shape() == tensor.shape();
}

void run(pippin_call& call) {
  if (call.outputs.empty()) {
    Values results = call.state != nullptr ? call.function->predict(call.inputs, *call.state)
                                           : call.function->predict(call.inputs);
    for (auto& [name, value] : results) {
      if (auto* tensor = std::get_if<Tensor>(&value)) *tensor = Tensor::shared(std::move(*tensor));
    }
    call.results = std::move(results);
    return;
  }
  if (!call.prepared) call.prepared = call.function->prepare(call.inputs, call.outputs);
  if (call.state != nullptr) {
    call.prepared->run(*call.state);
  } else {
    call.prepared->run();
  }
}

const Value& output_of(const pippin_call& call, const char* name) {
  const Values& values = call.outputs.empty() ? call.results : call.outputs;
  const auto found = values.find(needed_text(name, "name"));
  if (found == values.end()) {
    fail(ErrorCode::NotFound, "the call has no output '{}'", name);
  }
  return found->second;
}

}  // namespace
}  // namespace pippin::c

namespace c = pippin::c;
using pippin::Dictionary;
using pippin::ErrorCode;
using pippin::fail;
using pippin::Tensor;
using pippin::Value;

pippin_code pippin_call_new(const pippin_function* function, pippin_call** call,
                            pippin_error** error) {
  return c::give(call, "call", error, [&] {
    auto handle = std::make_unique<pippin_call>();
    handle->function = c::needed(function, "function").function;
    return handle;
  });
}

void pippin_call_free(pippin_call* call) {
  delete call;
}

pippin_code pippin_call_set_input(pippin_call* call, const char* name, const pippin_tensor* tensor,
                                  pippin_error** error) {
  return c::guarded(error, [&] {
    const c::BusyScope busy(c::needed(call, "call"), "call");
    const std::string_view wanted = c::needed_text(name, "name");
    const Tensor& value = c::needed(tensor, "tensor").tensor;
    if (const auto set = call->inputs.find(wanted); set != call->inputs.end()) {
      if (!c::fits(set->second, value)) call->prepared.reset();
      set->second = value;
    } else {
      call->prepared.reset();
      call->inputs.emplace(wanted, value);
    }
    if (call->prepared) call->prepared->inputs().find(wanted)->second = value;
  });
}

pippin_code pippin_call_set_output(pippin_call* call, const char* name, pippin_tensor* tensor,
                                   pippin_error** error) {
  return c::guarded(error, [&] {
    const c::BusyScope busy(c::needed(call, "call"), "call");
    const std::string_view wanted = c::needed_text(name, "name");
    const Tensor& value = c::needed(tensor, "tensor").tensor;
    call->prepared.reset();
    call->results.clear();
    call->outputs.insert_or_assign(std::string(wanted), value);
  });
}

pippin_code pippin_call_set_state(pippin_call* call, pippin_state* state, pippin_error** error) {
  return c::guarded(error, [&] {
    const c::BusyScope busy(c::needed(call, "call"), "call");
    call->state = state == nullptr ? nullptr : state->state;
  });
}

pippin_code pippin_call_clear(pippin_call* call, pippin_error** error) {
  return c::guarded(error, [&] {
    const c::BusyScope busy(c::needed(call, "call"), "call");
    call->prepared.reset();
    call->inputs.clear();
    call->outputs.clear();
    call->results.clear();
    call->state.reset();
  });
}

pippin_code pippin_call_run(pippin_call* call, const pippin_cancel* cancel, pippin_error** error) {
  return c::guarded(error, [&] {
    const c::BusyScope busy(c::needed(call, "call"), "call");
    const c::CancelBy scope(cancel);
    c::run(*call);
  });
}

pippin_code pippin_call_output(const pippin_call* call, const char* name, pippin_tensor** tensor,
                               pippin_error** error) {
  return c::give(tensor, "tensor", error, [&] {
    const Value& value = c::output_of(c::needed(call, "call"), name);
    if (const auto* dictionary = std::get_if<Dictionary>(&value)) {
      return c::tensor_handle(dictionary->values);
    }
    return c::tensor_handle(std::get<Tensor>(value));
  });
}

pippin_code pippin_call_output_keys(const pippin_call* call, const char* name,
                                    pippin_tensor** tensor, pippin_error** error) {
  return c::give(tensor, "tensor", error, [&] {
    const auto* dictionary = std::get_if<Dictionary>(&c::output_of(c::needed(call, "call"), name));
    if (dictionary == nullptr) fail(ErrorCode::InvalidArgument, "'{}' is not a dictionary", name);
    return c::tensor_handle(dictionary->keys);
  });
}
