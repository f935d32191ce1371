#include "pippin/app/open/open_text.h"

#include "pippin/app/open/text_input.h"
#include "pippin/base/error.h"
#include "pippin/runtime/open/package_family.h"

namespace pippin::app {

namespace fs = std::filesystem;

Tokenizer open_tokenizer(const fs::path& path) {
  if (!Tokenizer::is_tokenizer_folder(path) && runtime::names_packages(path)) {
    return Tokenizer::open(runtime::find_packages(path).tokenizer_folder());
  }
  return Tokenizer::open(path);
}

chat::TemplateSources read_template_sources(const fs::path& path) {
  if (!fs::exists(path)) fail(ErrorCode::NotFound, "{}: there is no such file", path.string());
  if (fs::is_directory(path) && Tokenizer::is_tokenizer_folder(path)) {
    return chat::read_template_folder(path);
  }
  if (runtime::names_packages(path)) {
    return chat::read_template_folder(runtime::find_packages(path).tokenizer_folder());
  }
  if (fs::is_directory(path)) return chat::read_template_folder(path);
  if (fs::is_regular_file(path)) return chat::read_template_file(path);
  // A pipe's name does not tell its kind.
  return {{{"default", read_text(path.string(), chat::kMaxTemplateBytes), path.string()}}, {}};
}

}  // namespace pippin::app
