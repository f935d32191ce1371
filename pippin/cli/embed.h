// pippin embed and pippin rerank: embeds texts, and sorts documents by relevance to a query.
#pragma once

namespace CLI {
class App;
}  // namespace CLI

namespace pippin::cli {

CLI::App* add_embed_command(CLI::App& app);
CLI::App* add_rerank_command(CLI::App& app);

}  // namespace pippin::cli
