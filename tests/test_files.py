"""Files that are written: whole or absent, never over what is read."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from superproto.errors import UserError
from superproto.files import check_writable, write_whole


def _fail_while_writing(path, failure):
    with write_whole(path) as handle:
        handle.write(b"second")
        raise failure


def test_a_file_is_whole_or_absent(tmp_path):
    path = tmp_path / "out.bin"
    with write_whole(path) as handle:
        handle.write(b"first")
    assert path.read_bytes() == b"first"
    for failure in (KeyboardInterrupt, ZeroDivisionError):
        with pytest.raises(failure):
            _fail_while_writing(path, failure)
    assert path.read_bytes() == b"first"
    with write_whole(path, text=True) as handle:
        handle.write("größer\n")
    assert path.read_text(encoding="utf-8") == "größer\n"
    assert os.listdir(tmp_path) == ["out.bin"]


@pytest.mark.skipif(os.name == "nt", reason="no such links there")
def test_a_link_and_standard_output_are_written_through(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    with write_whole(tmp_path / "link.csv", text=True) as handle:
        handle.write("new")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "new"
    (tmp_path / "stdout").symlink_to("/proc/self/fd/1" if os.path.exists("/proc/self/fd/1") else "/dev/fd/1")
    program = "import sys; from superproto.files import check_writable, write_whole\nprint('first', flush=True)\n"
    program += "with write_whole(sys.argv[1], text=True) as handle: handle.write('second')"
    with (tmp_path / "out.txt").open("w") as out:
        subprocess.run([sys.executable, "-c", program, tmp_path / "stdout"], stdout=out, check=True)
    assert (tmp_path / "stdout").is_symlink()
    assert (tmp_path / "out.txt").read_text() == "first\nsecond"


def test_unwritable_places_are_named(tmp_path):
    for path, message in (
        (tmp_path, "is a folder"),
        (tmp_path / "absent" / "out.npz", r"cannot be written: the folder .*absent does not exist"),
        (tmp_path / ("x" * 300), "cannot be written"),
    ):
        with pytest.raises(UserError, match=message), write_whole(path) as handle:
            handle.write(b"data")
    with pytest.raises(UserError, match="No space left"), write_whole(tmp_path / "out") as handle:
        raise OSError(28, "No space left on device")
    assert os.listdir(tmp_path) == []


def test_a_place_that_cannot_be_written_is_told_before_any_work(tmp_path):
    check_writable(tmp_path / "new.jsonl")
    with pytest.raises(UserError, match="is a folder"):
        check_writable(tmp_path)
    with pytest.raises(UserError, match=r"the folder .*none does not exist"):
        check_writable(tmp_path / "none" / "r.jsonl")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_file_without_permission_is_told_before_any_work(tmp_path):
    (tmp_path / "r.jsonl").touch(mode=0o400)
    with pytest.raises(UserError, match="permission denied"):
        check_writable(tmp_path / "r.jsonl")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_written_into_and_never_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    got = []
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()))
    reader.start()
    with write_whole(path) as handle:
        handle.write(b"through")
    reader.join(5)
    assert got == [b"through"]
    assert path.is_fifo()


def test_nothing_that_is_read_is_replaced(tmp_path):
    from superproto.files import refuse_to_replace

    (tmp_path / "x.npy").touch()
    (tmp_path / "link.npy").symlink_to(tmp_path / "x.npy")
    with pytest.raises(UserError, match="is an input and would be replaced"):
        refuse_to_replace(tmp_path / "link.npy", None, tmp_path / "x.npy")
    refuse_to_replace(tmp_path / "new.csv", tmp_path / "x.npy")
