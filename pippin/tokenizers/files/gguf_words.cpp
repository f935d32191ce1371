#include "pippin/tokenizers/files/gguf_words.h"

#include <algorithm>
#include <string>
#include <utility>

#include "pippin/tokenizers/word_patterns.h"

namespace pippin::tokenizers {
namespace {

// Capitals, then small letters; up to three digits (gpt-4o) or one (tekken).
constexpr std::string_view kTekkenWords =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// Han is separate from other letters.
constexpr std::string_view kKimiWords =
    R"([\p{Han}]+|)"
    R"([^\r\n\p{L}\p{N}]?(?:(?!\p{Han})[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])*)"
    R"((?:(?!\p{Han})[\p{Ll}\p{Lm}\p{Lo}\p{M}])+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?(?:(?!\p{Han})[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])+)"
    R"((?:(?!\p{Han})[\p{Ll}\p{Lm}\p{Lo}\p{M}])*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// Marks are part of words.
constexpr std::string_view kQwen35Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
    R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kSeedWords =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}|)"
    R"( ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kBailingWords =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view kDeepSeek3Words =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
    R"( ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kBloomWords =
    R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{0964}\x{06D4}\x{060C})]+)";
// Letters that have a case, from the scripts in DeepSeek's file.
constexpr std::string_view kCasedWords =
    R"(\s?[)"
    R"(A-Za-z\x{00B5}\x{00C0}-\x{00D6}\x{00D8}-\x{00F6}\x{00F8}-\x{01BA})"
    R"(\x{01BC}-\x{01BF}\x{01C4}-\x{0293}\x{0295}-\x{02AF}\x{0370}-\x{0373}\x{0376})"
    R"(\x{0377}\x{037B}-\x{037D}\x{037F}\x{0386}\x{0388}-\x{038A}\x{038C})"
    R"(\x{038E}-\x{03A1}\x{03A3}-\x{03F5}\x{03F7}-\x{0481}\x{048A}-\x{052F})"
    R"(\x{0531}-\x{0556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD})"
    R"(\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77})"
    R"(\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45})"
    R"(\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D})"
    R"(\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC})"
    R"(\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4})"
    R"(\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D})"
    R"(\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F})"
    R"(\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4})"
    R"(\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B})"
    R"(\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF})"
    R"(\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A})"
    R"(\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2})"
    R"(\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943})"
    R"(]+)";
constexpr std::string_view kWideSigns =
    R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)";
constexpr std::string_view kCjk = R"([\x{4E00}-\x{9FA5}\x{0800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
constexpr std::string_view kKana = R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
constexpr std::string_view kLines = R"([\r\n])";
// Groups of three digits, counted from the last one.
constexpr std::string_view kThousands = R"(\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N})))";
constexpr std::string_view kAsia =
    R"([\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{F900}-\x{FAFF}\x{3040}-\x{309F}\x{30A0}-\x{30FF})"
    R"(\x{FF65}-\x{FF9F}\x{2F00}-\x{2FDF}\x{0E40}-\x{0E7F}\x{0E80}-\x{0EFF}\x{1780}-\x{17FF})"
    R"(\x{1000}-\x{109F}\x{AA60}-\x{AA7F}\x{A9E0}-\x{A9FF}\x{AC00}-\x{D7AF}\x{1100}-\x{11FF}]+)";
// Runs of spaces in powers of two.
constexpr std::string_view kJais2Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|)"
    R"(\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})";
constexpr std::string_view kSparkWords =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
    R"( ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view kYoutuScripts =
    R"([\x{AC00}-\x{D7A3}\x{3131}-\x{318E}]+|)"
    R"([\x{FF01}\x{2026}\x{201C}\x{201D}\x{2018}\x{2019}\x{2014}\x{FF1A}\x{FF1B}\x{FF0C})"
    R"(\x{3001}-\x{303F}\x{FE30}-\x{FE4F}]+|[\x{3105}-\x{312F}]+|)"
    R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
constexpr std::string_view kYoutuWords =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// Words of several syllables with spaces between them.
constexpr std::string_view kExaoneMoeWords =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view kMiniCpm5Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
// Qwen 2's without the contractions of English.
constexpr std::string_view kUfakzekaWords =
    R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

