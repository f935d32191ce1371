#include "pippin/terminal/text_flow.h"

#include <fmt/format.h>

#include "pippin/terminal/width.h"

namespace pippin::terminal {

void TextFlow::push(std::string_view text, bool is_dim) {
  std::string out;
  columns_ = display_.size().columns;
  set_dim(is_dim && display_.has_styles(), out);
  for (size_t at = 0; at < text.size();) {
    const size_t size = cluster_at(text, at).size;
    put(text.substr(at, size), out);
    at += size;
  }
  // Other text that is written meanwhile must not be dim.
  set_dim(false, out);
  display_.write(out);
}

void TextFlow::set_dim(bool is_dim, std::string& out) {
  if (is_dim == is_dim_) return;
  out += is_dim ? "\x1B[2m" : "\x1B[0m";
  is_dim_ = is_dim;
}

void TextFlow::new_line(std::string& out) {
  out += '\n';
  column_ = 0;
  word_.clear();
  word_columns_ = 0;
}

void TextFlow::put(std::string_view cluster, std::string& out) {
  if (cluster == "\n") return new_line(out);
  if (cluster == "\r") return;  // part of a line ending; by itself it would only hide text
  const bool is_blank = cluster == " " || cluster == "\t";
  Shown character = cluster == "\t" && wraps_ ? Shown{"    ", 4}
                    : cluster == "\t"         ? Shown{"\t", 1}
                                              : shown(cluster, display_.is_utf8());
  if (wraps_ && column_ > 0 && column_ + character.columns > columns_) {
    if (is_blank) return new_line(out);
    // A word that began in this line moves to the next as a whole; a word that fills the line is
    // broken. After the terminal became narrower, the word's position is unknown.
    if (word_columns_ > 0 && word_columns_ < column_ && column_ <= columns_ &&
        word_columns_ + character.columns <= columns_) {
      const std::string word = std::move(word_);
      const int width = word_columns_;
      // Counted from the left, because after a full line xterm's cursor is on the last column, and
      // that of tmux and screen is one further.
      out += fmt::format("\r\x1B[{}C\x1B[K", column_ - width);
      new_line(out);
      out += word;
      word_ = word;
      word_columns_ = column_ = width;
    } else {
      new_line(out);
    }
  }
  out += character.text;
  column_ += character.columns;
  // Scripts without blanks use wide characters; lines may break after each.
  if (is_blank || character.columns > 1) {
    word_.clear();
    word_columns_ = 0;
  } else {
    word_ += character.text;
    word_columns_ += character.columns;
  }
}

void TextFlow::end_line() {
  if (column_ == 0) return;
  std::string out;
  new_line(out);
  display_.write(out);
}

}  // namespace pippin::terminal
