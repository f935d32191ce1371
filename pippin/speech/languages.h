// Languages of Whisper models: codes and English names.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pippin::speech {

struct Language {
  std::string_view code, name;  // "de", "german"
};

// All languages, in the order of the models' tokens.
std::span<const Language> all_languages();

// Returns the code of a language given by code or English name ("de", "German", "Castilian"), in
// any case; nullopt for an unknown one.
std::optional<std::string> find_language(std::string_view text);

// Returns the English name of a code, or the code itself if it has none.
std::string_view language_name(std::string_view code);

// Whether words of the language are not separated by spaces.
bool has_no_spaces(std::string_view code);

}  // namespace pippin::speech
