"""What a run was measured on."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import subprocess

from tests.service.stores.databases import program


def about(folder: str) -> dict[str, object]:
    """As a reader needs it to compare; nothing that names this machine."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "disk": _disk(folder),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "redis": _version(shutil.which("redis-server"), "Redis"),
        "postgres": _version(program("postgres"), "PostgreSQL"),
    }


def _cpu() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _disk(folder: str) -> str:
    command = ["stat", "-f", "-c", "%T", folder]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip().replace("ext2/ext3", "ext4")


def _version(command: str | None, name: str) -> str:
    if not command:
        return f"no {name}"
    done = subprocess.run([command, "--version"], check=True, stdout=subprocess.PIPE, text=True)
    words = done.stdout.replace("v=", "").split()
    return f"{name} {next(word for word in words if word[0].isdigit())}"
