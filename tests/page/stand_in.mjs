// A server between the page and the real one: under a prefix, with answers defined by the test, or unavailable for a
// while.
import http from "node:http";

// chat(request body, write, end): writes the answer of /v1/chat/completions, if given. `abilities`: more capabilities of
// all models.
export async function standIn(url, { prefix = "", chat = null, abilities = [] } = {}) {
  const target = new URL(url);
  const sockets = new Set();
  const seen = [];
  const handle = (request, response) => {
    seen.push(request.url);
    if (!request.url.startsWith(prefix + "/")) {
      response.writeHead(404).end();
      return;
    }
    const path = request.url.slice(prefix.length);
    if (stand.chat && path === "/v1/chat/completions") {
      let body = "";
      request.on("data", (piece) => { body += piece; });
      request.on("end", () => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        stand.chat(JSON.parse(body), (chunk) => response.write(`data: ${JSON.stringify(chunk)}\n\n`), () => response.end("data: [DONE]\n\n"), response);
      });
      return;
    }
    if (abilities.length > 0 && path === "/v1/models") {
      fetch(url + path).then((answer) => answer.json()).then((list) => {
        for (const model of list.data) model.capabilities?.push(...abilities);
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(list));
      }, () => response.destroy());
      return;
    }
    const onward = http.request({ host: target.hostname, port: target.port, path, method: request.method, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    request.pipe(onward);
  };
  let server;
  let port = 0;
  const stand = {
    chat, seen,
    async start() {
      server = http.createServer(handle);
      server.on("connection", (socket) => {
        sockets.add(socket);
        socket.on("close", () => sockets.delete(socket));
      });
      await new Promise((done) => server.listen(port, "127.0.0.1", done));
      port = server.address().port;
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
    get url() { return `http://127.0.0.1:${port}${prefix}`; },
  };
  await stand.start();
  return stand;
}

export const piece = (content, more = {}) => ({ model: "demo", choices: [{ index: 0, delta: { content }, finish_reason: null }], ...more });
export const thought = (reasoning_content) => ({ choices: [{ index: 0, delta: { reasoning_content }, finish_reason: null }] });
export const finish = (reason = "stop") => ({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
// A whole answer in one piece.
export const answering = (text) => (body, write, end) => {
  write(piece(text));
  write(finish());
  end();
};
