#include "pippin/nn/layers/cache.h"

#include "pippin/base/error.h"

namespace pippin::nn {
namespace {

[[noreturn]] void fail_keys_only(int64_t layer, const CarriedState& state) {
  fail(ErrorCode::Unsupported,
       "layer {} keeps '{}' from one pass to the next: this package family keeps keys and values "
       "only",
       layer, state.name);
}

}  // namespace

array::Array Cache::update_keys(int64_t layer, const array::Array& /*keys*/, const Pass& /*pass*/) {
  fail(ErrorCode::Unsupported, "layer {} has keys without values: this package family keeps both",
       layer);
}

array::Array Cache::update_index(int64_t layer, const array::Array& /*keys*/,
                                 const Pass& /*pass*/) {
  fail(ErrorCode::Unsupported,
       "layer {} chooses keys by an index: this package family keeps keys and values only", layer);
}

std::pair<array::Array, array::Array> Cache::seen(int64_t layer) const {
  fail(ErrorCode::Unsupported,
       "the keys of layer {} serve another: this package family has each layer's own", layer);
}

array::Array Cache::carried(int64_t layer, const CarriedState& state) {
  fail_keys_only(layer, state);
}

void Cache::carry(int64_t layer, const CarriedState& state, const array::Array& /*value*/) {
  fail_keys_only(layer, state);
}

}  // namespace pippin::nn
