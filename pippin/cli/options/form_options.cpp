#include "pippin/cli/options/form_options.h"

#include <algorithm>
#include <string>

#include <CLI/CLI.hpp>

#include "pippin/app/open/text_input.h"
#include "pippin/cli/options/options.h"
#include "pippin/io/json.h"

namespace pippin::cli {

std::optional<app::AnswerForm> FormArguments::form() const {
  using Kind = app::AnswerForm::Kind;
  const int given = (schema.empty() ? 0 : 1) + (grammar.empty() ? 0 : 1) + (regex.empty() ? 0 : 1) +
                    (choices.empty() ? 0 : 1);
  if (given == 0) return std::nullopt;
  if (given > 1) {
    throw CLI::ValidationError(
        "of --json-schema, --grammar, --regex and --choice only one can be given");
  }
  app::AnswerForm form;
  if (!schema.empty()) {
    form.kind = Kind::JsonSchema;
    // A schema itself begins with a brace, which file names rarely do.
    const bool is_text = schema.front() == '{';
    form.text = is_text ? schema : app::read_text(schema);
    Json::parse(form.text, is_text ? "--json-schema" : schema);
  } else if (!grammar.empty()) {
    form.kind = Kind::Grammar;
    form.text = app::read_text(grammar);
  } else if (!regex.empty()) {
    form.kind = Kind::Regex;
    form.text = regex;
  } else {
    form.kind = Kind::Choice;
    for (size_t begin = 0; begin <= choices.size();) {
      const size_t end = std::min(choices.find(',', begin), choices.size());
      form.choices.push_back(choices.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return form;
}

void add_form_options(CLI::App& command, FormArguments& arguments) {
  const auto option = [&](const char* name, std::string& value, const char* type,
                          const char* help) {
    command.add_option(name, value, help)->type_name(type)->check(not_empty());
  };
  option("--json-schema,-j", arguments.schema, "FILE",
         "Answer with JSON of this schema (a file, -, or the schema itself)");
  option("--grammar,--grammar-file", arguments.grammar, "FILE",
         "Answer with a text of this grammar (GBNF)");
  option("--regex", arguments.regex, "REGEX", "Answer with a text that this expression matches");
  option("--choice", arguments.choices, "A,B,...", "Answer with one of these");
}

}  // namespace pippin::cli
