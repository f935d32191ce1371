// How the page's files are answered: compressed where the client takes that, or not at all where it
// has them.
#pragma once

#include "pippin/http/message.h"
#include "pippin/page/page.h"

namespace pippin::server {

// Whether a client that asks for "/" shows pages: others look for what ollama says there.
bool wants_page(const http::Request& request);

// To GET or HEAD.
http::Response page_response(const page::File& file, const http::Request& request);

}  // namespace pippin::server
