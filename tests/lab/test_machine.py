"""What benchmarks say of the machine they ran on."""

import pytest

from lab import machine
from lab.library import versions

CPUINFO = "\n\n".join(
    f"processor\t: {core}\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC Processor"
    for core in range(2)
)


@pytest.fixture
def linux(tmp_path, monkeypatch):
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(CPUINFO)
    known = [(1, "Data", "48K"), (1, "Instruction", "32K"), (2, "Unified", "1024K")]
    for i, cache in enumerate([*known, (3, "Unified", "33792K")]):
        folder = tmp_path / "cache" / f"index{i}"
        folder.mkdir(parents=True)
        for name, value in zip(("level", "type", "size"), cache, strict=True):
            (folder / name).write_text(f"{value}\n")
    monkeypatch.setattr(machine, "_CPUINFO", cpuinfo)
    monkeypatch.setattr(machine, "_CACHES", tmp_path / "cache")
    monkeypatch.setattr(machine.os, "cpu_count", lambda: 2)


@pytest.mark.usefixtures("linux")
def test_processor_cores_and_caches_are_named():
    assert machine.machine() == (
        "2 cores of AMD EPYC (family 25, model 17), caches L1 48 KB, L2 1 MB, L3 33 MB"
    )


def test_other_systems_name_the_processor(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "_CPUINFO", tmp_path / "none")
    monkeypatch.setattr(machine, "_CACHES", tmp_path / "none")
    monkeypatch.setattr(machine.os, "cpu_count", lambda: 1)
    monkeypatch.setattr(machine.platform, "processor", lambda: "arm")
    assert machine.machine() == "1 core of arm"


def test_timings_name_the_machine_and_other_figures_do_not():
    assert machine.machine() in versions(["numpy"])
    assert machine.machine() not in versions(["numpy"], machine=False)
