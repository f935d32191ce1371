#include "pippin/generate/loaded_model.h"

#include "pippin/base/error.h"
#include "pippin/generate/stateful_model.h"

namespace pippin::generate {

namespace fs = std::filesystem;

RunnableModel make_runnable(mil::Model model, const LoadOptions& options) {
  auto pool = std::make_unique<ThreadPool>(options.threads);
  auto program = std::make_unique<const mil::Model>(std::move(model));
  auto language_model =
      make_stateful_model(*program, *pool, StatefulOptions{.context = options.context});
  return {std::move(pool), std::move(program), std::move(language_model)};
}

LoadedModel load_model(mil::Model model, const fs::path& text, const LoadOptions& options) {
  const bool is_folder = fs::is_directory(text);
  const fs::path folder = is_folder ? text : text.parent_path();
  auto tokenizer = Tokenizer::open(text);
  auto config = read_generation_config(folder, tokenizer);
  auto chat_template = ChatTemplate::from_folder(folder);
  return {make_runnable(std::move(model), options), std::move(tokenizer), std::move(chat_template),
          std::move(config)};
}

fs::path tokenizer_folder(const mil::Model& package) {
  const fs::path folder = package.path / "Data" / mil::kTokenizerItem;
  if (Tokenizer::is_tokenizer_folder(folder)) return folder;
  const auto& metadata = package.metadata.user_defined;
  const auto source = metadata.find("co.huggingface.exporters.name");
  fail(ErrorCode::NotFound, "{} has no tokenizer inside{}; give its folder with --tokenizer",
       package.path.string(),
       source == metadata.end() ? "" : fmt::format(" (it was made from {})", source->second));
}

}  // namespace pippin::generate
