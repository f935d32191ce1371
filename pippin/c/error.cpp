#include <cstdlib>
#include <new>
#include <string>

#include "pippin/base/exception.h"
#include "pippin/c/boundary.h"

struct pippin_error {
  pippin::ErrorCode code;
  std::string message;
};

namespace pippin::c {
namespace {

constexpr pippin_code code_of(ErrorCode code) {
  return static_cast<pippin_code>(code) + 1;
}
static_assert(code_of(ErrorCode::InvalidFile) == PIPPIN_ERROR_INVALID_FILE);
static_assert(code_of(ErrorCode::Unsupported) == PIPPIN_ERROR_UNSUPPORTED);
static_assert(code_of(ErrorCode::InvalidArgument) == PIPPIN_ERROR_INVALID_ARGUMENT);
static_assert(code_of(ErrorCode::NotFound) == PIPPIN_ERROR_NOT_FOUND);
static_assert(code_of(ErrorCode::LimitExceeded) == PIPPIN_ERROR_LIMIT_EXCEEDED);
static_assert(code_of(ErrorCode::Io) == PIPPIN_ERROR_IO);
static_assert(code_of(ErrorCode::Network) == PIPPIN_ERROR_NETWORK);
static_assert(code_of(ErrorCode::Cancelled) == PIPPIN_ERROR_CANCELLED);
static_assert(code_of(ErrorCode::Device) == PIPPIN_ERROR_DEVICE);
static_assert(code_of(ErrorCode::Internal) == PIPPIN_ERROR_INTERNAL);

// Used if there is not enough memory for another one.
pippin_error& no_memory() noexcept {
  static pippin_error error{ErrorCode::LimitExceeded,
                            "no memory"};  // short enough not to be allocated
  return error;
}

}  // namespace

pippin_code report(pippin_error** error, ErrorCode code, const char* message) noexcept {
  if (error != nullptr) {
    try {
      *error = new pippin_error{code, message};
    } catch (...) {
      *error = &no_memory();
    }
  }
  return code_of(code);
}

}  // namespace pippin::c

uint32_t pippin_abi_version(void) {
  return 1;
}

const char* pippin_version(void) {
  return PIPPIN_VERSION;
}

pippin_code pippin_error_code(const pippin_error* error) {
  return error == nullptr ? PIPPIN_OK : pippin::c::code_of(error->code);
}

const char* pippin_error_message(const pippin_error* error) {
  return error == nullptr ? "" : error->message.c_str();
}

void pippin_error_free(pippin_error* error) {
  if (error != &pippin::c::no_memory()) delete error;
}

void pippin_free(void* memory) {
  std::free(memory);
}
