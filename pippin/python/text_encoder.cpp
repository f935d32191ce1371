// Embedding models and cross-encoders.
#include "pippin/api/text_encoder.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "pippin/app/open/hub_model.h"
#include "pippin/base/error.h"
#include "pippin/python/arrays.h"
#include "pippin/python/background_work.h"
#include "pippin/python/bindings.h"
#include "pippin/python/docstrings.h"

namespace pippin::python {
namespace {

namespace py = pybind11;
using Texts = std::vector<std::string>;

std::unique_ptr<TextEncoder> open(const std::filesystem::path& path, const std::string& tokenizer,
                                  int threads) {
  std::optional<TextEncoder> made;
  run_work([&](BackgroundWork& /*background*/) {
    TextEncoderOptions options;
    options.tokenizer = tokenizer;
    options.threads = threads;
    made = TextEncoder::load(path.string(), options);
  });
  return std::make_unique<TextEncoder>(*std::move(made));
}

py::object embed(const TextEncoder& own, const Texts& texts,
                 const std::optional<std::string>& prompt_name,
                 const std::optional<std::string>& prompt, int64_t dimensions, bool refuse_long) {
  Embeddings made;
  run_work([&](BackgroundWork& /*background*/) {
    made = own.embed(texts, {prompt_name, prompt, refuse_long, dimensions, 0, false});
  });
  const size_t width = made.vectors.front().size();
  std::vector<float> values;
  values.reserve(width * made.vectors.size());
  for (const auto& vector : made.vectors) values.insert(values.end(), vector.begin(), vector.end());
  return to_array(Tensor::from(
      values, {static_cast<int64_t>(made.vectors.size()), static_cast<int64_t>(width)}));
}

py::list embed_sparse(const TextEncoder& own, const Texts& texts,
                      const std::optional<std::string>& prompt_name,
                      const std::optional<std::string>& prompt, int64_t active, bool refuse_long) {
  SparseEmbeddings made;
  run_work([&](BackgroundWork& /*background*/) {
    made = own.embed_sparse(texts, {prompt_name, prompt, refuse_long, 0, active, false});
  });
  py::list result;
  for (const SparseEmbedding& vector : made.vectors) {
    const std::vector<int64_t> shape = {static_cast<int64_t>(vector.indices.size())};
    result.append(py::make_tuple(to_array(Tensor::from(vector.indices, shape)),
                                 to_array(Tensor::from(vector.values, shape))));
  }
  return result;
}

py::list embed_tokens(const TextEncoder& own, const Texts& texts, bool query,
                      const std::optional<std::string>& prompt_name,
                      const std::optional<std::string>& prompt, bool refuse_long) {
  TokenEmbeddings made;
  run_work([&](BackgroundWork& /*background*/) {
    made = own.embed_tokens(texts, {prompt_name, prompt, refuse_long, 0, 0, query});
  });
  py::list result;
  for (const TokenEmbedding& vectors : made.vectors) {
    const auto width = static_cast<int64_t>(vectors.width);
    const auto count = static_cast<int64_t>(vectors.values.size());
    result.append(to_array(Tensor::from(vectors.values, {width > 0 ? count / width : 0, width})));
  }
  return result;
}

std::string kind_of(const TextEncoder& own) {
  if (own.kind() == EmbeddingKind::Sparse) return "sparse";
  return own.kind() == EmbeddingKind::Tokens ? "tokens" : "dense";
}

std::vector<double> score(const TextEncoder& own, const std::string& query, const Texts& documents,
                          bool refuse_long) {
  Scores made;
  run_work(
      [&](BackgroundWork& /*background*/) { made = own.score(query, documents, refuse_long); });
  return made.scores;
}

}  // namespace

void bind_encoders(py::module_& module) {
  py::class_<TextEncoder>(module, "TextEncoder", docs::kTextEncoder)
      .def(py::init(&open), py::arg("path"), py::kw_only(), py::arg("tokenizer") = "",
           py::arg("threads") = 0,
           "path: a folder as it is on the Hub, a package, or org/name. threads: 0 is one per "
           "core.")
      .def("embed", &embed, py::arg("texts"), py::kw_only(), py::arg("prompt_name") = py::none(),
           py::arg("prompt") = py::none(), py::arg("dimensions") = 0,
           py::arg("refuse_long") = false,
           "Returns a float32 array (texts, n). prompt_name: the model's prompt of that name goes "
           "before each text, by default the model's default one, none for \"\". prompt: its text. "
           "dimensions: keeps that many numbers, normalized again. refuse_long: rejects texts of "
           "more than max_tokens; otherwise they are truncated. Raises UnsupportedError for a "
           "cross-encoder, and InvalidArgumentError for no texts, a text without tokens, an "
           "unknown prompt, too many dimensions and a text that is too long.")
      .def("embed_sparse", &embed_sparse, py::arg("texts"), py::kw_only(),
           py::arg("prompt_name") = py::none(), py::arg("prompt") = py::none(),
           py::arg("active") = 0, py::arg("refuse_long") = false,
           "Returns a pair of arrays for each text, int32 indices and float32 values, from a model "
           "of the kind \"sparse\" (SPLADE). active: keeps this many largest numbers; 0 is the "
           "model's limit. Other arguments as for embed(). Raises as embed().")
      .def(
          "embed_tokens", &embed_tokens, py::arg("texts"), py::kw_only(), py::arg("query") = false,
          py::arg("prompt_name") = py::none(), py::arg("prompt") = py::none(),
          py::arg("refuse_long") = false,
          "Returns a float32 array (tokens, n) for each text, from a model of the kind \"tokens\" "
          "(ColBERT). query: the texts are queries, not documents. Other arguments as for embed(). "
          "Raises as embed().")
      .def("score", &score, py::arg("query"), py::arg("documents"), py::kw_only(),
           py::arg("refuse_long") = false,
           "Returns how well each document answers the query, a list of numbers: a cross-encoder's "
           "scores, the cosines of dense vectors, the dot products of sparse vectors, or the "
           "MaxSim of token vectors. Raises InvalidArgumentError as embed().")
      .def_property_readonly("is_cross_encoder", &TextEncoder::is_cross_encoder,
                             "Whether it scores pairs of texts, not single ones.")
      .def_property_readonly("kind", &kind_of,
                             "The form of its embeddings: \"dense\", \"sparse\" or \"tokens\".")
      .def_property_readonly("max_tokens", &TextEncoder::max_tokens,
                             "The most tokens of a text, including special ones.")
      .def_property_readonly("name", &TextEncoder::name,
                             "The name of the model that it was made from.")
      .def_property_readonly("prompt_names", &TextEncoder::prompt_names,
                             "The names of the model's prompts.");
}

}  // namespace pippin::python
