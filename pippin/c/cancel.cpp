#include "pippin/base/threads/cancel.h"

#include <memory>

#include "pippin/c/boundary.h"
#include "pippin/c/handles.h"

namespace pippin::c {

const CancelToken& CancelBy::token_of(const pippin_cancel& cancel) {
  return cancel.token;
}

}  // namespace pippin::c

pippin_code pippin_cancel_new(pippin_cancel** cancel, pippin_error** error) {
  return pippin::c::give(cancel, "cancel", error, [] { return std::make_unique<pippin_cancel>(); });
}

void pippin_cancel_free(pippin_cancel* cancel) {
  delete cancel;
}

void pippin_cancel_trigger(pippin_cancel* cancel) {
  if (cancel != nullptr) cancel->token.request();
}

void pippin_cancel_reset(pippin_cancel* cancel) {
  if (cancel != nullptr) cancel->token.reset();
}

int32_t pippin_cancel_is_triggered(const pippin_cancel* cancel) {
  return cancel != nullptr && cancel->token.is_requested() ? 1 : 0;
}
