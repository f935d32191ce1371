// Embeds a file's bytes as a symbol through the assembler, which avoids compiling a C++ literal of
// millions of bytes. PIPPIN_EMBED(symbol, "path") defines `symbol` and `symbol_end`.
#pragma once

#if defined(__APPLE__)
#define PIPPIN_EMBED_OPEN ".section __TEXT,__const\n"
#define PIPPIN_EMBED_CLOSE ".text\n"
#define PIPPIN_EMBED_NAME(symbol) "_" #symbol
#else
#define PIPPIN_EMBED_OPEN ".pushsection .rodata\n"
#define PIPPIN_EMBED_CLOSE ".popsection\n"
#define PIPPIN_EMBED_NAME(symbol) #symbol
#endif

// Page-aligned, like a mapped file.
// NOLINTBEGIN(bugprone-macro-parentheses): names that are declared cannot be in parentheses
#define PIPPIN_EMBED(symbol, path)                                                     \
  asm(PIPPIN_EMBED_OPEN ".balign 4096\n"                                             \
                        ".globl " PIPPIN_EMBED_NAME(symbol) "\n"                     \
                        ".globl " PIPPIN_EMBED_NAME(symbol##_end) "\n"               \
      PIPPIN_EMBED_NAME(symbol) ":\n"                                                \
                        ".incbin \"" path "\"\n"                                     \
      PIPPIN_EMBED_NAME(symbol##_end) ":\n"                                          \
                        ".byte 0\n" PIPPIN_EMBED_CLOSE); \
  extern "C" const char symbol[];                                                      \
  extern "C" const char symbol##_end[]
// NOLINTEND(bugprone-macro-parentheses)
