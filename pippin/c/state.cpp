#include <iterator>
#include <utility>

#include "pippin/api/model.h"
#include "pippin/c/boundary.h"
#include "pippin/c/handles.h"

namespace pippin::c {
namespace {

void check_bytes(const Tensor& value, const char* name, int64_t bytes) {
  const int64_t wanted = value.size() * byte_size(value.type());
  if (bytes != wanted) {
    fail(ErrorCode::InvalidArgument, "state '{}' has {} bytes; {} were given", name, wanted, bytes);
  }
}

std::unique_ptr<pippin_state> state_handle(std::function<State()> make) {
  auto handle = std::make_unique<pippin_state>();
  handle->state = std::make_shared<State>(make());
  handle->make = std::move(make);
  handle->features = feature_handles(handle->state->features());
  return handle;
}

}  // namespace
}  // namespace pippin::c

namespace c = pippin::c;
using pippin::ErrorCode;
using pippin::fail;
using pippin::FeatureInfo;
using pippin::State;
using pippin::Tensor;

pippin_code pippin_state_new(const pippin_function* function, pippin_state** state,
                             pippin_error** error) {
  return c::give(state, "state", error, [&] {
    return c::state_handle(
        [of = c::needed(function, "function").function] { return of->make_state(); });
  });
}

pippin_code pippin_state_new_for_model(const pippin_model* model, pippin_state** state,
                                       pippin_error** error) {
  return c::give(state, "state", error, [&] {
    return c::state_handle([of = c::needed(model, "model").model] { return of->make_state(); });
  });
}

pippin_code pippin_state_clone(const pippin_state* state, pippin_state** clone,
                               pippin_error** error) {
  return c::give(clone, "clone", error, [&] {
    const pippin_state& from = c::needed(state, "state");
    auto handle = c::state_handle(from.make);
    for (const FeatureInfo& feature : from.state->features()) {
      handle->state->set(feature.name, from.state->get(feature.name));
    }
    return handle;
  });
}

void pippin_state_free(pippin_state* state) {
  delete state;
}

int64_t pippin_state_feature_count(const pippin_state* state) {
  return state == nullptr ? 0 : std::ssize(state->features);
}

const pippin_feature* pippin_state_feature(const pippin_state* state, int64_t index) {
  if (index < 0 || index >= pippin_state_feature_count(state)) return nullptr;
  return &state->features[static_cast<size_t>(index)];
}

pippin_code pippin_state_reset(pippin_state* state, pippin_error** error) {
  return c::guarded(error, [&] { c::needed(state, "state").state->reset(); });
}

pippin_code pippin_state_read(const pippin_state* state, const char* name, void* data,
                              int64_t bytes, pippin_error** error) {
  return c::guarded(error, [&] {
    const State& from = *c::needed(state, "state").state;
    const Tensor value = from.get(c::needed_text(name, "name"));
    c::check_bytes(value, name, bytes);
    if (data == nullptr) fail(ErrorCode::InvalidArgument, "data is NULL");
    std::memcpy(data, value.bytes().data(), value.bytes().size());
  });
}

pippin_code pippin_state_write(pippin_state* state, const char* name, const void* data,
                               int64_t bytes, pippin_error** error) {
  return c::guarded(error, [&] {
    State& into = *c::needed(state, "state").state;
    const std::string_view wanted = c::needed_text(name, "name");
    if (data == nullptr) fail(ErrorCode::InvalidArgument, "data is NULL");
    for (const FeatureInfo& feature : into.features()) {
      if (feature.name != wanted) continue;
      const Tensor value = Tensor::wrap(feature.type, feature.shape, data);
      c::check_bytes(value, name, bytes);
      return into.set(wanted, value);
    }
    into.get(wanted);  // its error lists the states
  });
}

pippin_code pippin_state_save(const pippin_state* state, const char* path, pippin_error** error) {
  return c::guarded(error,
                    [&] { c::needed(state, "state").state->save(c::needed_text(path, "path")); });
}

pippin_code pippin_state_load(pippin_state* state, const char* path, pippin_error** error) {
  return c::guarded(error,
                    [&] { c::needed(state, "state").state->load(c::needed_text(path, "path")); });
}