GgufWords words(std::vector<std::string_view> patterns) {
  return {.patterns = std::move(patterns)};
}
GgufWords with_digits() {
  return {.patterns = {kGpt2Words}, .digits = true};
}
GgufWords whole(std::string_view pattern) {
  return {.patterns = {pattern}, .whole_words = true, .begins = true};
}
GgufWords plain_text() {
  return {.patterns = {R"([^\n]+|\n+)"}, .plain_text = true};
}
GgufWords qwen() {
  return {.patterns = {kQwenWords}, .composed = true};
}

struct Row {
  std::vector<std::string_view> names;
  GgufWords words;
};

std::vector<Row> make_rows() {
  return {
      {{"default",      "gpt-2",    "gpt2",           "roberta-bpe", "phi-2",       "mpt",
        "olmo",         "jina-es",  "jina-de",        "jina-v1-en",  "jina-v2-es",  "jina-v2-de",
        "jina-v2-code", "gigachat", "a.x-4.0",        "mellum",      "modern-bert", "exaone4",
        "jais",         "trillion", "granite-docling"},
       words({kGpt2Words})},
      {{"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b",
        "mellum2"},
       with_digits()},
      {{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2",
        "jina-v5-nano"},
       whole(kCl100kWords)},
      {{"dbrx", "smaug-bpe", "glm4", "glm5", "chatglm-bpe"}, words({kCl100kWords})},
      {{"qwen2", "deepseek-r1-qwen", "megrez", "kormo", "f2llmv2"}, qwen()},
      {{"stablelm2", "hunyuan", "grok-2", "solar-open"}, words({kQwenWords})},
      {{"qwen35"}, {.patterns = {kQwen35Words}, .composed = true}},
      {{"gpt-4o", "gpt-oss", "llama4", "kanana2", "talkie", "minimax-m2"}, words({kO200kWords})},
      {{"tekken"}, whole(kTekkenWords)},
      {{"kimi-k2"}, words({kKimiWords})},
      {{"seed-coder"}, words({kSeedWords})},
      {{"bailingmoe", "bailingmoe2", "llada-moe"}, words({kBailingWords})},
      {{"granite-embed-multi-97m"}, {.patterns = {kO200kWords}, .whole_words = true}},
      {{"tiny_aya", "cohere2moe"}, words({kThousands, kO200kWords})},
      {{"superbpe"}, words({kThousands, R"(\p{N}+)"})},
      {{"afmoe"}, words({kThousands, kAsia, kDeepSeek3Words})},
      {{"jais-2"}, words({kJais2Words})},
      {{"youtu"}, {.patterns = {kYoutuScripts, kYoutuWords}, .whole_words = true}},
      {{"spark2_5"}, words({R"(\p{N}{1,3})", kKana, kSparkWords, R"(\p{N})"})},
      {{"exaone-moe"}, words({kExaoneMoeWords})},
      {{"minicpm5"}, words({R"(\p{N}{1,3})", kMiniCpm5Words})},
      {{"laguna"}, words({R"([^\n]+|\n+)", kQwenWords})},
      {{"ufakzeka"}, words({kUfakzekaWords})},
      {{"chameleon"},
       {.patterns = {R"(<sentinel:[0-9]+>)", R"((IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z)",
                     R"([\t\n]|    |  )", R"(\p{N})", R"([\p{P}!-/:-@\[-`{-~])", kGpt2Words},
        .begins = true}},
      {{"gemma4", "granite-embed-multi-311m", "mmbert", "sarvam-moe"}, plain_text()},
      {{"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"},
       words({R"(\p{N}{1,3})", kKana, kDeepSeek3Words})},
      {{"deepseek-llm"}, words({kLines, kCasedWords, kWideSigns, R"(\s+$)", kCjk, R"(\p{N}+)"})},
      {{"deepseek-coder"}, words({kLines, R"(\s?\p{L}+)", R"(\s?\p{P}+)", kCjk, R"(\p{N})"})},
      {{"falcon"}, words({R"([\p{P}\$\+<=>\^~\|`]+)", kGpt2Words, R"([0-9][0-9][0-9])"})},
      {{"bloom", "poro-chat", "gpt3-finnish"}, words({kBloomWords})},
      {{"whitespace"}, {.patterns = {R"(\S+)"}, .plain_text = true, .spaces = true}},
      {{"viking"}, words({kBloomWords, R"(\p{N})"})},
  };
}

}  // namespace

std::optional<GgufWords> gguf_words(std::string_view pre) {
  static const std::vector<Row> rows = make_rows();
  for (const Row& row : rows) {
    if (std::find(row.names.begin(), row.names.end(), pre) != row.names.end()) return row.words;
  }
  return std::nullopt;
}

}  // namespace pippin::tokenizers
