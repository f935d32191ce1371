// Options that constrain an answer to a form.
#pragma once

#include <optional>
#include <string>

#include "pippin/app/answer_form.h"

namespace CLI {
class App;
}

namespace pippin::cli {

struct FormArguments {
  std::string schema, grammar, regex, choices;

  // Reads the files. Throws CLI::ValidationError if two forms are given, NotFound, Io, InvalidFile.
  std::optional<app::AnswerForm> form() const;
};

void add_form_options(CLI::App& command, FormArguments& arguments);

}  // namespace pippin::cli
