"""Bodies of requests with files."""


def form(fields, files):
    """A body of multipart/form-data; fields and files are pairs of names and contents."""
    boundary = "----form5d2f"
    parts = []
    for name, value in fields:
        parts.append(f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode())
    for name, content in files:
        parts.append(f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="talk.wav"\r\n'
                     f"Content-Type: audio/wav\r\n\r\n".encode() + content + b"\r\n")
    return f"multipart/form-data; boundary={boundary}", b"".join(parts) + f"--{boundary}--\r\n".encode()
