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
    case ErrorCode::Device:
      return "device error";
    case ErrorCode::Internal:
      return "internal error";
  }
  return "unknown error";
}

void throw_error(ErrorCode code, fmt::string_view format, fmt::format_args args) {
  std::string message = fmt::vformat(format, args);
  // Names come from files: a message must stay one line, and must not control a terminal.
  for (char& c : message) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  throw Error(code, message);
}

}  // namespace pippin
