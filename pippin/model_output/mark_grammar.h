// Marks in grammars: text that may contain special tokens.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/constrain/grammar.h"
#include "pippin/tokenizers/tokenizer.h"

namespace pippin::model_output {

class MarkGrammar {
 public:
  // `tokenizer` null: marks are plain text.
  MarkGrammar(constrain::Grammar& grammar, const Tokenizer* tokenizer)
      : grammar_(grammar), tokenizer_(tokenizer) {}

  constrain::Grammar& grammar() { return grammar_; }
  constrain::RegexPool& regexes() { return grammar_.regexes(); }
  void add(constrain::Sequence& sequence, std::string_view mark);
  void add(constrain::Sequence& sequence, constrain::Symbol symbol) { sequence.push_back(symbol); }
  // Returns whether the mark begins with a special token, which text cannot match.
  bool begins_special(std::string_view mark) const;
  // Any text that does not contain this mark.
  constrain::RegexId text_without(std::string_view mark);
  // A rule with these alternatives.
  constrain::Symbol rule(std::string name, std::vector<constrain::Sequence> alternatives);

 private:
  // The first special token in the text: its position, size, and id (-1: none).
  struct Special {
    size_t begin, size;
    int32_t id;
  };
  Special first_special(std::string_view text) const;

  constrain::Grammar& grammar_;
  const Tokenizer* tokenizer_;
};

}  // namespace pippin::model_output
