"""The processes of an agent."""


def gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody reaped yet has."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except (FileNotFoundError, ProcessLookupError):
        return True
