// For tests only: files of requests.
#pragma once

#include <string>

#include <fmt/format.h>

namespace pippin::batch {

inline std::string request_line(const std::string& id, const std::string& url = "/v1/completions",
                                const std::string& body = R"({"prompt":"Once"})") {
  return fmt::format(R"({{"custom_id":"{}","method":"POST","url":"{}","body":{}}})", id, url,
                     body) +
         "\n";
}

}  // namespace pippin::batch
