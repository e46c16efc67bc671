"""What is written over: regular files are replaced, pipes and devices written through."""

from __future__ import annotations

import os
import socket
import stat
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import hardwood
from hardwood import RobustTreeClassifier
from hardwood._io.files import replacing

pytestmark = pytest.mark.skipif(os.name != "posix", reason="of POSIX")


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def write(path: Path, content: bytes = b"new") -> None:
    with replacing(path) as file:
        file.write(content)


@pytest.mark.parametrize("old", [0o600, 0o640, 0o666, 0o400])
def test_the_mode_of_what_is_replaced(old: int, umask: None, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(old)
    write(path)
    assert path.read_bytes() == b"new"
    assert mode(path) == old


def test_new_files_obey_the_umask(umask: None, tmp_path: Path) -> None:
    write(tmp_path / "file")
    assert mode(tmp_path / "file") == 0o640


def test_nobody_else_can_read_it_while_it_is_written(umask: None, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with replacing(path) as file:
        file.write(b"new")
        assert [mode(each) for each in tmp_path.iterdir()] == [0o600, 0o600]


def test_models_keep_the_mode(tmp_path: Path) -> None:
    path = tmp_path / "model.hw"
    path.touch(0o600)
    hardwood.save(RobustTreeClassifier().fit([[0], [1]], [0, 1]), path)
    assert mode(path) == 0o600


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to("file")
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_pipe_is_written_through(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()), daemon=True)
    reader.start()
    hardwood.save(RobustTreeClassifier().fit([[0], [1]], [0, 1]), path)
    reader.join(timeout=10)
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert read[0].startswith(b"hardwood")
    assert os.listdir(tmp_path) == ["pipe"]


def test_what_is_not_complete_does_not_go_into_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def fail() -> None:
        with replacing(path) as file:
            file.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert stat.S_ISFIFO(path.stat().st_mode)


def made_device(path: Path, kind: int, major: int, minor: int) -> None:
    try:
        os.mknod(path, kind | 0o666, os.makedev(major, minor))
        with open(path, "rb"):
            pass
    except OSError:
        pytest.skip("only root can make devices")


@pytest.mark.skipif(sys.platform != "linux", reason="numbers of devices are those of Linux")
def test_a_device_is_written_through(tmp_path: Path) -> None:
    path = tmp_path / "null"
    made_device(path, stat.S_IFCHR, 1, 3)
    write(path)
    assert stat.S_ISCHR(path.stat().st_mode)
    assert os.listdir(tmp_path) == ["null"]


def test_sockets_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")
        with pytest.raises(OSError, match=r"Is a socket\. Only files, pipes and terminals"):
            write(Path("socket"))
        assert stat.S_ISSOCK(os.stat("socket").st_mode)


def test_directories_are_refused(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        write(tmp_path)
    assert os.listdir(tmp_path) == []


def test_the_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    write(Path("/dev/stdout"), b"through")
    assert capfdbinary.readouterr().out == b"through"
