"""Seeds of forms with files, for make_seeds.py: a Content-Type, a line end, the body."""


def form(*parts, boundary="XX", parameter=None, end="--XX--\r\n"):
    body = "".join(f"--{boundary}\r\n{headers}\r\n\r\n{content}\r\n" for headers, content in parts)
    return f"multipart/form-data; boundary={parameter or boundary}\n{body}{end}".encode()


def disposition(parameters):
    return f"Content-Disposition: form-data; {parameters}"


FORM_SEEDS = {
    f"multipart/{name}": content
    for name, content in {
        "field": form((disposition('name="model"'), "whisper-1")),
        "file": form((disposition('name="file"; filename="a.wav"') + "\r\nContent-Type: audio/wav", "RIFF\r\n--X")),
        "escapes": form((disposition('name="a\\"b%22"; filename*=UTF-8\'\'%C3%A4'), "")),
        "quoted_boundary": form((disposition("name=a"), "1"), parameter='"XX"'),
        "preamble": b"multipart/form-data; boundary=XX\ntext\r\n--XX \r\nA: b\r\n\r\n--XX--end",
        "no_end": form((disposition("name=a"), "1"), end=""),
        "encoded": form((disposition("name=a") + "\r\nContent-Transfer-Encoding: base64", "QQ==")),
        "two": form((disposition("name=a"), "1"), (disposition("name=a"), "2")),
    }.items()
}
