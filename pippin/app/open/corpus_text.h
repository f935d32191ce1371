// Texts of a corpus: a queue of texts (batch/job.h) whose lines may be objects of JSON.
#pragma once

#include <filesystem>
#include <string>

#include "pippin/batch/request.h"

namespace pippin::app {

class CorpusTexts {
 public:
  // An object with "text" on each line if the name ends in .jsonl, else a text.
  explicit CorpusTexts(const std::filesystem::path& input)
      : is_json_(input.extension() == ".jsonl") {}

  // Throws InvalidFile for a line that is not such an object; `where` begins the message.
  std::string of(const batch::Request& request, const std::string& where) const;

 private:
  bool is_json_;
};

}  // namespace pippin::app
