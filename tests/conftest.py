"""What holds for every test: a HOME of its own, no silent skips in CI, two hypothesis profiles."""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from cortext import SessionStorage
from tests.command import ok
from tests.faults.totals import write_fault_totals
from tests.skip_summary import write_skip_summary

# At import, not in a fixture: a test module may read these while it is being collected.
HOME = Path(tempfile.mkdtemp(prefix="cortext-home-"))
for name in [
    name
    for name in os.environ
    if (name.startswith(("XDG_", "CORTEXT_", "CLAUDE", "AURORA_")) and name != "CORTEXT_TEST_CACHE")
    # Tests that run side by side are given the size of a terminal that they do not have.
    or name in ("COLUMNS", "LINES")
]:
    del os.environ[name]
os.environ |= {
    "HOME": str(HOME),
    "XDG_CACHE_HOME": str(HOME / ".cache"),
    "XDG_CONFIG_HOME": str(HOME / ".config"),
    "XDG_DATA_HOME": str(HOME / ".local/share"),
    "XDG_RUNTIME_DIR": str(HOME / ".run"),
    "XDG_STATE_HOME": str(HOME / ".local/state"),
}
# Folders of conversations are named by the person's day.
os.environ["TZ"] = "UTC"
time.tzset()
CI = os.environ.get("CI") == "true"
# Tests that are started in the background have these ignored, and what they start would too.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

pytest.register_assert_rewrite("cortext.testing")
CALM = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("fixed", **CALM, derandomize=True, database=None)
settings.register_profile("explore", **CALM, max_examples=1000, print_blob=True)
settings.load_profile("fixed")


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """Let `make test` draw the same examples each time; `--hypothesis-profile=explore` does not."""
    if settings().derandomize:
        # Hypothesis also draws literals of the modules imported so far: these differ by test order.
        providers._get_local_constants = Constants  # pyright: ignore[reportPrivateUsage]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter,
) -> Generator[None]:
    """Write ours last, where people look."""
    yield
    write_fault_totals(terminalreporter)
    write_skip_summary(terminalreporter)


def pytest_unconfigure() -> None:
    shutil.rmtree(HOME, ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def home() -> Path:
    """The temporary HOME; a run that would see the real one stops here."""
    assert Path.home() == HOME
    return HOME


@pytest.fixture(autouse=True)
def data_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What cortext keeps beside workspaces, each test's own: no test finds another's."""
    folder = tmp_path_factory.mktemp("data")
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    monkeypatch.setenv("AURORA_HOME", str(folder / "aurora"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    return folder


@pytest.fixture
def git_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """git with a name and an address, and with no configuration of this machine."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "A Tester")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "tester@example.invalid")


@pytest.fixture
def storage(tmp_path: Path) -> SessionStorage:
    return SessionStorage(tmp_path / "sessions")


@pytest.fixture
def tmp_workspace(tmp_path: Path) -> Path:
    """The temporary folder of the test, as a workspace."""
    ok(tmp_path, "init")
    return tmp_path


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """`@pytest.mark.needs("strace", "to inject faults")`."""
    for mark in item.iter_markers("needs"):
        program, why = mark.args
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed; needed {why}")


def no_silent_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """In CI a skip is a failure, unless its reason starts with "kernel:" (a missing feature)."""
    if not (CI and report.skipped) or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if not reason.removeprefix("Skipped: ").startswith("kernel:"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and CI allows no skips: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    no_silent_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    no_silent_skip(report)
    return report


@pytest.fixture
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A HOME of this test alone, with all folders of cortext and of the tools below it."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.chdir(folder)
    return folder
