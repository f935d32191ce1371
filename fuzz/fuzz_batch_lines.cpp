// Files of requests: the queue takes one without faults.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "pippin/base/bytes.h"
#include "pippin/batch/request.h"
#include "pippin/server/batch_lines.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  constexpr uint64_t kMost = 10;
  const std::string_view text = as_text(std::as_bytes(std::span(data, size)));
  const server::CheckedLines checked = server::check_lines(
      text, {"/v1/completions", kMost, [](const std::string& name) { return name == "demo"; }});
  for (const server::LineFault& fault : checked.faults) {
    if (fault.code.empty() || fault.message.empty()) __builtin_trap();
  }
  if (!checked.faults.empty()) return 0;
  uint64_t requests = 0;
  batch::each_line(text, true, [&](std::string_view line, size_t) {
    if (batch::is_blank(line, batch::InputKind::Requests)) return;
    ++requests;
    batch::parse_request(line, 1, batch::InputKind::Requests, "line");
  });
  if (requests != checked.requests || requests > kMost) __builtin_trap();
  return 0;
}
