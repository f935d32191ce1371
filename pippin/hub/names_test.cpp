// Names of repositories, patterns and URLs from users and servers.
#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/hub/choose.h"
#include "pippin/hub/gguf_files.h"
#include "pippin/hub/glob.h"
#include "pippin/hub/repo_spec.h"
#include "pippin/hub/url.h"

namespace pippin::hub {
namespace {

TEST(RepoSpec, Forms) {
  const auto plain = parse_repo_spec("org/name");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->id, "org/name");
  EXPECT_EQ(plain->revision, "main");
  EXPECT_EQ(plain->path, "");
  const auto all = parse_repo_spec("meta-llama/Llama-3.2_1B/sub/X.mlpackage/@refs/pr/1");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->id, "meta-llama/Llama-3.2_1B");
  EXPECT_EQ(all->path, "sub/X.mlpackage");
  EXPECT_EQ(all->revision, "refs/pr/1");
  EXPECT_FALSE(parse_repo_spec("gpt2"));
  EXPECT_EQ(parse_repo_spec("gpt2@v1", true)->id, "gpt2");
}

TEST(RepoSpec, GgufTags) {
  const auto spec = parse_repo_spec("org/name-GGUF:Q4_K_M@v1");
  EXPECT_EQ(spec->id, "org/name-GGUF");
  EXPECT_EQ(spec->gguf, "Q4_K_M");
  EXPECT_EQ(spec->revision, "v1");
  for (const char* text :
       {"org/name:", "org/name:a/b", "org/name/path:Q8_0", "org/name:..", "a:b"}) {
    EXPECT_FALSE(parse_repo_spec(text)) << text;
  }
}

TEST(GgufFiles, TheOneThatTheTagEnds) {
  const std::vector<std::string> paths = {"README.md",
                                          "m-Q4_K_M.gguf",
                                          "m-q8_0.gguf",
                                          "m.IQ4_NL.gguf",
                                          "big/m-F16-00002-of-00002.gguf",
                                          "big/m-F16-00001-of-00002.gguf",
                                          "mmproj-m-f16.gguf"};
  using Paths = std::vector<std::string>;
  EXPECT_EQ(choose_gguf(paths, "q4_k_m", "o/n"), Paths{"m-Q4_K_M.gguf"});
  EXPECT_EQ(choose_gguf(paths, "Q8_0", "o/n"), Paths{"m-q8_0.gguf"});
  EXPECT_EQ(choose_gguf(paths, "", "o/n"), Paths{"m-Q4_K_M.gguf"});
  EXPECT_EQ(choose_gguf(paths, "F16", "o/n"),
            (Paths{"big/m-F16-00001-of-00002.gguf", "big/m-F16-00002-of-00002.gguf"}));
  EXPECT_EQ(choose_gguf({"a.gguf"}, "", "o/n"), Paths{"a.gguf"});
  const Paths whisper = {
      "ggml-base-encoder.mlmodelc.zip", "ggml-base-q5_1.bin", "ggml-base.bin", "ggml-base.en.bin",
      "ggml-large-v3-turbo.bin",        "other.bin"};
  EXPECT_EQ(choose_gguf(whisper, "base", "o/n"), Paths{"ggml-base.bin"});
  EXPECT_EQ(choose_gguf(whisper, "base-q5_1", "o/n"), Paths{"ggml-base-q5_1.bin"});
  EXPECT_EQ(choose_gguf(whisper, "base.en", "o/n"), Paths{"ggml-base.en.bin"});
  EXPECT_ERROR(choose_gguf(whisper, "small", "o/n"), ErrorCode::NotFound, "ends with small");
  EXPECT_ERROR(choose_gguf(whisper, "", "o/n"), ErrorCode::InvalidArgument, "several");
  EXPECT_TRUE(choose_gguf({"config.json"}, "", "o/n").empty());
  EXPECT_ERROR(choose_gguf(paths, "4_K_M", "o/n"), ErrorCode::NotFound, "ends with 4_K_M");
  EXPECT_ERROR(choose_gguf({"a.gguf", "b.gguf"}, "", "o/n"), ErrorCode::InvalidArgument,
               "o/n:TAG, of a, b");
}

TEST(GgufFiles, TheVisionTowerForAModel) {
  const std::vector<std::string> paths = {"m-Q4_K_M.gguf",     "mmproj-BF16.gguf",
                                          "m.mmproj-f16.gguf", "mmproj-F32.gguf",
                                          "big/m-F16.gguf",    "other/mmproj.gguf"};
  EXPECT_EQ(choose_projector(paths, "m-Q4_K_M.gguf"), "m.mmproj-f16.gguf");
  EXPECT_EQ(choose_projector(paths, "big/m-F16.gguf"), "m.mmproj-f16.gguf");
  EXPECT_EQ(choose_projector(paths, "other/m.gguf"), "other/mmproj.gguf");
  EXPECT_EQ(choose_projector({"m.gguf", "mmproj-Q8_0.gguf", "mmproj-bf16.gguf"}, "m.gguf"),
            "mmproj-bf16.gguf");
  EXPECT_FALSE(choose_projector({"m.gguf", "other/mmproj.gguf"}, "m.gguf"));
  const std::vector<RepoFile> files = {{.path = "m-Q8_0.gguf"}, {.path = "mmproj-m-f16.gguf"}};
  EXPECT_EQ(choose_files(files, {.gguf = "Q8_0"}, "o/n").files.size(), 2U);
  EXPECT_EQ(choose_files(files, {.gguf = "Q8_0", .projector = false}, "o/n").files.size(), 1U);
}

