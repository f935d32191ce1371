// The `anemll` family: embeddings, chunks of layers with functions for one token and for a batch,
// and a head, or all of these in one package. The cache is a state that all chunks and functions
// share. The family also covers any single package with a mask of fixed length and inputs that give
// the position.
//
// A single token runs `infer` of every chunk. For a prompt, full batches run `prefill`; the rest,
// and always the last token, run `infer`, because the last chunk's `prefill` has no output that
// logits could be computed from. If there are functions with `rotate` in their names, tokens at and
// after the sliding window run these. The cache is never written at or after the context.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/runtime/anemll/files.h"
#include "pippin/runtime/load_options.h"
#include "pippin/runtime/model.h"
#include "pippin/runtime/package/folder.h"

namespace pippin::runtime {

// `meta` may be empty. The model keeps `folder`. `pool` must outlive the result. Throws NotFound
// for missing parts, InvalidFile for parts that do not fit together, and Unsupported.
std::shared_ptr<Model> make_anemll_model(PackageFolder folder, const AnemllFiles& files,
                                         const std::optional<AnemllMeta>& meta, ThreadPool& pool,
                                         const LoadOptions& options = {});

// A single package that takes token ids and returns logits or the most likely token.
std::shared_ptr<Model> make_single_anemll_model(const std::filesystem::path& package,
                                                ThreadPool& pool, const LoadOptions& options = {});

}  // namespace pippin::runtime
