#include "pippin/model_output/known_syntaxes.h"

#include <array>

namespace pippin::model_output {
namespace {

using Kind = CallPiece::Kind;

// A list of {"name": F, "arguments": {...}}.
CallSyntax object_list(std::string begin, std::string end) {
  CallSyntax syntax;
  syntax.section_begin = std::move(begin);
  syntax.pieces = {{Kind::Text, R"({"name": ")"},
                   {Kind::Name},
                   {Kind::Text, R"(", "arguments": )"},
                   {Kind::Arguments},
                   {Kind::Text, "}"}};
  syntax.separator = ", ";
  syntax.section_end = std::move(end);
  syntax.name_key = "name";
  syntax.arguments_key = "arguments";
  return syntax;
}

// [f(a=1), g()]
CallSyntax python_list(std::string begin, std::string end) {
  CallSyntax syntax;
  syntax.shape = CallSyntax::Shape::Function;
  syntax.arguments = CallSyntax::Arguments::Python;
  syntax.section_begin = std::move(begin);
  syntax.pieces = {{Kind::Name}, {Kind::Arguments}};
  syntax.separator = ", ";
  syntax.section_end = std::move(end);
  return syntax;
}

CallSyntax kimi() {
  CallSyntax syntax;
  syntax.shape = CallSyntax::Shape::Function;
  syntax.section_begin = "<|tool_calls_section_begin|>";
  syntax.call_begin = "<|tool_call_begin|>";
  syntax.pieces = {{Kind::Text, "functions."},
                   {Kind::Name},
                   {Kind::Text, ":"},
                   {Kind::Number},
                   {Kind::Text, "<|tool_call_argument_begin|>"},
                   {Kind::Arguments}};
  syntax.call_end = "<|tool_call_end|>";
  syntax.section_end = "<|tool_calls_section_end|>";
  return syntax;
}

CallSyntax gemma() {
  CallSyntax syntax;
  syntax.shape = CallSyntax::Shape::Function;
  syntax.arguments = CallSyntax::Arguments::Quoted;
  syntax.call_begin = "<|tool_call>";
  syntax.pieces = {{Kind::Text, "call:"}, {Kind::Name}, {Kind::Arguments}};
  syntax.call_end = "<tool_call|>";
  syntax.quote = "<|\"|>";
  return syntax;
}

// The prompt ends with ">>>", and the answer continues with a tool's name, or "all" for the user.
CallSyntax functionary() {
  CallSyntax syntax;
  syntax.shape = CallSyntax::Shape::Function;
  syntax.pieces = {{Kind::Name}, {Kind::Text, "\n"}, {Kind::Arguments}};
  syntax.separator = ">>>";
  syntax.content_begin = "all\n";
  syntax.arguments_are_text = true;
  return syntax;
}

CallSyntax channels() {
  CallSyntax syntax;
  syntax.shape = CallSyntax::Shape::Channels;
  return syntax;
}

struct Known {
  std::array<std::string_view, 2> words;  // all must occur; empty: unused
  CallSyntax (*make)();
};

constexpr std::array<Known, 4> kKnown = {{
    {{"<|channel|>", "<|message|>"}, channels},                     // gpt-oss
    {{"<|tool_call_argument_begin|>", "<|tool_call_end|>"}, kimi},  // Kimi K2
    {{"<|tool_call>call:", "<tool_call|>"}, gemma},                 // Gemma 4
    {{">>>all", ""}, functionary},                                  // Functionary 3.2
}};

constexpr std::array<Known, 5> kDescribed = {{
    // LFM2, and newer versions without marks.
    {{"List of tools: ", "<|tool_list_start|>"},
     [] { return python_list("<|tool_call_start|>[", "]<|tool_call_end|>"); }},
    {{"List of tools: [", ""}, [] { return python_list("[", "]"); }},
    // Granite 3
    {{"<|tool_call|>", "available_tools"}, [] { return object_list("<|tool_call|>[", "]"); }},
    // Phi-4-mini
    {{"<|tool|>", "<|/tool|>"}, [] { return object_list("<|tool_call|>[", "]<|/tool_call|>"); }},
    // SmolLM3, and others that are instructed to write calls like Hermes.
    {{"<tool_call>", "</tool_call>"},
     [] {
       CallSyntax syntax = object_list("", "");
       syntax.call_begin = "<tool_call>\n";
       syntax.call_end = "\n</tool_call>";
       syntax.separator = "\n";
       return syntax;
     }},
}};

template <size_t N>
std::optional<CallSyntax> first_of(const std::array<Known, N>& table, std::string_view source) {
  for (const Known& known : table) {
    bool fits = true;
    for (const std::string_view word : known.words) {
      fits = fits && source.find(word) != std::string_view::npos;
    }
    if (fits) return known.make();
  }
  return std::nullopt;
}

}  // namespace

std::optional<CallSyntax> known_syntax(std::string_view source) {
  return first_of(kKnown, source);
}

std::optional<CallSyntax> described_syntax(std::string_view source) {
  return first_of(kDescribed, source);
}

}  // namespace pippin::model_output
