"""The archive's file seen from outside: SQLite tables and packed pieces, read without the program."""

import ctypes
import ctypes.util
import functools
import hashlib
import shutil
import sqlite3
import struct
import tempfile
from contextlib import contextmanager
from pathlib import Path

PIECE = 1 << 20
MAGIC = b"\x28\xb5\x2f\xfd"
MASK = (1 << 64) - 1
LANE = 0xBB67AE8584CAA73B

ZSTD = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
for name in [
    "ZSTD_decompress",
    "ZSTD_findFrameCompressedSize",
    "ZSTD_isError",
    "ZSTD_compress",
    "ZSTD_compressBound",
]:
    getattr(ZSTD, name).restype = ctypes.c_size_t
ZSTD.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
ZSTD.ZSTD_findFrameCompressedSize.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
ZSTD.ZSTD_isError.argtypes = ZSTD.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
ZSTD.ZSTD_compress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]


def unpack(data, most=4 * PIECE):
    """The content of a zstd frame, or None."""
    size = ZSTD.ZSTD_findFrameCompressedSize(data, len(data))
    if ZSTD.ZSTD_isError(size):
        return None
    out = ctypes.create_string_buffer(most)
    length = ZSTD.ZSTD_decompress(out, most, data, size)
    return None if ZSTD.ZSTD_isError(length) else out.raw[:length]


def pack(content):
    out = ctypes.create_string_buffer(ZSTD.ZSTD_compressBound(len(content)))
    return out.raw[: ZSTD.ZSTD_compress(out, len(out), content, len(content), 1)]


def bomb(size):
    """A zstd frame that unpacks to `size` zeros: nothing but blocks of one repeated byte."""
    block = 128 << 10
    count = size // block
    header = MAGIC + b"\x00" + bytes([7 << 3])
    blocks = [(block << 3 | 1 << 1 | (n == count - 1)).to_bytes(3, "little") + b"\x00" for n in range(count)]
    return header + b"".join(blocks)


def connect(path, mode="ro"):
    db = sqlite3.connect(f"file:{path}?mode={mode}", uri=True, isolation_level=None)
    # Damaged text is text that differs, not an error.
    db.text_factory = lambda text: text.decode(errors="surrogateescape")
    return db


@contextmanager
def copied(path):
    """Opens a copy of a database with its log, so that the original stays as it is."""
    with tempfile.TemporaryDirectory() as folder:
        for file in (path, path.with_name(f"{path.name}-wal")):
            if file.exists():
                shutil.copy(file, folder)
        db = connect(Path(folder, path.name), "rw")
        try:
            yield db
        finally:
            db.close()


def change(path, *statements):
    """Changes an archive that is not in use, leaving nothing beside it and every checksum right."""
    db = connect(path, "rw")
    db.execute("PRAGMA writable_schema = ON")
    for sql, *values in statements:
        db.execute(sql, values)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    stamp(path)


def stamp(path):
    """Writes the checksum at the end of every page, if the pages have one (eight reserved bytes)."""
    content = bytearray(path.read_bytes())
    size = int.from_bytes(content[16:18], "big")
    if content[20] != 8:
        return
    for number, at in enumerate(range(0, len(content), size), 1):
        end = at + size - 8
        content[end : end + 8] = checksum(content[at:end], number).to_bytes(8, "little")
    path.write_bytes(content)


def checksum(page, number):
    """The checksum of a page without its last eight bytes: 64-bit words dealt out to four lanes."""
    seeds = [0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89]
    words = struct.unpack(f"<{len(page) // 8}Q", page)
    lanes = [functools.reduce(step, words[n::4], seed) for n, seed in enumerate(seeds)]
    mixed = functools.reduce(step, lanes, number)
    mixed = (mixed ^ (mixed >> 32)) * LANE & MASK
    return mixed ^ (mixed >> 29)


def step(lane, word):
    mixed = lane ^ (word * 0x9E3779B97F4A7C15 & MASK)
    return ((mixed << 29 | mixed >> 35) & MASK) * LANE & MASK


def is_whole(piece):
    """Returns whether the length, the hash and the data of a piece fit together."""
    length, digest, data = piece
    content = unpack(data, PIECE) if isinstance(data, bytes) else None
    return content is not None and len(content) == length and hashlib.sha256(content).digest() == digest


def traces(folder, word):
    """Lines that say where a word is left in the files of a folder: as it is, or packed, or in a table.

    The index shortens words that begin like their neighbours, so the beginning is not asked for.
    """
    needle = word[3:].encode()
    out = []
    for path in sorted(Path(folder).rglob("*")):
        if not path.is_file():
            continue
        content = path.read_bytes()
        if needle in content:
            out.append(f"`{word}` is in `{path.name}` at byte {content.index(needle)}")
        elif place := next((at for at in frames(content) if needle in (unpack(content[at:]) or b"")), None):
            out.append(f"`{word}` is packed in `{path.name}` at byte {place}")
        elif table := in_rows(path, needle):
            out.append(f"`{word}` is packed in table `{table}` of `{path.name}`")
    return out


def frames(content):
    at = -1
    while (at := content.find(MAGIC, at + 1)) >= 0:
        yield at


def in_rows(path, needle):
    """The table with a packed value, of any length, that contains `needle`."""
    try:
        with copied(path) as db:
            for (table,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
                for row in db.execute(f'SELECT * FROM "{table}"'):
                    packed = [value for value in row if isinstance(value, bytes) and value[:4] == MAGIC]
                    if any(needle in (unpack(value) or b"") for value in packed):
                        return table
    except sqlite3.Error:
        pass
    return None
