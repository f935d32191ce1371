#include "pippin/speech/languages.h"

#include <algorithm>
#include <array>
#include <string>

namespace pippin::speech {
namespace {

constexpr std::array kLanguages = {
    Language{"en", "english"},     Language{"zh", "chinese"},    Language{"de", "german"},
    Language{"es", "spanish"},     Language{"ru", "russian"},    Language{"ko", "korean"},
    Language{"fr", "french"},      Language{"ja", "japanese"},   Language{"pt", "portuguese"},
    Language{"tr", "turkish"},     Language{"pl", "polish"},     Language{"ca", "catalan"},
    Language{"nl", "dutch"},       Language{"ar", "arabic"},     Language{"sv", "swedish"},
    Language{"it", "italian"},     Language{"id", "indonesian"}, Language{"hi", "hindi"},
    Language{"fi", "finnish"},     Language{"vi", "vietnamese"}, Language{"he", "hebrew"},
    Language{"uk", "ukrainian"},   Language{"el", "greek"},      Language{"ms", "malay"},
    Language{"cs", "czech"},       Language{"ro", "romanian"},   Language{"da", "danish"},
    Language{"hu", "hungarian"},   Language{"ta", "tamil"},      Language{"no", "norwegian"},
    Language{"th", "thai"},        Language{"ur", "urdu"},       Language{"hr", "croatian"},
    Language{"bg", "bulgarian"},   Language{"lt", "lithuanian"}, Language{"la", "latin"},
    Language{"mi", "maori"},       Language{"ml", "malayalam"},  Language{"cy", "welsh"},
    Language{"sk", "slovak"},      Language{"te", "telugu"},     Language{"fa", "persian"},
    Language{"lv", "latvian"},     Language{"bn", "bengali"},    Language{"sr", "serbian"},
    Language{"az", "azerbaijani"}, Language{"sl", "slovenian"},  Language{"kn", "kannada"},
    Language{"et", "estonian"},    Language{"mk", "macedonian"}, Language{"br", "breton"},
    Language{"eu", "basque"},      Language{"is", "icelandic"},  Language{"hy", "armenian"},
    Language{"ne", "nepali"},      Language{"mn", "mongolian"},  Language{"bs", "bosnian"},
    Language{"kk", "kazakh"},      Language{"sq", "albanian"},   Language{"sw", "swahili"},
    Language{"gl", "galician"},    Language{"mr", "marathi"},    Language{"pa", "punjabi"},
    Language{"si", "sinhala"},     Language{"km", "khmer"},      Language{"sn", "shona"},
    Language{"yo", "yoruba"},      Language{"so", "somali"},     Language{"af", "afrikaans"},
    Language{"oc", "occitan"},     Language{"ka", "georgian"},   Language{"be", "belarusian"},
    Language{"tg", "tajik"},       Language{"sd", "sindhi"},     Language{"gu", "gujarati"},
    Language{"am", "amharic"},     Language{"yi", "yiddish"},    Language{"lo", "lao"},
    Language{"uz", "uzbek"},       Language{"fo", "faroese"},    Language{"ht", "haitian creole"},
    Language{"ps", "pashto"},      Language{"tk", "turkmen"},    Language{"nn", "nynorsk"},
    Language{"mt", "maltese"},     Language{"sa", "sanskrit"},   Language{"lb", "luxembourgish"},
    Language{"my", "myanmar"},     Language{"bo", "tibetan"},    Language{"tl", "tagalog"},
    Language{"mg", "malagasy"},    Language{"as", "assamese"},   Language{"tt", "tatar"},
    Language{"haw", "hawaiian"},   Language{"ln", "lingala"},    Language{"ha", "hausa"},
    Language{"ba", "bashkir"},     Language{"jw", "javanese"},   Language{"su", "sundanese"},
    Language{"yue", "cantonese"},
};

// Other names that Whisper's users know.
constexpr std::array kOtherNames = {
    Language{"my", "burmese"},   Language{"ca", "valencian"},     Language{"nl", "flemish"},
    Language{"ht", "haitian"},   Language{"lb", "letzeburgesch"}, Language{"ps", "pushto"},
    Language{"pa", "panjabi"},   Language{"ro", "moldavian"},     Language{"ro", "moldovan"},
    Language{"si", "sinhalese"}, Language{"es", "castilian"},     Language{"zh", "mandarin"},
};

}  // namespace

std::span<const Language> all_languages() {
  return kLanguages;
}

std::optional<std::string> find_language(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  for (const Language& language : kLanguages) {
    if (lower == language.code || lower == language.name) return std::string(language.code);
  }
  for (const Language& language : kOtherNames) {
    if (lower == language.name) return std::string(language.code);
  }
  return std::nullopt;
}

std::string_view language_name(std::string_view code) {
  for (const Language& language : kLanguages) {
    if (code == language.code) return language.name;
  }
  return code;
}

bool has_no_spaces(std::string_view code) {
  constexpr std::array<std::string_view, 6> kCodes = {"zh", "ja", "th", "lo", "my", "yue"};
  return std::find(kCodes.begin(), kCodes.end(), code) != kCodes.end();
}

}  // namespace pippin::speech
