// llama.cpp's file of a vision tower, mmproj-*.gguf, next to the language model's, as the parts of
// a Hugging Face checkpoint of both: its configuration, the settings of its processor, and the
// names and layouts of the tower's tensors.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/checkpoint.h"
#include "pippin/io/gguf.h"
#include "pippin/io/json.h"
#include "pippin/models/gguf/gguf_config.h"

namespace pippin::models {

// In configurations made by gguf_vision_config(): the type of the projector, by llama.cpp's name.
inline constexpr std::string_view kGgufProjector = "gguf_projector";

// A file with its name, which starts error messages.
struct NamedGguf {
  const GgufContent& content;
  const std::string& name;
};

struct GgufVisionConfig {
  std::string config;     // config.json
  std::string processor;  // processor_config.json, with the image processor
};
// `text` is gguf_config() of the language model. Throws Unsupported for another type of projector,
// naming the supported ones; InvalidFile for metadata that is missing or is not a valid size, and
// for a language model of another architecture or width.
GgufVisionConfig gguf_vision_config(const NamedGguf& language, const std::string& text,
                                    const NamedGguf& projector);

// The checkpoint of both files, in which the tower's tensors have Hugging Face's names and layouts,
// for a configuration made by gguf_vision_config(). Other names stay as they are. Throws
// InvalidFile for tensors that cannot have such a layout.
Checkpoint with_projector_names(const Checkpoint& checkpoint, const Json& config);

// The members that a type of projector writes: of config.json, its vision_config and text_config,
// the latter in addition to the language model's, of processor_config.json and its image processor.
struct ProjectorFiles {
  const GgufKeys& keys;  // "clip.vision."
  std::string_view language;
  int64_t text_width = 0;
  JsonMembers config = {}, vision = {}, text = {}, processor = {}, image = {};

  // A number of pixels, patches or layers from 1 to 2^16. Throws InvalidFile for others.
  int64_t side(std::string_view key) const;
  int64_t side(std::string_view key, int64_t fallback) const;
  // Members of vision_config by Hugging Face's usual names. Returns the patches of an image's side.
  int64_t write_tower(std::string_view activation);
  // The image's side by the number of positions, in files whose image_size is another number.
  void write_side_of_positions();
  void write_square();  // `size` of the image processor
  // The activation of the tower: by its flags, or that one.
  std::string_view activation(std::string_view fallback) const;
  bool has(std::string_view tensor) const { return keys.has(tensor); }
  // Rows of a matrix or elements of a vector. Throws InvalidFile if it is absent.
  int64_t rows(std::string_view tensor) const;
  // The tensor's sizes, slowest first. Throws InvalidFile if it is absent or has another rank.
  const std::vector<int64_t>& sizes(std::string_view tensor, size_t rank) const;
};

// A module of the file and its name in the checkpoint, below the tower's path if it begins with a
// dot; '*' stands for an index.
struct ProjectorName {
  enum class Kind {
    Module,
    Whole,   // the name is a tensor's, without ".weight"
    Linear,  // the matrix is in the module's part of that name
  };
  std::string_view module, name;
  Kind kind = Kind::Module;
};

enum class PatchLayout { Convolution, TwoFrames, ChannelsLast };

struct GgufProjector {
  std::string_view name;  // llama.cpp's
  std::string_view model_type, class_name, processor, image_processor;
  std::string_view row_token;                    // that stands for rows of an image
  std::vector<std::string_view> languages = {};  // architectures; empty: any
  std::string_view last;  // the matrix whose outputs have the language model's width
  void (*write)(ProjectorFiles& files) = nullptr;
  std::string_view tower;  // the path of the tower in the checkpoint
  std::vector<std::span<const ProjectorName>> names = {};
  PatchLayout patches = PatchLayout::Convolution;
  bool has_pairs = false;       // rows of queries and keys are stored in neighbouring pairs
  bool may_be_swapped = false;  // older files call the matrices of feed-forwards the other way
};
// One function for each file.
std::vector<GgufProjector> gguf_tile_projectors();
std::vector<GgufProjector> gguf_patch_projectors();
std::vector<GgufProjector> gguf_other_projectors();

// All types.
const std::vector<GgufProjector>& gguf_projectors();
// Null for a type that is not supported.
const GgufProjector* find_projector(std::string_view name);

}  // namespace pippin::models
