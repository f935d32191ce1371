#include "pippin/base/error.h"

#include <fmt/format.h>

namespace pippin {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidFile:
      return "invalid file";
    case ErrorCode::Unsupported:
      return "unsupported";
    case ErrorCode::InvalidArgument:
      return "invalid argument";
    case ErrorCode::NotFound:
      return "not found";
    case ErrorCode::LimitExceeded:
      return "limit exceeded";
    case ErrorCode::Io:
      return "input/output error";
    case ErrorCode::Network:
      return "network error";
    case ErrorCode::Cancelled:
      return "cancelled";
    case ErrorCode::Internal:
      return "internal error";
  }
  return "unknown error";
}

void throw_error(ErrorCode code, fmt::string_view format, fmt::format_args args) {
  throw Error(code, fmt::vformat(format, args));
}

}  // namespace pippin
