// Responses with the page's files: compressed if the client accepts that, or without a body if it
// has them already.
#pragma once

#include "pippin/http/message.h"
#include "pippin/page/page.h"

namespace pippin::server {

// Returns whether a client that requests "/" shows pages; others expect ollama's text there.
bool wants_page(const http::Request& request);

// Answers GET or HEAD.
http::Response page_response(const page::File& file, const http::Request& request);

}  // namespace pippin::server