TEST(RepoSpec, WhatIsNone) {
  for (const char* text :
       {"",     "/",        "a/",      "/a",       "a//b",  "../a",   "a/..",     "./a",
        "a/b@", "a/b@../x", "a/b@x y", "a/b@x~1",  "a b/c", "a/b--c", "a/b..c",   "-a/b",
        "a/b.", "a/b.git",  "a/b\\c",  "a/b/../c", "a/b/.", "~/a",    "a/b/c\nd", "\xff/a"}) {
    EXPECT_FALSE(parse_repo_spec(text, true)) << text;
  }
  EXPECT_TRUE(is_repo_id(std::string(96, 'a')));
  EXPECT_FALSE(is_repo_id(std::string(97, 'a')));
}

TEST(RepoSpec, PathsStayInside) {
  for (const char* path : {"a", "a/b.c", ".gitattributes", "..a/b..", "ä/ö", "a b"}) {
    EXPECT_TRUE(is_safe_path(path)) << path;
  }
  for (const std::string& path :
       {std::string(""), std::string("/a"), std::string("a/"), std::string("a//b"),
        std::string("."), std::string("a/./b"), std::string("a/.."), std::string("a\\b"),
        std::string("a\0b", 3), std::string("\x80"), std::string(256, 'x')}) {
    EXPECT_FALSE(is_safe_path(path)) << path;
  }
}

TEST(RepoSpec, FoldersOfTheCache) {
  EXPECT_EQ(repo_folder_name("org/name"), "models--org--name");
  EXPECT_EQ(repo_folder_name("gpt2"), "models--gpt2");
  for (const char* id : {"org/name", "gpt2", "a-b/c-d.e_f"}) {
    EXPECT_EQ(repo_of_folder(repo_folder_name(id)), id);
  }
  for (const char* folder :
       {"datasets--a--b", "models--", "models--a--b--c", "models--..--x", "x"}) {
    EXPECT_FALSE(repo_of_folder(folder)) << folder;
  }
}

TEST(RepoSpec, Hashes) {
  EXPECT_TRUE(is_commit_hash("0123456789abcdef0123456789abcdef01234567"));
  EXPECT_FALSE(is_commit_hash("0123456789ABCDEF0123456789abcdef01234567"));
  EXPECT_FALSE(is_commit_hash("0123456789abcdef"));
  EXPECT_TRUE(is_sha256(std::string(64, 'a')));
  EXPECT_FALSE(is_sha256(std::string(63, 'a') + "/"));
}

// Python: fnmatch.fnmatchcase(text, pattern)
TEST(Glob, AsPythonsFnmatch) {
  const auto expect = [](bool expected, const char* pattern, const char* text) {
    EXPECT_EQ(glob_matches(pattern, text), expected) << pattern << " and " << text;
  };
  expect(true, "*.json", "a/b/config.json");
  expect(true, "*", "");
  expect(false, "?", "");
  expect(true,
         "model-????"
         "?-of-*.safetensors",
         "model-00001-of-00002.safetensors");
  expect(true, "a[bc]d", "abd");
  expect(false, "a[!bc]d", "abd");
  expect(true, "a[!bc]d", "axd");
  expect(true, "[a-c]*", "bed");
  expect(true, "[]]", "]");
  expect(true, "[!]]", "x");
  expect(false, "[!]]", "]");
  expect(true, "[a-]", "-");
  expect(true, "[ab", "[ab");
  expect(false, "abc", "abcd");
  expect(true, "a*b*c", "aXbXbXc");
  expect(false, "a*b*c", "aXbXbX");
  expect(true, "?", "ä");
  expect(true, "[ä-ü]x", "öx");
  expect(false, "*.JSON", "a.json");
  expect(true, "onnx/", "onnx/model.onnx");  // huggingface_hub adds it
}

TEST(Glob, TakesNoExponentialTime) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  EXPECT_FALSE(glob_matches(pattern + "b", std::string(2000, 'a')));
}

TEST(Url, Origins) {
  EXPECT_EQ(parse_url("https://Hub.co/a?b#part")->origin(), "https://hub.co:443");
  EXPECT_EQ(parse_url("https://Hub.co/a?b#part")->rest, "/a?b");
  EXPECT_EQ(parse_url("http://h:81")->origin(), "http://h:81");
  EXPECT_EQ(parse_url("http://h:81")->text(), "http://h:81/");
  EXPECT_EQ(parse_url("http://[::1]:8/x")->host(), "[::1]");
  EXPECT_NE(parse_url("http://h")->origin(), parse_url("https://h")->origin());
  for (const char* text :
       {"", "ftp://h/", "file:///etc", "http://", "http:///x", "//h", "http://u@h/", "http://h/a b",
        "http://h/\n", "http://good.co\\@evil.co/"}) {
    EXPECT_FALSE(parse_url(text)) << text;
  }
}

TEST(Url, WhereRedirectsLead) {
  const Url base = *parse_url("https://h:1/a/b?c=d");
  const auto to = [&](const char* location) {
    const auto url = resolve_url(base, location);
    return url ? url->text() : "none";
  };
  EXPECT_EQ(to("/x"), "https://h:1/x");
  EXPECT_EQ(to("x?y"), "https://h:1/a/x?y");
  EXPECT_EQ(to("?y"), "https://h:1/a/b?y");
  EXPECT_EQ(to("//other/x"), "https://other/x");
  EXPECT_EQ(to("http://other/x"), "http://other/x");
  EXPECT_EQ(to("file:///etc/passwd"), "none");
  EXPECT_EQ(to("javascript:1"), "none");
  EXPECT_EQ(to(""), "none");
}

TEST(Url, Quotes) {
  EXPECT_EQ(quote_url("a/b c+ä%#?.txt"), "a/b%20c%2B%C3%A4%25%23%3F.txt");
  EXPECT_EQ(quote_url("refs/pr/1", ""), "refs%2Fpr%2F1");
}

}  // namespace
}  // namespace pippin::hub
