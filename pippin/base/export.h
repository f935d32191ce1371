// Symbols that the shared library exports: only those marked.
//
// Classes are marked as a whole. Every function that a public header declares without a body
// belongs to a marked class, or is marked itself (tests/install/check_symbols.py).
#pragma once

// Marks a declaration whose symbol the shared library exports.
#define PIPPIN_API __attribute__((visibility("default")))
