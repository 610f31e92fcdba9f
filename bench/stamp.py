"""Makes the files of each copy under ROOT distinct by a 16-byte mark in every 4 KiB, keeping modes and compressibility."""

import hashlib
import os
import sys

MARK = 16
STEP = 4096


def stamp(path: str, mark: bytes) -> None:
    mode = os.lstat(path).st_mode & 0o7777
    with open(path, "rb") as file:
        data = bytearray(file.read())
    if len(data) < MARK:
        data += mark
    for offset in range(0, max(1, len(data) - MARK), STEP):
        data[offset : offset + MARK] = mark
    # A new file, because a hard link would be stamped through its other names too.
    os.unlink(path)
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, mode)


def main(root: str) -> None:
    for copy in sorted(os.listdir(root)):
        mark = hashlib.sha256(copy.encode()).hexdigest()[:MARK].encode()
        for folder, _, names in os.walk(os.path.join(root, copy)):
            for name in names:
                path = os.path.join(folder, name)
                if not os.path.islink(path):
                    stamp(path, mark)


main(sys.argv[1])
