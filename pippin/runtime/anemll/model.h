// The `anemll` family: embeddings, chunks of layers with functions for one token and for a batch,
// and a head, or all of it in one package; the cache is a state that all chunks and functions
// share. Also any single package whose mask has a fixed length and whose inputs say the position.
//
// One token goes through `infer` of every chunk. Of a prompt, full batches go through `prefill`,
// the rest and always the last token through `infer`: the last chunk's prefill gives nothing that
// logits could come from. Where functions with `rotate` in their names are there, tokens at and
// after the sliding window go through these. Nothing is ever written at or after the context.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "pippin/base/thread_pool.h"
#include "pippin/runtime/anemll/files.h"
#include "pippin/runtime/load_options.h"
#include "pippin/runtime/model.h"
#include "pippin/runtime/package/folder.h"

namespace pippin::runtime {

// `meta` may be absent. Keeps `folder`. `pool` must outlive the result. Throws NotFound and
// InvalidFile for parts that are missing or do not fit together, Unsupported.
std::shared_ptr<Model> make_anemll_model(PackageFolder folder, const AnemllFiles& files,
                                         const std::optional<AnemllMeta>& meta, ThreadPool& pool,
                                         const LoadOptions& options = {});

// A single package that takes token ids and gives logits or the most likely token.
std::shared_ptr<Model> make_single_anemll_model(const std::filesystem::path& package,
                                                ThreadPool& pool, const LoadOptions& options = {});

}  // namespace pippin::runtime
