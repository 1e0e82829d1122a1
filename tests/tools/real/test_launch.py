"""The launcher refuses whatever might touch a person's keys, history or network."""

import os
import select
from pathlib import Path

import pytest

from tests.tools.real import launch
from tests.tools.real.four_tools import FOUR, Claude
from tests.tools.real.install import Refused
from tests.tools.real.launch import FAKE_KEY, check

URL = "http://127.0.0.1:9"


@pytest.fixture
def tool(tmp_path: Path) -> Claude:
    return Claude(tmp_path / "root", URL)


def refused(tool: Claude, **variables: str) -> str:
    tool.extra = variables
    with pytest.raises(Refused) as caught:
        tool.start(["--version"])
    return str(caught.value)


def program(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o700)
    return path


@pytest.mark.parametrize("name", FOUR)
def test_environment_of_each_tool_passes_check(name: str, tmp_path: Path) -> None:
    """The environment that we make for each of the four passes our own check."""
    tool = FOUR[name](tmp_path / "root", URL)
    check(tool.root, tool.environment())


@pytest.mark.parametrize("variable", ["HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"])
def test_folder_outside_temp_folder_is_refused(tool: Claude, variable: str) -> None:
    """Also one that leaves it by dots."""
    for value in ("/home/somebody", str(tool.root / "../other")):
        assert f"{variable} is {value}, outside" in refused(tool, **{variable: value})


def test_home_linked_out_of_temp_folder_is_refused(tool: Claude, tmp_path: Path) -> None:
    """What counts is where a path leads."""
    tool.home.rename(tmp_path / "elsewhere")
    tool.home.symlink_to(tmp_path / "elsewhere")
    assert "outside the temp folder" in refused(tool)


def test_root_that_is_not_temp_folder_is_refused() -> None:
    """A whole machine's root, a person's home: neither is ours to use."""
    for root in (Path("/"), Path("/usr/share"), Path(launch.tempfile.gettempdir())):
        with pytest.raises(Refused, match="no temp folder of a test"):
            check(root, {})


def test_missing_home_variable_is_refused(tool: Claude) -> None:
    """Without it a tool asks the system, which names the real one."""
    environment = tool.environment()
    del environment["HOME"]
    with pytest.raises(Refused, match="HOME is not set"):
        check(tool.root, environment)


@pytest.mark.parametrize(
    "url",
    [
        "https://api.anthropic.com",
        "http://localhost:80",
        "http://127.0.0.1.example.com:80",
        "http://127.0.0.1@example.com",
        "https://127.0.0.1:80",
        "",
    ],
)
def test_base_url_that_is_not_loopback_is_refused(url: str, tmp_path: Path) -> None:
    """Only plain http on the address itself."""
    with pytest.raises(Refused, match=r"is not on 127\.0\.0\.1"):
        Claude(tmp_path / "root", url)


def test_variable_with_remote_url_is_refused(tool: Claude) -> None:
    """Whatever its name."""
    assert "not on 127.0.0.1" in refused(tool, ANTHROPIC_BASE_URL="https://api.anthropic.com")
    assert "not on 127.0.0.1" in refused(tool, HTTPS_PROXY="http://proxy.example:8080")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ANTHROPIC_API_KEY", "sk-ant-" + "x" * 40),
        ("PLAIN_NAME", "sk-" + "x" * 40),
        ("OTHER", "AIza" + "x" * 35),
        ("GITHUB_TOKEN", "anything"),
        ("AWS_SECRET_ACCESS_KEY", "anything"),
    ],
)
def test_variable_that_may_hold_real_key_is_refused(tool: Claude, name: str, value: str) -> None:
    """By its name or by its looks; the sentence does not repeat it."""
    said = refused(tool, **{name: value})
    assert said == f"{name} may hold a real key"


def test_tool_process_inherits_no_environment_variables(
    tool: Claude, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child sees our variables and none of the process that starts it."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-real")
    monkeypatch.setenv("SOME_OTHER", "value")
    env = program(tmp_path / "env", "exec env")
    monkeypatch.setattr(launch, "installed", lambda name, version: env)
    pairs = [line.partition("=") for line in tool.start([]).stdout.splitlines()]
    seen = {name: value for name, _, value in pairs}
    # The shell adds its own PWD and the like.
    assert {name: seen[name] for name in tool.environment()} == tool.environment()
    assert seen.keys() - tool.environment().keys() <= {"PWD", "OLDPWD", "SHLVL", "_"}
    assert seen["ANTHROPIC_API_KEY"] == FAKE_KEY


def test_tool_run_over_timeout_is_killed_with_its_children(
    tool: Claude, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole process group; what it printed before is kept."""
    os.mkfifo(tmp_path / "held")
    reader = os.open(tmp_path / "held", os.O_RDONLY | os.O_NONBLOCK)
    script = f"exec 9>{tmp_path}/held; echo begun; sleep 100 & sleep 100"
    endless = program(tmp_path / "endless", script)
    monkeypatch.setattr(launch, "installed", lambda name, version: endless)
    done = tool.start([], timeout=1)
    try:
        # Readable with nothing to read: the last process that had it open is gone.
        assert select.select([reader], [], [], 30)[0] == [reader]
        assert os.read(reader, 1) == b""
    finally:
        os.close(reader)
    assert (done.code, done.stdout) == (-9, "begun\n")
