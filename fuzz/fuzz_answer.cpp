// Answers of untrusted models, and untrusted templates: an answer is split in the same way for all
// piece sizes, and complete arguments are valid JSON. The first byte selects the syntax; for 't',
// the text is a template from which the syntax is inferred.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "pippin/base/exception.h"
#include "pippin/base/text.h"
#include "pippin/io/json.h"
#include "pippin/model_output/known_syntaxes.h"
#include "pippin/model_output/syntax_testing.h"

using namespace pippin;
using namespace pippin::model_output;

namespace {

// The syntax selected by the first byte of the input.
std::shared_ptr<const CallSyntax> syntax_for(char kind) {
  const auto known = [](std::string_view words) {
    return std::make_shared<const CallSyntax>(*known_syntax(words));
  };
  switch (kind) {
    case 'a':
      return syntax_of(kTagged);
    case 'b':
      return syntax_of(kBare);
    case 'c':
      return known("<|channel|><|message|>");
    case 'g':
      return known("<|tool_call>call:<tool_call|>");
    case 'k':
      return known("<|tool_call_argument_begin|><|tool_call_end|>");
    case 'f':
      return known(">>>all");
    case 'l':
      return syntax_of(kList);
    case 'n':
      return syntax_of(kNamed);
    case 'p':
      return syntax_of(kPython);
    default:
      return syntax_of(kHermes);
  }
}

std::string told(const std::shared_ptr<const CallSyntax>& syntax, std::string_view text,
                 size_t size, bool was_cut) {
  AnswerParserOptions options;
  options.reasoning = std::make_shared<ReasoningMarks>(
      ReasoningMarks{.begin = {"<think>", {}}, .end = {"</think>", {}}});
  options.syntax = syntax;
  options.tools = some_tools();
  options.make_id = [] { return "made"; };
  AnswerParser parser(std::move(options));
  Answer answer;
  for (size_t begin = 0; begin < text.size();) {
    // Cuts between characters.
    size_t end = std::min(begin + size, text.size());
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
    answer.add(parser.push(-1, text.substr(begin, end - begin)));
    begin = end;
  }
  answer.add(parser.finish("", was_cut));
  std::string all = answer.thoughts + '\0' + answer.content;
  for (const auto& call : answer.calls) {
    all += '\0' + call.name + '\0' + call.id + '\0' + call.arguments;
    if (!call.is_complete) continue;
    try {
      const Json arguments = Json::parse(call.arguments, "arguments");
      if (!arguments.is_object()) std::abort();
    } catch (const Error&) {
      // Only unpaired surrogates and invalid UTF-8 may be wrong.
      bool is_plain = call.arguments.find("\\u") == std::string::npos;
      for (const char c : call.arguments)
        is_plain = is_plain && static_cast<unsigned char>(c) < 128;
      if (is_plain) std::abort();
    }
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view text(static_cast<const char*>(static_cast<const void*>(data)), size);
  if (text[0] == 't') {
    try {
      read_call_syntax(chat_template(text.substr(1)));
    } catch (const Error&) {  // not a valid template
    }
    return 0;
  }
  const auto syntax = syntax_for(text[0]);
  if (syntax == nullptr) std::abort();
  const bool was_cut = text[1] % 2 == 1;
  const std::string_view answer = text.substr(2);
  const std::string whole = told(syntax, answer, answer.size() + 1, was_cut);
  if (!is_valid_utf8(answer)) return 0;
  for (const size_t piece : {size_t{1}, size_t{3}}) {
    if (told(syntax, answer, piece, was_cut) != whole) std::abort();
  }
  return 0;
}
