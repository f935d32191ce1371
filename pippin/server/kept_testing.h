// For tests only: forms with files, and files of requests.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/http/message.h"

namespace pippin::server {

// A form with a file and further texts: its body, and its headers.
struct TestForm {
  std::string body;
  http::Fields headers = {{"content-type", "multipart/form-data; boundary=xyz"}};
};

inline TestForm form_of(std::string_view content,
                        const std::vector<std::pair<std::string, std::string>>& texts = {
                            {"purpose", "batch"}}) {
  TestForm form;
  for (const auto& [name, text] : texts) {
    form.body += fmt::format("--xyz\r\ncontent-disposition: form-data; name=\"{}\"\r\n\r\n{}\r\n",
                             name, text);
  }
  form.body += fmt::format(
      "--xyz\r\ncontent-disposition: form-data; name=\"file\"; filename=\"in.jsonl\"\r\n"
      "content-type: application/jsonl\r\n\r\n{}\r\n--xyz--\r\n",
      content);
  return form;
}

// A line of a file of requests, for /v1/completions.
inline std::string completion_line(const std::string& id, const std::string& more = "") {
  return fmt::format(
      R"({{"custom_id":"{}","method":"POST","url":"/v1/completions","body":{{"prompt":"{} day"{}}}}})"
      "\n",
      id, id, more.empty() ? "" : "," + more);
}

}  // namespace pippin::server
