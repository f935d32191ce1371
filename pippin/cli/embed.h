// pippin embed, pippin rerank: embeddings of texts, and documents in the order of a query.
#pragma once

namespace CLI {
class App;
}  // namespace CLI

namespace pippin::cli {

CLI::App* add_embed_command(CLI::App& app);
CLI::App* add_rerank_command(CLI::App& app);

}  // namespace pippin::cli
