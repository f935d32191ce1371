#include "pippin/app/open/corpus_text.h"

#include "pippin/io/json.h"

namespace pippin::app {

std::string CorpusTexts::of(const batch::Request& request, const std::string& where) const {
  std::string line = std::string(Json::parse(request.body, where).get_string("input"));
  if (!is_json_ || line.find_first_not_of(" \t\r") == std::string::npos) return line;
  const Json json = Json::parse(line, where);
  if (!json.is_object()) json.invalid("expected an object with \"text\"");
  return std::string(json.get_string("text"));
}

}  // namespace pippin::app
