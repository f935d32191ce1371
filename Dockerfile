# A server of language models. It has not been run where there is no Docker: tests/package/bare_debian.sh installs the
# same package on the same bare Debian.
#
#   docker build -t pippin .
#   docker run -p 127.0.0.1:8080:8080 -v models:/models pippin serve /models/chat.mlpackage --host 0.0.0.0 --no-auth
FROM debian:12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends make git ca-certificates
WORKDIR /src
COPY . .
RUN make package

FROM debian:12-slim
COPY --from=build /src/build/package/pippin_*.deb /tmp/
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/*.deb curl libsndfile1 libmpg123-0 \
      libwebp7 libwebpdemux2 libgif7 libheif1 && \
    rm -rf /tmp/*.deb /var/lib/apt/lists/* && useradd --create-home pippin
USER pippin
VOLUME /models
ENV HF_HOME=/models/huggingface
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s CMD curl -sf http://127.0.0.1:8080/health || exit 1
ENTRYPOINT ["pippin"]
# Others reach the port only as `docker run -p` says; --api-key is for those.
CMD ["serve", "--host", "0.0.0.0", "--no-auth"]
